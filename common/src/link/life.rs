//! When the leader is known to have been there: at its last frame that this node heard, or that somebody whom it heard had
//! heard. Hellos carry the age of that sign of life, and whoever hears a younger one than its own takes it over. So a leader
//! that one node does not hear is vouched for by those that do.

use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// What hellos count the age in.
const UNIT: Duration = Duration::from_millis(32);

/// An age that says nothing: too old, or unknown.
pub const AGE_MAX: u8 = u8::MAX;

/// A leader that gave a sign of life within this time is there: the longest time between two hellos, and half as much again.
const LIVELY: Duration = Duration::from_millis(1_536);

/// The last sign of life of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    of: NodeId,
    at: Instant,
}

impl Life {
    pub const NOBODY: Self = Self { of: NodeId(0), at: Instant::ZERO };

    /// A frame came from a node while this node followed `leader`. A leader that is new to this node has just been elected.
    pub fn hear(&mut self, now: Instant, from: NodeId, leader: NodeId) {
        if self.of != leader {
            *self = Self { of: leader, at: now };
        } else if from == leader {
            self.at = now;
        }
    }

    /// Somebody that follows the same leader tells how old its sign of life is.
    pub fn vouch(&mut self, now: Instant, leader: NodeId, age: u8) {
        if leader == self.of && age < AGE_MAX {
            // Rounded up, as no sign of life may grow younger by being told.
            self.at = self.at.max(now - UNIT.times(u32::from(age) + 1));
        }
    }

    /// The age to tell; of oneself it is nothing.
    pub fn age(&self, now: Instant, own: NodeId, leader: NodeId) -> u8 {
        if leader == own {
            return 0;
        }
        let units = now.since(self.at).as_micros() / UNIT.as_micros();
        if leader == self.of { u8::try_from(units).unwrap_or(AGE_MAX) } else { AGE_MAX }
    }

    /// Whether this leader is known to be there.
    pub fn is_lively(&self, now: Instant, leader: NodeId) -> bool {
        self.of == leader && now.since(self.at) < LIVELY
    }
}

#[cfg(test)]
mod tests {
    use super::{AGE_MAX, Life};
    use crate::time::{Duration, Instant};
    use crate::types::NodeId;

    const LEADER: NodeId = NodeId(9);

    #[test]
    fn a_sign_of_life_is_handed_on_and_never_grows_younger() {
        let [mut near, mut far] = [Life::NOBODY, Life::NOBODY];
        let mut now = Instant::from_millis(1_000);
        near.hear(now, LEADER, LEADER);
        far.hear(now, NodeId(1), LEADER);
        // The leader is gone, and the two go on telling each other.
        for _ in 0..100 {
            now = now + Duration::from_millis(20);
            far.vouch(now, LEADER, near.age(now, NodeId(1), LEADER));
            near.vouch(now, LEADER, far.age(now, NodeId(2), LEADER));
        }
        assert!(!near.is_lively(now, LEADER) && !far.is_lively(now, LEADER));
        near.hear(now, LEADER, LEADER);
        assert!(near.is_lively(now, LEADER) && !far.is_lively(now, LEADER));
        far.vouch(now, LEADER, near.age(now, NodeId(1), LEADER));
        assert!(far.is_lively(now, LEADER), "one that hears it is enough");
        assert!(!far.is_lively(now, NodeId(8)));
    }

    #[test]
    fn a_leader_needs_nobody_to_vouch_for_it_and_a_stranger_has_no_age() {
        let life = Life::NOBODY;
        let now = Instant::from_millis(9_000);
        assert_eq!((life.age(now, LEADER, LEADER), life.age(now, NodeId(1), LEADER)), (0, AGE_MAX));
    }
}
