//! The one message of the hierarchy: a height, its time, and a record per level. Fixed width, 19 bytes and 4 per level.
//!
//! ```text
//!  0        4        8     10      11     13       17    19
//!  ├ clock ─┼ tau ───┼ oid ┼ flags ┼ delta┼ elected┼ lid ┼ per level: fitness 1, head 2, distance + 1 or 0 for none 1
//! ```
//! Little-endian. Flags: bit 0 reflected, bit 1 fresh, bits 2 and 3 the number of levels; the others are zero.

use core::fmt;
use core::num::NonZeroU8;

use postcard::experimental::max_size::MaxSize;
use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::height_tuple::{LeaderPair, RefLevel};
use crate::limits::LEVELS_MAX;
use crate::protocol::Message;
use crate::types::NodeId;

const BASE_BYTES: usize = 19;
const LEVEL_BYTES: usize = 4;

/// What a node says about one level: its head there, how fit that is, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Record {
    /// The head's fitness; smaller is better.
    pub fitness: u8,
    pub head: NodeId,
    /// Hops to the head plus one, so that no record costs no byte.
    steps: NonZeroU8,
}

impl Record {
    /// A record of a head this many hops away; more than 254 is as far as it gets.
    pub const fn new(fitness: u8, head: NodeId, distance: u8) -> Self {
        Self { fitness, head, steps: NonZeroU8::MIN.saturating_add(distance) }
    }

    /// Hops to the head.
    pub const fn distance(self) -> u8 {
        self.steps.get() - 1
    }
}

/// The records of all levels; those beyond the configured number are none.
pub type Records = [Option<Record>; LEVELS_MAX];

/// A node's height and records, and the time at which they were sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HierarchyUpdate {
    /// The sender's causal time.
    pub stamp: u32,
    pub level: RefLevel,
    pub delta: i16,
    pub leader: LeaderPair,
    /// The sender has not heard the receiver since its channel came up, and so wants an answer.
    pub fresh: bool,
    pub levels: u8,
    pub records: Records,
}

impl Message for HierarchyUpdate {
    fn kind(&self) -> &'static str {
        "update"
    }

    fn is_latest_value(&self) -> bool {
        true
    }
}

impl MaxSize for HierarchyUpdate {
    const POSTCARD_MAX_SIZE: usize = BASE_BYTES + LEVELS_MAX * LEVEL_BYTES;
}

impl Serialize for HierarchyUpdate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let levels = usize::from(self.levels).min(LEVELS_MAX);
        let mut bytes = serializer.serialize_tuple(BASE_BYTES + levels * LEVEL_BYTES)?;
        let flags = u8::from(self.level.reflected) | u8::from(self.fresh) << 1 | (self.levels & 3) << 2;
        put(&mut bytes, &self.stamp.to_le_bytes())?;
        put(&mut bytes, &self.level.tau.to_le_bytes())?;
        put(&mut bytes, &self.level.oid.0.to_le_bytes())?;
        put(&mut bytes, &[flags])?;
        put(&mut bytes, &self.delta.to_le_bytes())?;
        put(&mut bytes, &self.leader.elected_at.to_le_bytes())?;
        put(&mut bytes, &self.leader.lid.0.to_le_bytes())?;
        for record in self.records.iter().take(levels) {
            let (fitness, head, steps) = record.map_or((0, NodeId(0), 0), |r| (r.fitness, r.head, r.steps.get()));
            let [low, high] = head.0.to_le_bytes();
            put(&mut bytes, &[fitness, low, high, steps])?;
        }
        bytes.end()
    }
}

fn put<T: SerializeTuple>(tuple: &mut T, bytes: &[u8]) -> Result<(), T::Error> {
    bytes.iter().try_for_each(|byte| tuple.serialize_element(byte))
}

impl<'de> Deserialize<'de> for HierarchyUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(Self::POSTCARD_MAX_SIZE, UpdateVisitor)
    }
}

/// Reads the bytes in order; the flags say how many there are.
struct UpdateVisitor;

