//! A frame as it came from the air, and how it is opened.
//!
//! A board decrypts a frame where its radio put it, without copying: a slice of bytes does that. In a simulator many
//! nodes receive one frame; it brings its own type, which remembers the result of opening it.

use super::frame::{Header, Refusal};
use super::security::Keys;

/// A received frame that is not decrypted yet.
pub trait Sealed {
    /// The frame as it was received. Opening it overwrites all but the header.
    fn bytes(&self) -> &[u8];

    /// Decrypts the body of the frame, whose header was read from [`bytes`](Self::bytes).
    fn open(&mut self, keys: &Keys, header: &Header) -> Result<&[u8], Refusal>;
}

impl Sealed for [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn open(&mut self, keys: &Keys, header: &Header) -> Result<&[u8], Refusal> {
        header.open(keys, self)
    }
}
