//! The secret of a network, and which ciphers were built in.

use core::fmt;

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// Whether AES-128-CCM was built in. Images leave it out unless they are asked for it: it is a twentieth of their flash.
pub const HAS_AES_CCM: bool = cfg!(feature = "aes-ccm");

pub const KEY_BYTES: usize = 16;

/// The secret of a network. It is never shown: neither in a log nor by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
pub struct NetworkKey([u8; KEY_BYTES]);

impl NetworkKey {
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// For ciphers only.
    pub(crate) const fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for NetworkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkKey(hidden)")
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for NetworkKey {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "NetworkKey(hidden)");
    }
}
