//! The bodies of DATA frames.
//!
//! ```text
//! RECORDS  try4 type4 = 1, or 6 of a reader's own | hops left 1 | origin 2 store 2 number 3 | age in 10 ms 3 | block, up to 93
//! COPY     reader4 type4 = 7 | the same as RECORDS
//! GAP      try4 type4 = 2 | hops left 1 | origin 2 store 2 first 3 | end 3
//! COMMIT   0 type4 = 3    | hops left 1 | leader 2 | up to 11 × { origin 2 store 2 number 3 | bits 2 }
//! ASK      try4 type4 = 4 | hops left 1 | asker 2 number 1 | known 16, or with type 8 the blocks that are asked for
//! ANSWER   try4 type4 = 5 | hops left 1 | asker 2 number 1 | from 2 | what it answers, 1 to 98
//! ```
//! A *reader* is a node whose PC wants to see the readings of all nodes; the leader sends it copies. A copy carries the
//! last four bits of the reader's id; relays send it towards the reader that they know.
//!
//! The *try* counts how often the origin has sent the block, so that relays can tell a new try from a frame that was
//! repeated because its acknowledgement was lost. All numbers are little-endian.

#[cfg(test)]
mod tests;

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::block::BlockBytes;
use crate::Full;
use crate::config::BROADCAST;
use crate::limits::{BLOCK_MAX, COMMITS_MAX};
use crate::types::NodeId;

/// The longest body: what fits into a frame.
pub const BODY_MAX: usize = 105;

/// Bytes of a RECORDS body before its block.
const RECORDS_BYTES: usize = 12;

const _: () = assert!(RECORDS_BYTES + BLOCK_MAX == BODY_MAX, "a block fills a frame");
const _: () = assert!(4 + COMMITS_MAX * COMMIT_BYTES <= BODY_MAX);

const RECORDS: u8 = 1;
const GAP: u8 = 2;
const COMMIT: u8 = 3;
const ASK: u8 = 4;
const ANSWER: u8 = 5;
const READER: u8 = 6;
const COPY: u8 = 7;
const ASK_AGAIN: u8 = 8;

/// The try of a question for blocks, which is asked once.
pub const AGAIN_TURN: u8 = 15;

/// Distinguishes the copy of a block from the block itself among waiting frames.
const COPY_BIT: u32 = 1 << 25;

/// Bytes of an ANSWER body before what it answers.
const ANSWER_BYTES: usize = 7;

/// The most bytes of an answer.
pub const ANSWER_MAX: usize = BODY_MAX - ANSWER_BYTES;

/// The type is in the low bits of the first byte, the try above it.
const KIND: u8 = 0x0F;
const TURN_AT: u8 = 4;

/// Bytes of an entry of a COMMIT.
const COMMIT_BYTES: usize = 9;

/// An unknown age: the samples are from before their board's last boot, or older than 46 hours.
pub const AGE_UNKNOWN: u32 = 0x00FF_FFFF;

/// The number of a block at its origin; the last one is never used.
pub const NUMBER_MAX: u32 = 0x00FF_FFFF;

/// Which block this is, among all blocks of all boards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Key {
    pub origin: NodeId,
    /// The name of the store that the block was put into first. A board draws one when it sets up its store, so that neither
    /// another board under the same id nor a board whose flash was erased is taken for the one before.
    pub store: u16,
    /// Rises by one from block to block of a store, over boots too.
    pub number: u32,
}

/// What a DATA frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'b> {
    Records(Records<'b>),
    Gap(Gap),
    Commit(CommitBytes<'b>),
    Ask(Ask),
    Answer(AnswerBytes<'b>),
}

/// A question to all nodes for their status, or to one of them for blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The asker's try, 4 bits.
    pub turn: u8,
    pub hops_left: u8,
    pub asker: NodeId,
    /// Which of the asker's questions.
    pub number: u8,
    /// Who has answered in an earlier try. In the try [`AGAIN_TURN`], which blocks are asked for.
    pub known: Known,
}

/// Up to sixteen blocks that their origin is to send to the asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    pub first: Key,
    /// Bit n asks for block number + n.
    pub bits: u16,
}

