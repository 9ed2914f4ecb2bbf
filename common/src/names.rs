//! Names that people choose by.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// The algorithms there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 10] = [
        Self::Hs,
        Self::Height,
        Self::Hierarchy,
        Self::Frlle,
        Self::Bully,
        Self::Ring,
        Self::Lcr,
        Self::TimerBased,
        Self::ModifiedBully,
        Self::Abraham,
    ];

    /// The name people know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hs => "HS",
            Self::Height => "Height",
            Self::Hierarchy => "Hierarchy",
            Self::Frlle => "FRLLE",
            Self::Bully => "Bully",
            Self::Ring => "Ring",
            Self::Lcr => "LCR",
            Self::TimerBased => "Timer-based",
            Self::ModifiedBully => "Modified Bully",
            Self::Abraham => "Abraham et al.",
        }
    }

    /// Whether it runs on a configured ring; the others run on whatever links there are.
    pub const fn needs_ring(self) -> bool {
        !matches!(self, Self::Height | Self::Hierarchy)
    }
}
