//! An entry of a leader's log.
//!
//! ```text
//! kind 1 | origin 2 store 2 number 3 | epoch of the leader 2 | its clock in ms 5 | age in 10 ms 3 | block, or end of the gap 3
//! ```
//! The age is that of the block's first sample when the entry was written. So whoever knows when the leader's clock showed what
//! knows when the samples were taken, although no clocks are synchronised.

use super::block::BlockBytes;
use super::wire::Key;
use crate::Full;
use crate::limits::BLOCK_MAX;
use crate::types::NodeId;

/// Bytes of the longest entry.
pub const ENTRY_MAX: usize = HEAD_BYTES + BLOCK_MAX;

const HEAD_BYTES: usize = 18;

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
    /// How old the first sample was then, in units of 10 ms; [`AGE_UNKNOWN`](super::wire::AGE_UNKNOWN) where nobody knows.
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

impl<'b> LogEntry<'b> {
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
        let head = [kind, o0, o1, s0, s1, n0, n1, n2, e0, e1, c0, c1, c2, c3, c4, a0, a1, a2];
        *buf.first_chunk_mut().ok_or(Full)? = head;
        buf.get_mut(HEAD_BYTES..HEAD_BYTES + contents.len()).ok_or(Full)?.copy_from_slice(contents);
        Ok(HEAD_BYTES + contents.len())
    }

    pub fn read(bytes: &'b [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [kind, o0, o1, s0, s1, n0, n1, n2, e0, e1, c0, c1, c2, c3, c4, a0, a1, a2] = *head;
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
    use super::{Contents, ENTRY_MAX, Key, LogEntry};
    use crate::data::block::{Block, Sample, Taken};
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
}