impl<'de> Visitor<'de> for UpdateVisitor {
    type Value = HierarchyUpdate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hierarchy update")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<HierarchyUpdate, A::Error> {
        let stamp = u32::from_le_bytes(take(&mut seq)?);
        let tau = u32::from_le_bytes(take(&mut seq)?);
        let oid = NodeId(u16::from_le_bytes(take(&mut seq)?));
        let [flags] = take(&mut seq)?;
        let delta = i16::from_le_bytes(take(&mut seq)?);
        let elected_at = u32::from_le_bytes(take(&mut seq)?);
        let lid = NodeId(u16::from_le_bytes(take(&mut seq)?));
        if flags >> 4 != 0 {
            return Err(A::Error::custom("unknown flags"));
        }
        let levels = flags >> 2 & 3;
        let mut records = Records::default();
        for record in records.iter_mut().take(usize::from(levels)) {
            let [fitness, low, high, steps] = take(&mut seq)?;
            let head = NodeId(u16::from_le_bytes([low, high]));
            match NonZeroU8::new(steps) {
                Some(steps) => *record = Some(Record { fitness, head, steps }),
                None if fitness == 0 && head == NodeId(0) => {}
                None => return Err(A::Error::custom("a head without a distance")),
            }
        }
        Ok(HierarchyUpdate {
            stamp,
            level: RefLevel { tau, oid, reflected: flags & 1 != 0 },
            delta,
            leader: LeaderPair { elected_at, lid },
            fresh: flags & 2 != 0,
            levels,
            records,
        })
    }
}

fn take<'de, A: SeqAccess<'de>, const BYTES: usize>(seq: &mut A) -> Result<[u8; BYTES], A::Error> {
    let mut bytes = [0; BYTES];
    for byte in &mut bytes {
        *byte = seq.next_element()?.ok_or_else(|| A::Error::custom("too short"))?;
    }
    Ok(bytes)
}

const _: () = assert!(LEVELS_MAX <= 3, "the flags have two bits for the number of levels");
const _: () = assert!(size_of::<Option<Record>>() == 4, "a record takes four bytes, none of them for its absence");
const _: () = assert!(HierarchyUpdate::POSTCARD_MAX_SIZE <= 31, "the update outgrew its bar");

#[cfg(test)]
mod tests {
    use super::{HierarchyUpdate, LeaderPair, Record, Records, RefLevel};
    use crate::types::NodeId;

    fn sample(levels: u8) -> HierarchyUpdate {
        let mut records = Records::default();
        for (at, record) in records.iter_mut().take(usize::from(levels)).enumerate() {
            *record = (at != 1).then_some(Record::new(7, NodeId(0x1234), 15));
        }
        HierarchyUpdate {
            stamp: 0x0102_0304,
            level: RefLevel { tau: 9, oid: NodeId(5), reflected: true },
            delta: -2,
            leader: LeaderPair { elected_at: 77, lid: NodeId(0xABCD) },
            fresh: true,
            levels,
            records,
        }
    }

    #[test]
    fn every_number_of_levels_has_its_frozen_length_and_comes_back() {
        for (levels, bytes) in [(0, 19), (1, 23), (2, 27), (3, 31)] {
            let mut buf = [0; 31];
            let encoded = postcard::to_slice(&sample(levels), &mut buf).unwrap();
            assert_eq!(encoded.len(), bytes);
            assert_eq!(postcard::from_bytes::<HierarchyUpdate>(encoded), Ok(sample(levels)));
            for cut in 0..bytes {
                assert!(postcard::from_bytes::<HierarchyUpdate>(&encoded[..cut]).is_err(), "{cut} of {bytes} bytes");
            }
        }
    }

    #[test]
    fn the_bytes_are_frozen() {
        let mut buf = [0; 31];
        let encoded = postcard::to_slice(&sample(3), &mut buf).unwrap();
        let golden = [
            4, 3, 2, 1, 9, 0, 0, 0, 5, 0, 0b1111, 0xFE, 0xFF, 77, 0, 0, 0, 0xCD, 0xAB, // height
            7, 0x34, 0x12, 16, 0, 0, 0, 0, 7, 0x34, 0x12, 16, // levels
        ];
        assert_eq!(encoded, golden);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let mut bytes = [0; 23];
        bytes[10] = 1 << 2;
        assert!(postcard::from_bytes::<HierarchyUpdate>(&bytes).is_ok(), "one level, no head");
        bytes[20] = 3;
        assert!(postcard::from_bytes::<HierarchyUpdate>(&bytes).is_err(), "a head without a distance");
        bytes[22] = 1;
        assert!(postcard::from_bytes::<HierarchyUpdate>(&bytes).is_ok());
        bytes[10] |= 1 << 6;
        assert!(postcard::from_bytes::<HierarchyUpdate>(&bytes).is_err(), "an unknown flag");
    }

    #[test]
    fn a_distance_saturates() {
        assert_eq!(Record::new(0, NodeId(1), 255).distance(), 254);
        assert_eq!(Record::new(0, NodeId(1), 0).distance(), 0);
    }
}
