//! The last frame numbers of neighbours that this node has forgotten, so that recordings of them are not taken for new
//! frames.
//!
//! A node cannot remember everybody that it has ever heard, and it need not. An attacker who replays frames of a
//! neighbour that is not in this list either only makes this node challenge that neighbour
//! ([`session`](super::session)). A board whose flash was erased counts from the beginning; it is let in again after
//! [`REFUSALS_MAX`] of its frames.

use super::frame::{COUNTER_MAX, FrameNumber};
use crate::limits::FORGOTTEN_MAX;
use crate::types::NodeId;

/// How many frames of a forgotten neighbour are refused before it is taken for one that counts from the beginning.
const REFUSALS_MAX: u32 = 8;

/// How often frames were refused is kept above this many bits, which hold the counter.
const REFUSALS_AT: u32 = COUNTER_MAX.count_ones();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trace {
    /// 0 is nobody.
    id: NodeId,
    epoch: u16,
    /// The counter of its last frame, and above it how many frames were refused.
    packed: u32,
}

impl Trace {
    const NONE: Self = Self { id: NodeId(0), epoch: 0, packed: 0 };

    fn number(self) -> FrameNumber {
        FrameNumber { epoch: self.epoch, counter: self.packed & COUNTER_MAX }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// The latest comes first.
    traces: [Trace; FORGOTTEN_MAX],
}

impl Forgotten {
    pub const fn new() -> Self {
        Self { traces: [Trace::NONE; FORGOTTEN_MAX] }
    }

    /// A neighbour is forgotten, whose last frame was this one. The one forgotten longest ago makes room.
    pub fn add(&mut self, id: NodeId, last: FrameNumber) {
        let at = self.traces.iter().position(|trace| trace.id == id || trace.id.0 == 0).unwrap_or(FORGOTTEN_MAX - 1);
        if let Some(upto) = self.traces.get_mut(..=at) {
            upto.rotate_right(1);
        }
        let [first, ..] = &mut self.traces;
        *first = Trace { id, epoch: last.epoch, packed: last.counter & COUNTER_MAX };
    }

    /// Whether a frame of a node that is no neighbour is an old one.
    pub fn refuses(&mut self, id: NodeId, number: FrameNumber) -> bool {
        let Some(trace) = self.traces.iter_mut().find(|trace| trace.id == id) else { return false };
        if number > trace.number() || trace.packed >> REFUSALS_AT >= REFUSALS_MAX {
            return false;
        }
        trace.packed += 1 << REFUSALS_AT;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{FORGOTTEN_MAX, Forgotten, REFUSALS_MAX};
    use crate::link::frame::{COUNTER_MAX, FrameNumber};
    use crate::types::NodeId;

    const fn number(epoch: u16, counter: u32) -> FrameNumber {
        FrameNumber { epoch, counter }
    }

    #[test]
    fn only_later_frames_of_a_forgotten_neighbour_are_new() {
        let mut forgotten = Forgotten::new();
        forgotten.add(NodeId(7), number(3, COUNTER_MAX));
        assert!(forgotten.refuses(NodeId(7), number(3, COUNTER_MAX)));
        assert!(forgotten.refuses(NodeId(7), number(2, 900)));
        assert!(!forgotten.refuses(NodeId(7), number(4, 1)));
        assert!(!forgotten.refuses(NodeId(8), number(1, 1)), "one that nothing is known of");
        for _ in 2..REFUSALS_MAX {
            assert!(forgotten.refuses(NodeId(7), number(1, 1)));
        }
        assert!(!forgotten.refuses(NodeId(7), number(1, 9)), "its flash was erased");
    }

    #[test]
    fn whoever_was_forgotten_longest_ago_makes_room() {
        let mut forgotten = Forgotten::new();
        let last = u16::try_from(FORGOTTEN_MAX).unwrap_or(0) + 1;
        (1..=last).for_each(|id| forgotten.add(NodeId(id), number(5, 5)));
        forgotten.add(NodeId(2), number(6, 6));
        assert!(!forgotten.refuses(NodeId(1), number(5, 5)));
        assert!((3..=last).all(|id| forgotten.refuses(NodeId(id), number(5, 5))));
        assert!(forgotten.refuses(NodeId(2), number(6, 6)), "the newer number of one that is there already");
    }
}
