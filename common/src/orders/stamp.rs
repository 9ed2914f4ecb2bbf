//! When an order was given, in the only sense that matters: under whose mandate, and at which index.
//!
//! A leader orders under a *mandate*: a number, its id, and its boot. The number is later than every mandate that the
//! leader has seen and, with heights, no earlier than its own election, so mandates are ordered as the leaders follow
//! each other. No mandate is used twice: within a boot the numbers of a node rise, and another boot makes another
//! mandate. Numbers wrap around and are compared, like causal times, by how far one is ahead.

use core::cmp::Ordering;

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::causal_clock::is_after;
use crate::types::NodeId;

/// What a leader orders under: the fencing token of its orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Mandate {
    /// 0 is nobody's.
    pub number: u32,
    pub leader: NodeId,
    /// The boot of the leader.
    pub epoch: u16,
}

impl Mandate {
    /// Before anybody has ordered anything.
    pub const NONE: Self = Self { number: 0, leader: NodeId(0), epoch: 0 };

    pub const fn is_none(self) -> bool {
        self.number == 0
    }

    /// The number of a mandate that is later than this one and no earlier than the election at this time.
    pub const fn next_number(self, elected_at: u32) -> u32 {
        let next = if self.number == u32::MAX { 1 } else { self.number + 1 };
        if elected_at != 0 && is_after(elected_at, next) { elected_at } else { next }
    }
}

/// The later mandate is the greater one. Where two leaders took the same number, that of the smaller id counts as later, as
/// among leader pairs.
impl Ord for Mandate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_number = match (self.number, other.number) {
            (one, two) if one == two => Ordering::Equal,
            (0, _) => Ordering::Less,
            (_, 0) => Ordering::Greater,
            (one, two) if is_after(one, two) => Ordering::Greater,
            _ => Ordering::Less,
        };
        let ahead = self.epoch.wrapping_sub(other.epoch).cast_signed();
        by_number.then(other.leader.cmp(&self.leader)).then(ahead.cmp(&0))
    }
}

impl PartialOrd for Mandate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Identifies an order. The later one is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stamp {
    pub mandate: Mandate,
    /// Counts the orders of the mandate, from 1 on.
    pub index: u16,
}

impl core::fmt::Display for Stamp {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { mandate: Mandate { number, leader, .. }, index } = self;
        write!(f, "order {index} of leader {leader}, mandate {number}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Mandate, Stamp};
    use crate::types::NodeId;

    fn mandate(number: u32, leader: u16, epoch: u16) -> Mandate {
        Mandate { number, leader: NodeId(leader), epoch }
    }

    #[test]
    fn later_mandates_are_greater_and_numbers_start_over() {
        assert!(mandate(2, 9, 1) > mandate(1, 1, 7));
        assert!(mandate(1, 1, 1) > mandate(u32::MAX, 1, 1), "after the last comes the first");
        assert!(mandate(5, 3, 1) > mandate(5, 4, 1), "the smaller id, as among leader pairs");
        assert!(mandate(5, 3, 2) > mandate(5, 3, 1));
        assert!(mandate(5, 3, 0) > mandate(5, 3, u16::MAX), "boots start over too");
        assert!(mandate(u32::MAX, 1, 1) > Mandate::NONE && mandate(1, 1, 1) > Mandate::NONE);
        let stamp = |index| Stamp { mandate: mandate(5, 3, 2), index };
        assert!(stamp(2) > stamp(1));
    }

    #[test]
    fn the_next_number_is_later_than_all_seen_and_than_the_election() {
        assert_eq!(Mandate::NONE.next_number(0), 1);
        assert_eq!(mandate(7, 1, 1).next_number(0), 8);
        assert_eq!(mandate(7, 1, 1).next_number(20), 20);
        assert_eq!(mandate(7, 1, 1).next_number(3), 8, "a clock that began anew");
        assert_eq!(mandate(u32::MAX, 1, 1).next_number(0), 1, "never 0");
    }
}
