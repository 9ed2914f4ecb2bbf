//! A set of numbers below 128, laid out alike on every machine.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// 128 bits. A plain `u128` is aligned to 16 bytes on a PC and to 8 on a Cortex-M, so whatever holds one would differ in
/// size between simulator and board; kept as bytes it does not, and needs no padding either. On the wire it is the
/// number it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[serde(from = "u128", into = "u128")]
pub(crate) struct Bits([u8; 16]);

impl Bits {
    pub const NONE: Self = Self([0; 16]);

    /// The bits of a number.
    pub const fn new(number: u128) -> Self {
        Self(number.to_le_bytes())
    }

    /// The number of these bits.
    pub const fn number(self) -> u128 {
        u128::from_le_bytes(self.0)
    }
}

/// Single bits, by the byte that holds them: a board has no instruction that shifts 128 bits.
impl Bits {
    /// Whether a bit is set; one that does not exist is not.
    pub fn contains(&self, bit: usize) -> bool {
        self.0.get(bit / 8).is_some_and(|byte| byte & mask(bit) != 0)
    }

    /// Sets a bit, if there is such a one.
    pub fn insert(&mut self, bit: usize) {
        if let Some(byte) = self.0.get_mut(bit / 8) {
            *byte |= mask(bit);
        }
    }

    pub fn remove(&mut self, bit: usize) {
        if let Some(byte) = self.0.get_mut(bit / 8) {
            *byte &= !mask(bit);
        }
    }
}

const fn mask(bit: usize) -> u8 {
    1 << (bit % 8)
}

impl From<u128> for Bits {
    fn from(number: u128) -> Self {
        Self::new(number)
    }
}

impl From<Bits> for u128 {
    fn from(bits: Bits) -> Self {
        bits.number()
    }
}

impl MaxSize for Bits {
    const POSTCARD_MAX_SIZE: usize = u128::POSTCARD_MAX_SIZE;
}

/// A number that stands for words: FNV-1a.
pub fn fold(words: impl IntoIterator<Item = u32>) -> u32 {
    words.into_iter().fold(0x811C_9DC5, absorb)
}

// By itself, because every caller of `fold` would have a copy.
#[cfg_attr(target_os = "none", inline(never))]
fn absorb(sum: u32, word: u32) -> u32 {
    word.to_le_bytes().iter().fold(sum, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use postcard::experimental::max_size::MaxSize;

    use super::Bits;

    #[test]
    fn single_bits_are_those_of_the_number() {
        let mut bits = Bits::NONE;
        for bit in [0, 7, 8, 64, 127] {
            bits.insert(bit);
            assert_eq!(bits.number() >> bit & 1, 1);
        }
        assert_eq!((0..200).filter(|&bit| bits.contains(bit)).count(), 5);
        bits.remove(64);
        bits.remove(128);
        bits.insert(128);
        assert_eq!(bits.number(), 1 | 1 << 7 | 1 << 8 | 1 << 127);
    }

    #[test]
    fn the_wire_carries_the_number() {
        for number in [0, 1, 0x80, 1 << 127, u128::MAX] {
            let mut bits = [0; Bits::POSTCARD_MAX_SIZE];
            let mut plain = [0; Bits::POSTCARD_MAX_SIZE];
            let bytes = postcard::to_slice(&Bits::new(number), &mut bits).map(|bytes| &*bytes);
            assert_eq!(bytes, postcard::to_slice(&number, &mut plain).map(|bytes| &*bytes));
            assert_eq!(bytes.and_then(postcard::from_bytes), Ok(Bits::new(number)));
        }
    }
}