/// A node's answer, on its way to the asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerBytes<'b> {
    /// The try of the question that it answers, 4 bits.
    pub turn: u8,
    pub hops_left: u8,
    pub asker: NodeId,
    pub number: u8,
    /// Who answers.
    pub from: NodeId,
    pub contents: &'b [u8],
}

/// The nodes that have answered, one bit each. Two nodes may share a bit, so that one of them keeps silent by mistake;
/// each try assigns the bits anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Known(pub [u8; 16]);

impl Known {
    /// The byte and the bit of a node.
    fn bit_of(id: NodeId, turn: u8) -> (usize, u8) {
        let mixed = (u32::from(id.0) << 4 | u32::from(turn & KIND)).wrapping_mul(0x9E37_79B1);
        let [.., top] = mixed.to_le_bytes();
        (usize::from(top >> 4), 1 << (top & 7))
    }

    /// Adds a node, for the question's try.
    pub fn add(&mut self, id: NodeId, turn: u8) {
        let (at, bit) = Self::bit_of(id, turn);
        self.0.get_mut(at).into_iter().for_each(|byte| *byte |= bit);
    }

    pub fn has(self, id: NodeId, turn: u8) -> bool {
        let (at, bit) = Self::bit_of(id, turn);
        self.0.get(at).is_some_and(|byte| byte & bit != 0)
    }
}

/// Where a block is headed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    ToLeader = RECORDS as isize,
    /// To the leader, from a node that wants copies of all blocks.
    FromReader = READER as isize,
    ToReader = COPY as isize,
}

/// A block on its way to the leader, or from there to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records<'b> {
    pub course: Course,
    /// The origin's try, 4 bits; of a copy, the last bits of the reader's id.
    pub turn: u8,
    pub hops_left: u8,
    pub key: Key,
    /// How long ago the first sample was taken, in units of 10 ms.
    pub age: u32,
    pub block: &'b [u8],
}

/// Blocks that their origin can no longer send, because it had to overwrite them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The origin's try, 4 bits.
    pub turn: u8,
    pub hops_left: u8,
    /// The first of them.
    pub key: Key,
    /// The first block behind them.
    pub end: u32,
}

/// Tells one origin which of its blocks a leader has logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    pub key: Key,
    /// Bit n says that block number + n is logged. If no bit is set, the gap that ends before the number is.
    pub bits: u16,
}

/// The entries of a COMMIT, borrowed from its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitBytes<'b> {
    pub hops_left: u8,
    pub leader: NodeId,
    entries: &'b [u8],
}

impl Key {
    fn bytes(self) -> [u8; 7] {
        let [o0, o1] = self.origin.0.to_le_bytes();
        let [s0, s1] = self.store.to_le_bytes();
        let [n0, n1, n2, _] = self.number.to_le_bytes();
        [o0, o1, s0, s1, n0, n1, n2]
    }

    fn read([o0, o1, s0, s1, n0, n1, n2]: [u8; 7]) -> Option<Self> {
        let origin = NodeId(u16::from_le_bytes([o0, o1]));
        let number = u32::from_le_bytes([n0, n1, n2, 0]);
        let key = Self { origin, store: u16::from_le_bytes([s0, s1]), number };
        is_node(origin).then_some(key)
    }

    /// Of an answer, who asked, and the number of the question; none of a block or a gap.
    pub fn answers(self) -> Option<(NodeId, u8)> {
        let number = self.number.checked_sub(NUMBER_MAX + 1).filter(|_| !self.is_copy())?;
        let [low, middle, ..] = number.to_le_bytes();
        Some((NodeId(self.store), middle << TURN_AT | low >> TURN_AT))
    }

    /// What names the copy of this block among the frames that wait.
    pub const fn copy(self) -> Self {
        Self { number: self.number | COPY_BIT, ..self }
    }

    pub const fn is_copy(self) -> bool {
        self.number & COPY_BIT != 0
    }

    /// Whether it names a block or a gap on its way to the leader.
    pub fn is_upward(self) -> bool {
        self.number <= NUMBER_MAX
    }

