//! Fingerprints of states: most of the time of a search goes into them. Shared by everything that searches.

use std::hash::Hasher;

/// Multiplies and folds, word by word. The standard hasher defends against inputs that nobody chooses here, and takes
/// several times as long.
#[derive(Default)]
pub struct Fold(u64);

impl Fold {
    /// Takes in one word.
    #[inline]
    pub fn add(&mut self, word: u64) {
        let (low, high) = (self.0 ^ word ^ 0x9E37_79B9_7F4A_7C15).carrying_mul(0xD6E8_FEB8_6659_FD93, 0);
        self.0 = low ^ high;
    }
}

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.add(u64::from(word));
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.add(u64::from(word));
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }
}
