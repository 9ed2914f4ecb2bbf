//! What people choose by name: algorithms, ciphers and boards. Every list of them is made from these.

use core::fmt;
use core::str::FromStr;

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// Whether the algorithms that are only there to be compared were built in. Images leave them out.
pub const HAS_COMPARISON: bool = cfg!(feature = "comparison");

/// An unknown name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What it could have been.
    known: &'static [&'static str],
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it may be ")?;
        for (at, name) in self.known.iter().enumerate() {
            write!(f, "{}{name}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownName {}

/// Gives every variant the name that files and command lines have for it, and the title that tables and people have.
macro_rules! names {
    ($type:ident { $($variant:ident: $name:literal, $title:literal;)* }) => {
        impl $type {
            pub const ALL: [Self; Self::NAMES.len()] = [$(Self::$variant),*];

            const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name in files and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The name in tables and sentences.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, UnknownName> {
                let found = Self::ALL.into_iter().find(|one| one.name() == name);
                found.ok_or(UnknownName { known: Self::NAMES })
            }
        }
    };
}

/// How a leader is elected; [`crate::election`] has a module for each. The order is that of configuration pages in the
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
pub enum Algorithm {
    Hs,
    Height,
    Hierarchy,
    Frlle,
    Bully,
    Ring,
    Lcr,
    TimerBased,
    ModifiedBully,
    Abraham,
}

names! { Algorithm {
    Hs: "hs", "HS";
    Height: "height", "Height";
    Hierarchy: "hierarchy", "Hierarchy";
    Frlle: "frlle", "FRLLE";
    Bully: "bully", "Bully";
    Ring: "ring", "Ring";
    Lcr: "lcr", "LCR";
    TimerBased: "timer-based", "Timer-based";
    ModifiedBully: "modified-bully", "Modified Bully";
    Abraham: "abraham", "Abraham et al.";
}}

impl Algorithm {
    /// Whether it runs on a configured ring; the others run on whatever links there are.
    pub const fn needs_ring(self) -> bool {
        !matches!(self, Self::Height | Self::Hierarchy)
    }

    /// Whether it is there for comparison only, and left out of images.
    pub const fn is_comparison(self) -> bool {
        matches!(self, Self::TimerBased | Self::ModifiedBully | Self::Abraham)
    }

    /// Whether this build can run it.
    pub const fn is_built_in(self) -> bool {
        HAS_COMPARISON || !self.is_comparison()
    }
}

/// How frames are protected; with its key, a [`Protection`](crate::config::Protection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cipher {
    #[default]
    Ascon,
    AesCcm,
    /// Not at all.
    Open,
}

names! { Cipher {
    Ascon: "ascon", "Ascon-AEAD128";
    AesCcm: "aes-ccm", "AES-128-CCM";
    Open: "open", "UNPROTECTED";
}}

impl Cipher {
    /// Those that need a key.
    pub const KEYED: [Self; 2] = [Self::Ascon, Self::AesCcm];
}

/// A board that the firmware is built for, by the firmware's feature `board-` and its name. The order is on the host link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
pub enum Board {
    #[default]
    Nrf52840Dk,
    Nrf52840Dongle,
    Nrf52833Dk,
    MicrobitV2,
    XiaoNrf52840,
    FeatherNrf52840,
}

names! { Board {
    Nrf52840Dk: "nrf52840-dk", "nRF52840-DK";
    Nrf52840Dongle: "nrf52840-dongle", "nRF52840 dongle";
    Nrf52833Dk: "nrf52833-dk", "nRF52833-DK";
    MicrobitV2: "microbit-v2", "BBC micro:bit v2";
    XiaoNrf52840: "xiao-nrf52840", "Seeed XIAO nRF52840";
    FeatherNrf52840: "feather-nrf52840", "Adafruit Feather nRF52840";
}}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::{Algorithm, Board, Cipher};

    #[test]
    fn every_name_is_read_back() {
        assert!(Algorithm::ALL.iter().all(|one| one.to_string().parse() == Ok(*one)));
        assert!(Cipher::ALL.iter().all(|one| one.to_string().parse() == Ok(*one)));
        assert!(Board::ALL.iter().all(|one| one.to_string().parse() == Ok(*one)));
    }

    #[test]
    fn an_unknown_name_is_told_the_known_ones() {
        let error = "des".parse::<Cipher>().expect_err("no such cipher");
        assert_eq!(error.to_string(), "it may be ascon, aes-ccm, open");
    }
}