    /// The same store's block of another number.
    pub const fn with(self, number: u32) -> Self {
        Self { number, ..self }
    }

    pub fn is_of_store(self, other: Self) -> bool {
        self.origin == other.origin && self.store == other.store
    }
}

impl<'b> Body<'b> {
    /// Reads a body; none if anything about it is not as it must be.
    pub fn read(body: &'b [u8]) -> Option<Self> {
        let (&[first, hops_left], rest) = body.split_first_chunk::<2>()?;
        let (turn, kind) = (first >> TURN_AT, first & KIND);
        if first == COMMIT {
            let (&[l0, l1], entries) = rest.split_first_chunk::<2>()?;
            let count = entries.len() / COMMIT_BYTES;
            let is_whole = entries.len() % COMMIT_BYTES == 0 && (1..=COMMITS_MAX).contains(&count);
            let commits = CommitBytes { hops_left, leader: NodeId(u16::from_le_bytes([l0, l1])), entries };
            return (is_whole && commits.iter().count() == count).then_some(Self::Commit(commits));
        }
        if [ASK, ASK_AGAIN, ANSWER].contains(&kind) {
            return Self::read_question(turn, kind, hops_left, rest);
        }
        let (&key, rest) = rest.split_first_chunk::<7>()?;
        let (&[a0, a1, a2], block) = rest.split_first_chunk::<3>()?;
        let (key, last) = (Key::read(key)?, u32::from_le_bytes([a0, a1, a2, 0]));
        let course = match kind {
            READER => Course::FromReader,
            COPY => Course::ToReader,
            _ => Course::ToLeader,
        };
        match kind {
            RECORDS | READER | COPY if BlockBytes::read(block).is_some() && key.number < NUMBER_MAX => {
                Some(Self::Records(Records { course, turn, hops_left, key, age: last, block }))
            }
            GAP if block.is_empty() && key.number < last => Some(Self::Gap(Gap { turn, hops_left, key, end: last })),
            _ => None,
        }
    }

    fn read_question(turn: u8, kind: u8, hops_left: u8, rest: &'b [u8]) -> Option<Self> {
        let (&[a0, a1, number], rest) = rest.split_first_chunk::<3>()?;
        let asker = Some(NodeId(u16::from_le_bytes([a0, a1]))).filter(|&id| is_node(id))?;
        if kind != ANSWER {
            let ask = Ask { turn, hops_left, asker, number, known: Known(rest.try_into().ok()?) };
            return (ask.kind() == kind).then_some(Self::Ask(ask));
        }
        let (&from, contents) = rest.split_first_chunk::<2>()?;
        let from = NodeId(u16::from_le_bytes(from));
        let is_whole = is_node(from) && (1..=ANSWER_MAX).contains(&contents.len());
        is_whole.then_some(Self::Answer(AnswerBytes { turn, hops_left, asker, number, from, contents }))
    }
}

fn is_node(id: NodeId) -> bool {
    id != NodeId(0) && id != BROADCAST
}

impl Again {
    /// Counted from the first, which is given next; 16 if none is left.
    pub fn which(self) -> u8 {
        u8::try_from(self.bits.trailing_zeros()).unwrap_or(16)
    }

    /// The number of the block that is given next.
    pub fn next(self) -> u32 {
        self.first.number.saturating_add(u32::from(self.which()))
    }

    pub fn without_next(self) -> Self {
        Self { bits: self.bits & self.bits.wrapping_sub(1), ..self }
    }

    /// In the place of who is known.
    pub fn known(self) -> Known {
        let ([k0, k1, k2, k3, k4, k5, k6], [b0, b1]) = (self.first.bytes(), self.bits.to_le_bytes());
        Known([k0, k1, k2, k3, k4, k5, k6, b0, b1, 0, 0, 0, 0, 0, 0, 0])
    }
}

