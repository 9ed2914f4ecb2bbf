//! An entry of a leader's log.
//!
//! ```text
//! kind 1 | origin 2 store 2 number 3 | epoch of the leader 2 | its clock in ms 5 | age in 10 ms 3 | block, or end of the gap 3
//! ```
//! The age is that of the block's first sample when the entry was written. So a PC that knows when the leader's clock
//! began can date the samples, although no clocks are synchronised.

use super::block::BlockBytes;
use super::wire::{AGE_UNKNOWN, Key};
use crate::Full;
use crate::limits::BLOCK_MAX;
use crate::quantity::Quantity;
use crate::types::NodeId;

/// Bytes of the longest entry.
pub const ENTRY_MAX: usize = HEADER_BYTES + BLOCK_MAX;

const HEADER_BYTES: usize = 18;

const BLOCK: u8 = 1;
const GAP: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry<'b> {
    /// The block, or the first of the gap.
    pub key: Key,
    /// The leader's boot.
    pub epoch: u16,
    /// When it was logged, by the leader's clock.
    pub clock_ms: u64,
    /// How old the first sample was then, in units of 10 ms; [`AGE_UNKNOWN`] where nobody knows.
    pub age: u32,
    pub contents: Contents<'b>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents<'b> {
    Block(&'b [u8]),
    /// Blocks up to before this one are lost.
    Gap {
        end: u32,
    },
}

/// One value of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How long before the entry was logged it was taken; none if its board has restarted in between.
    pub age_ms: Option<u64>,
    /// When it was taken, by the clock of its board, which began at zero with the boot of [`BlockBytes::epoch`].
    pub clock_ms: u64,
    pub quantity: Quantity,
    /// In the quantity's unit and scale.
    pub value: i32,
}

impl<'b> LogEntry<'b> {
    /// The values of the block, sample after sample; none of a gap.
    pub fn readings(&self) -> impl Iterator<Item = Reading> + use<'b> {
        let block = match self.contents {
            Contents::Block(block) => BlockBytes::read(block),
            Contents::Gap { .. } => None,
        };
        let first_age_ms = (self.age != AGE_UNKNOWN).then_some(u64::from(self.age) * 10);
        block.into_iter().flat_map(move |block| {
            block.samples().flat_map(move |taken| {
                let since_first = taken.clock_ms.saturating_sub(block.clock_ms);
                let age_ms = first_age_ms.map(|age| age.saturating_sub(since_first));
                let values = Quantity::SERIES.into_iter().zip(taken.sample.values);
                values.filter_map(move |(quantity, value)| {
                    Some(Reading { age_ms, clock_ms: taken.clock_ms, quantity, value: value? })
                })
            })
        })
    }

    /// Writes it; the number of bytes.
    pub fn write(&self, buf: &mut [u8]) -> Result<usize, Full> {
        let end_bytes;
        let (kind, contents) = match self.contents {
            Contents::Block(block) => (BLOCK, block),
            Contents::Gap { end } => {
                end_bytes = end.to_le_bytes();
                (GAP, end_bytes.get(..3).ok_or(Full)?)
            }
        };
        let Key { origin, store, number } = self.key;
        let [o0, o1] = origin.0.to_le_bytes();
        let [s0, s1] = store.to_le_bytes();
        let [n0, n1, n2, _] = number.to_le_bytes();
        let [e0, e1] = self.epoch.to_le_bytes();
        let [c0, c1, c2, c3, c4, ..] = self.clock_ms.to_le_bytes();
        let [a0, a1, a2, _] = self.age.to_le_bytes();
        let header = [kind, o0, o1, s0, s1, n0, n1, n2, e0, e1, c0, c1, c2, c3, c4, a0, a1, a2];
        *buf.first_chunk_mut().ok_or(Full)? = header;
        buf.get_mut(HEADER_BYTES..HEADER_BYTES + contents.len()).ok_or(Full)?.copy_from_slice(contents);
        Ok(HEADER_BYTES + contents.len())
    }

    pub fn read(bytes: &'b [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let [kind, o0, o1, s0, s1, n0, n1, n2, e0, e1, c0, c1, c2, c3, c4, a0, a1, a2] = *header;
        let contents = match (kind, rest) {
            (BLOCK, block) => Contents::Block(BlockBytes::read(block).map(|_| block)?),
            (GAP, &[e0, e1, e2]) => Contents::Gap { end: u32::from_le_bytes([e0, e1, e2, 0]) },
            _ => return None,
        };
        let origin = NodeId(u16::from_le_bytes([o0, o1]));
        Some(Self {
            key: Key { origin, store: u16::from_le_bytes([s0, s1]), number: u32::from_le_bytes([n0, n1, n2, 0]) },
            epoch: u16::from_le_bytes([e0, e1]),
            clock_ms: u64::from_le_bytes([c0, c1, c2, c3, c4, 0, 0, 0]),
            age: u32::from_le_bytes([a0, a1, a2, 0]),
            contents,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{AGE_UNKNOWN, Contents, ENTRY_MAX, Key, LogEntry, Reading};
    use crate::data::block::{Block, Sample, Taken};
    use crate::quantity::Quantity;
    use crate::types::NodeId;

    #[test]
    fn entries_come_back() {
        let mut block = Block::new();
        assert!(block.push(2, Taken { clock_ms: 77, sample: Sample { values: [Some(-3); 8] } }).is_ok());
        let key = Key { origin: NodeId(3), store: 0xABCD, number: 0x00AB_CDEF };
        for contents in [Contents::Block(block.bytes()), Contents::Gap { end: 0x00FE_DCBA }] {
            let entry = LogEntry { key, epoch: 9, clock_ms: 0x0012_3456_789A, age: 5, contents };
            let mut buf = [0; ENTRY_MAX];
            let Ok(length) = entry.write(&mut buf) else { panic!("it fits") };
            assert_eq!(LogEntry::read(&buf[..length]), Some(entry));
            assert_eq!(LogEntry::read(&buf[..length - 1]), None);
        }
    }

    #[test]
    fn readings_have_their_quantity_and_their_age() {
        let mut block = Block::new();
        let mut sample = Sample::default();
        (sample.values[0], sample.values[3]) = (Some(2_150), Some(4_700));
        for clock_ms in [60_000, 65_000] {
            assert!(block.push(2, Taken { clock_ms, sample }).is_ok());
        }
        let key = Key { origin: NodeId(3), store: 1, number: 1 };
        let contents = Contents::Block(block.bytes());
        let entry = LogEntry { key, epoch: 9, clock_ms: 1_000_000, age: 600, contents };
        let at = |age_ms, clock_ms, quantity, value| Reading { age_ms, clock_ms, quantity, value };
        let expected = [
            at(Some(6_000), 60_000, Quantity::DieTemperature, 2_150),
            at(Some(6_000), 60_000, Quantity::Humidity, 4_700),
            at(Some(1_000), 65_000, Quantity::DieTemperature, 2_150),
            at(Some(1_000), 65_000, Quantity::Humidity, 4_700),
        ];
        assert_eq!(entry.readings().collect::<Vec<_>>(), expected);
        let before_a_restart = LogEntry { age: AGE_UNKNOWN, ..entry };
        assert!(before_a_restart.readings().all(|reading| reading.age_ms.is_none()));
        let gap = LogEntry { contents: Contents::Gap { end: 7 }, ..entry };
        assert_eq!(gap.readings().next(), None);
    }
}
