//! A frame as it came from the air, and how it is opened.
//!
//! A board decrypts a frame where its radio put it, with nothing copied: that is what a slice of bytes does here. A
//! simulator, in which many nodes receive one frame, brings a frame that remembers what came of opening it.

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
