//! The height of a node: seven numbers that direct every link from the larger to the smaller.
//!
//! Source: Tbarka (2019), section 3.2. `(tau, oid, r, delta, nlts, lid, id)`, compared lexicographically; the first three
//! are the reference level, the fifth and sixth the leader pair. The printed `nlts` is the negative of the time at which
//! the leader was elected; here that time itself is kept, and a later one orders first. Times are compared as causal
//! times are: they start over.

use core::cmp::Ordering;

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::causal_clock::is_after;
use crate::types::NodeId;

/// Compares two causal times.
fn compare(time: u32, other: u32) -> Ordering {
    if time == other {
        Ordering::Equal
    } else if is_after(time, other) {
        Ordering::Greater
    } else {
        Ordering::Less
    }
}

/// A search for the leader: when and by whom it was begun, and whether it has met a dead end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RefLevel {
    /// When it was begun; zero if there is no search.
    pub tau: u32,
    /// Who began it.
    pub oid: NodeId,
    /// Whether it comes back from a dead end.
    pub reflected: bool,
}

impl RefLevel {
    /// No search.
    pub const ZERO: Self = Self { tau: 0, oid: NodeId(0), reflected: false };
}

/// No search is lower than any; of two, the later one is higher.
impl Ord for RefLevel {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_time = match (self.tau, other.tau) {
            (0, _) | (_, 0) => self.tau.cmp(&other.tau),
            (tau, other) => compare(tau, other),
        };
        by_time.then(self.oid.cmp(&other.oid)).then(self.reflected.cmp(&other.reflected))
    }
}

impl PartialOrd for RefLevel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A leader and when it was elected. The smaller pair is the better one: elected later, or at the same time with the
/// smaller id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LeaderPair {
    /// The causal time of the election, which is `-nlts`.
    pub elected_at: u32,
    pub lid: NodeId,
}

impl Ord for LeaderPair {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(other.elected_at, self.elected_at).then(self.lid.cmp(&other.lid))
    }
}

impl PartialOrd for LeaderPair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A node's height. The order of the fields is the order of comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Height {
    /// The search this node is part of.
    pub level: RefLevel,
    /// Its position within the search or, where there is no search, its distance from the leader.
    pub delta: i16,
    pub leader: LeaderPair,
    /// The node itself, which makes heights unique.
    pub id: NodeId,
}

impl Height {
    /// The height of a leader elected at this time.
    pub const fn elected(id: NodeId, elected_at: u32) -> Self {
        Self { level: RefLevel::ZERO, delta: 0, leader: LeaderPair { elected_at, lid: id }, id }
    }

    /// Whether it tells of nothing that came after this time. A search or an election that is later than the message, or
    /// the clock of the node, that tells of it was never begun: a bit has flipped, or somebody lies.
    pub const fn is_of_past(&self, time: u32) -> bool {
        let has_search = self.level.tau != 0;
        !(is_after(self.leader.elected_at, time) || has_search && is_after(self.level.tau, time))
    }

    /// Everything that a node tells of its height, as numbers.
    pub fn words(&self) -> [u32; 5] {
        let Self { level: RefLevel { tau, oid, reflected }, delta, leader: LeaderPair { elected_at, lid }, .. } = *self;
        [
            tau,
            u32::from(oid.0) << 1 | u32::from(reflected),
            u32::from(delta.cast_unsigned()),
            elected_at,
            u32::from(lid.0),
        ]
    }

    /// The height of a node at this distance from a leader that was there from the start.
    pub const fn initial(id: NodeId, leader: NodeId, distance: i16) -> Self {
        let leader = LeaderPair { elected_at: 0, lid: leader };
        Self { level: RefLevel::ZERO, delta: distance, leader, id }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Height, LeaderPair, RefLevel};
    use crate::types::NodeId;

    /// The tuple as the source prints it.
    fn printed(height: Height) -> [i64; 7] {
        let Height { level, delta, leader, id } = height;
        [
            i64::from(level.tau),
            i64::from(level.oid.0),
            i64::from(level.reflected),
            i64::from(delta),
            -i64::from(leader.elected_at),
            i64::from(leader.lid.0),
            i64::from(id.0),
        ]
    }

    prop_compose! {
        // Small ranges, so that ties in the leading components are common.
        fn heights()(tau in 0_u32..3, oid in 0_u16..3, reflected: bool, delta in -2_i16..3,
                     elected_at in 0_u32..3, lid in 0_u16..3, id in 0_u16..3) -> Height {
            Height {
                level: RefLevel { tau, oid: NodeId(oid), reflected },
                delta,
                leader: LeaderPair { elected_at, lid: NodeId(lid) },
                id: NodeId(id),
            }
        }
    }

    proptest! {
        #[test]
        fn the_order_is_the_printed_tuples(a in heights(), b in heights()) {
            prop_assert_eq!(a.cmp(&b), printed(a).cmp(&printed(b)));
        }

        #[test]
        fn the_order_is_total(a in heights(), b in heights(), c in heights()) {
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert_eq!(a == b, a.cmp(&b).is_eq());
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
        }
    }
}
