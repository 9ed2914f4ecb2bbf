//! A block: the samples that are stored, sent and logged together.
//!
//! ```text
//! epoch 2 | clock of the first sample in ms 5 | samples 1 | samples × { ms since the last varint, series 1, values }
//! ```
//! A value is the difference from the last one of its series in the block (the first: from zero), as a zigzag varint.
//! There is room for twelve samples of two quantities that change slowly. The epoch names the boot in which the samples
//! were taken; the clock began at zero with that boot.

use heapless::Vec;

use crate::Full;
use crate::limits::BLOCK_MAX;
use crate::quantity::SERIES_MAX;

/// Bytes before the samples.
const HEADER_BYTES: usize = 8;

/// The values of one moment, by [series](crate::quantity::Quantity::SERIES).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub values: [Option<i32>; SERIES_MAX],
}

/// One sample as it is read from a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// When, by the clock of the board that took it.
    pub clock_ms: u64,
    pub sample: Sample,
}

/// A block that still accepts samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    bytes: Vec<u8, BLOCK_MAX, u8>,
    last: [i32; SERIES_MAX],
    last_ms: u64,
}

impl Block {
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), last: [0; SERIES_MAX], last_ms: 0 }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds a sample; a block that has no room for all of it stays as it was.
    pub fn push(&mut self, epoch: u16, Taken { clock_ms, sample }: Taken) -> Result<(), Full> {
        let before = self.clone();
        let added = self.add(epoch, clock_ms, &sample);
        if added.is_err() {
            *self = before;
        }
        added
    }

    fn add(&mut self, epoch: u16, clock_ms: u64, sample: &Sample) -> Result<(), Full> {
        if self.bytes.is_empty() {
            let [e0, e1] = epoch.to_le_bytes();
            let [c0, c1, c2, c3, c4, ..] = clock_ms.to_le_bytes();
            self.put(&[e0, e1, c0, c1, c2, c3, c4, 0])?;
            self.last_ms = clock_ms;
        }
        let count = self.bytes.get_mut(HEADER_BYTES - 1).ok_or(Full)?;
        *count = count.checked_add(1).ok_or(Full)?;
        let since = u32::try_from(clock_ms.saturating_sub(self.last_ms)).map_err(|_| Full)?;
        self.put_number(since)?;
        let present = sample.values.iter().enumerate().filter(|(_, value)| value.is_some());
        self.put(&[present.fold(0, |bits, (at, _)| bits | 1 << at)])?;
        for (at, value) in sample.values.iter().enumerate() {
            if let (Some(value), Some(last)) = (value, self.last.get_mut(at)) {
                let change = value.wrapping_sub(core::mem::replace(last, *value));
                self.put_number(zigzag(change))?;
            }
        }
        self.last_ms = clock_ms;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.bytes.extend_from_slice(bytes).map_err(|_| Full)
    }

    /// Seven bits a byte, the lowest first; all but the last byte have their highest bit set.
    fn put_number(&mut self, mut number: u32) -> Result<(), Full> {
        while number > 0x7F {
            self.put(&[number.to_le_bytes()[0] | 0x80])?;
            number >>= 7;
        }
        self.put(&[number.to_le_bytes()[0]])
    }
}

/// Zigzag: maps small numbers of either sign to small unsigned ones.
const fn zigzag(number: i32) -> u32 {
    (number.cast_unsigned() << 1) ^ (number >> 31).cast_unsigned()
}

const fn unzigzag(number: u32) -> i32 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// A decoded block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockBytes<'b> {
    pub epoch: u16,
    /// When the first sample was taken, by the clock of that boot.
    pub clock_ms: u64,
    pub samples_len: u8,
    samples: &'b [u8],
}

impl<'b> BlockBytes<'b> {
    /// Reads a block; none if it is not whole, has no sample, or has bytes left over.
    pub fn read(bytes: &'b [u8]) -> Option<Self> {
        let (&[e0, e1, c0, c1, c2, c3, c4, samples_len], samples) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let clock_ms = u64::from_le_bytes([c0, c1, c2, c3, c4, 0, 0, 0]);
        let block = Self { epoch: u16::from_le_bytes([e0, e1]), clock_ms, samples_len, samples };
        let mut cursor = Cursor::of(block);
        for _ in 0..samples_len {
            cursor.next()?;
        }
        (samples_len > 0 && bytes.len() <= BLOCK_MAX && cursor.rest.is_empty()).then_some(block)
    }

    pub fn samples(self) -> impl Iterator<Item = Taken> + use<'b> {
        let mut cursor = Cursor::of(self);
        core::iter::from_fn(move || cursor.next()).take(usize::from(self.samples_len))
    }
}

struct Cursor<'b> {
    rest: &'b [u8],
    clock_ms: u64,
    last: [i32; SERIES_MAX],
}

impl<'b> Cursor<'b> {
    fn of(block: BlockBytes<'b>) -> Self {
        Self { rest: block.samples, clock_ms: block.clock_ms, last: [0; SERIES_MAX] }
    }

    fn next(&mut self) -> Option<Taken> {
        self.clock_ms += u64::from(self.number()?);
        let series = self.byte()?;
        let mut sample = Sample::default();
        for (at, value) in sample.values.iter_mut().enumerate() {
            if series & 1 << at != 0 {
                let change = unzigzag(self.number()?);
                let last = self.last.get_mut(at)?;
                *last = last.wrapping_add(change);
                *value = Some(*last);
            }
        }
        Some(Taken { clock_ms: self.clock_ms, sample })
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// A number of at most 32 bits, written as briefly as can be.
    fn number(&mut self) -> Option<u32> {
        let mut number = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            let bits = u32::from(byte & 0x7F);
            if shift == 28 && byte > 0x0F || shift > 0 && byte == 0 {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{Block, BlockBytes, Sample, Taken};

    fn taken(clock_ms: u64, values: &[Option<i32>]) -> Taken {
        let mut sample = Sample::default();
        for (slot, value) in sample.values.iter_mut().zip(values) {
            *slot = *value;
        }
        Taken { clock_ms, sample }
    }

    #[test]
    fn samples_come_back_as_they_were_taken() {
        let all = [
            taken(123_456_789_012, &[Some(2_150), Some(3_001), None, Some(i32::MIN)]),
            taken(123_456_794_012, &[Some(2_149), None, Some(i32::MAX), Some(i32::MAX)]),
            taken(123_456_794_012, &[]),
        ];
        let mut block = Block::new();
        for taken in all {
            assert!(block.push(7, taken).is_ok());
        }
        let Some(read) = BlockBytes::read(block.bytes()) else { panic!("it is whole") };
        assert_eq!((read.epoch, read.clock_ms, read.samples_len), (7, 123_456_789_012, 3));
        assert_eq!(read.samples().collect::<Vec<_>>(), all);
        assert_eq!(BlockBytes::read(&block.bytes()[..block.bytes().len() - 1]), None);
        let mut longer = block.bytes().to_vec();
        longer.push(0);
        assert_eq!(BlockBytes::read(&longer), None);
    }

    #[test]
    fn a_minute_of_two_quantities_fits_and_a_full_block_stays_whole() {
        let mut block = Block::new();
        let pushed = (0..40_u64).take_while(|&at| {
            let wave = i32::try_from(at % 5).unwrap_or(0);
            block.push(1, taken(at * 5_000, &[Some(2_150 + 25 * wave), Some(3_000 - 3 * wave)])).is_ok()
        });
        assert!(pushed.count() >= 12);
        assert!(BlockBytes::read(block.bytes()).is_some());
    }
}