impl Ask {
    /// The blocks that are asked for; none if it asks for the status.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn again(&self) -> Option<Again> {
        let [k0, k1, k2, k3, k4, k5, k6, b0, b1, ..] = self.known.0;
        let first = Key::read([k0, k1, k2, k3, k4, k5, k6]).filter(|_| self.turn == AGAIN_TURN)?;
        Some(Again { first, bits: u16::from_le_bytes([b0, b1]) })
    }

    fn kind(&self) -> u8 {
        if self.turn == AGAIN_TURN { ASK_AGAIN } else { ASK }
    }

    /// Writes it; the number of bytes.
    pub fn write(&self, buf: &mut [u8]) -> Result<usize, Full> {
        let [a0, a1] = self.asker.0.to_le_bytes();
        write(buf, &[&[self.turn << TURN_AT | self.kind(), self.hops_left, a0, a1, self.number], &self.known.0])
    }
}

impl AnswerBytes<'_> {
    /// Writes it; the number of bytes.
    pub fn write(&self, buf: &mut [u8]) -> Result<usize, Full> {
        self.write_with(&[], buf)
    }

    /// Writes it with more contents.
    pub fn write_with(&self, more: &[u8], buf: &mut [u8]) -> Result<usize, Full> {
        let ([a0, a1], from) = (self.asker.0.to_le_bytes(), self.from.0.to_le_bytes());
        let header = [self.turn << TURN_AT | ANSWER, self.hops_left, a0, a1, self.number];
        write(buf, &[&header, &from, self.contents, more])
    }

    /// What names the answer among the frames that wait: no block has such a number.
    pub fn key(&self) -> Key {
        let number = NUMBER_MAX + 1 + (u32::from(self.number) << TURN_AT | u32::from(self.turn));
        Key { origin: self.from, store: self.asker.0, number }
    }
}

impl Records<'_> {
    /// Writes it; the number of bytes.
    pub fn write(&self, buf: &mut [u8]) -> Result<usize, Full> {
        let [a0, a1, a2, _] = self.age.min(AGE_UNKNOWN).to_le_bytes();
        let first = self.turn << TURN_AT | self.course as u8;
        write(buf, &[&[first, self.hops_left], &self.key.bytes(), &[a0, a1, a2], self.block])
    }
}

impl Gap {
    /// Writes it; the number of bytes.
    pub fn write(&self, buf: &mut [u8]) -> Result<usize, Full> {
        let [e0, e1, e2, _] = self.end.to_le_bytes();
        write(buf, &[&[self.turn << TURN_AT | GAP, self.hops_left], &self.key.bytes(), &[e0, e1, e2]])
    }
}

impl CommitBytes<'_> {
    /// The entries; fewer than there are if one makes no sense.
    pub fn iter(&self) -> impl Iterator<Item = Commit> {
        let chunks = self.entries.as_chunks::<COMMIT_BYTES>().0.iter();
        chunks.filter_map(|&[k0, k1, k2, k3, k4, k5, k6, b0, b1]| {
            let key = Key::read([k0, k1, k2, k3, k4, k5, k6])?;
            let bits = u16::from_le_bytes([b0, b1]);
            // The first bit is the block that the entry names; a gap cannot end before the first block.
            (bits & 1 == 1 || bits == 0 && key.number > 0).then_some(Commit { key, bits })
        })
    }
}

/// Writes a COMMIT and returns its length.
pub fn write_commits(
    buf: &mut [u8],
    hops_left: u8,
    leader: NodeId,
    commits: &Vec<Commit, COMMITS_MAX, u8>,
) -> Result<usize, Full> {
    let [l0, l1] = leader.0.to_le_bytes();
    let mut used = write(buf, &[&[COMMIT, hops_left, l0, l1]])?;
    for Commit { key, bits } in commits {
        used += write(buf.get_mut(used..).ok_or(Full)?, &[&key.bytes(), &bits.to_le_bytes()])?;
    }
    Ok(used)
}

fn write(buf: &mut [u8], parts: &[&[u8]]) -> Result<usize, Full> {
    let mut used = 0;
    for part in parts {
        buf.get_mut(used..used + part.len()).ok_or(Full)?.copy_from_slice(part);
        used += part.len();
    }
    Ok(used)
}
