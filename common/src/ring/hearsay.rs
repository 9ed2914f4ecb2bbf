//! What the members of a ring tell each other of their elections: the leader that the last one gave, and its number.
//!
//! Owns how far this node is, and what it has heard that is news to it. An announcement that passes from ring neighbour
//! to ring neighbour is only as reliable as its weakest hop, and a node that missed it would begin another election at
//! the end of its patience, which everybody else would have to join. So every hello says how its sender's election
//! ended. A node that hears this of its present election or of a later one follows the same leader
//! ([`Outcome::is_behind`]), as after an announcement. So a ring whose members hear each other agrees, whatever is lost
//! on the way round.
//!
//! On the air the number of an election has two bytes. The receiver adds the upper two of its own, since neighbours are
//! never far apart. If corrupted memory moves them apart, the messages of the election, which carry all four bytes,
//! reveal it.

use crate::types::{NodeId, Outcome, Term};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Hearsay {
    own: Outcome,
    /// What the election has not been told yet.
    heard: Outcome,
}

impl Hearsay {
    /// This node's election has come this far. Returns true if it follows another leader than before, which others
    /// should learn.
    pub fn set(&mut self, own: Outcome) -> bool {
        let is_news = own != self.own && own.leader.is_some();
        self.own = own;
        is_news
    }

    /// The number of this node's election, as it is on the air.
    pub fn number(&self) -> u16 {
        low_bits(self.own.term)
    }

    pub fn leader(&self) -> Option<NodeId> {
        self.own.leader
    }

    /// A member says that its election, with this number, ended with this leader. Returns true if that member is behind
    /// this node.
    pub fn hear(&mut self, number: u16, leader: Option<NodeId>) -> bool {
        let ahead = number.wrapping_sub(low_bits(self.own.term)).cast_signed();
        let told = Outcome { term: Term(self.own.term.0.wrapping_add_signed(i32::from(ahead))), leader };
        if self.own.is_behind(told) && (self.heard.leader.is_none() || self.heard.is_behind(told)) {
            self.heard = told;
        }
        told.is_behind(self.own)
    }

    /// What the election does not know yet.
    pub fn take(&mut self) -> Option<Outcome> {
        let heard = core::mem::take(&mut self.heard);
        self.own.is_behind(heard).then_some(heard)
    }
}

fn low_bits(term: Term) -> u16 {
    let [low, high, ..] = term.0.to_le_bytes();
    u16::from_le_bytes([low, high])
}

#[cfg(test)]
mod tests {
    use super::Hearsay;
    use crate::types::{NodeId, Outcome, Term};

    fn outcome(term: u32, leader: u16) -> Outcome {
        Outcome { term: Term(term), leader: (leader > 0).then_some(NodeId(leader)) }
    }

    #[test]
    fn only_what_is_later_or_was_missed_is_news() {
        let heard = |own, number, leader| {
            let mut hearsay = Hearsay::default();
            hearsay.set(own);
            hearsay.hear(number, (leader > 0).then_some(NodeId(leader)));
            hearsay.take()
        };
        assert_eq!(heard(outcome(5, 0), 5, 9), Some(outcome(5, 9)), "the end of this node's own election");
        assert_eq!(heard(outcome(5, 9), 6, 3), Some(outcome(6, 3)), "a later one");
        assert_eq!(heard(outcome(5, 9), 4, 12), None, "an earlier one");
        assert_eq!(heard(outcome(5, 9), 5, 9), None);
        assert_eq!(heard(outcome(5, 9), 5, 12), Some(outcome(5, 12)), "two parts, one number: the higher leads");
        assert_eq!(heard(outcome(5, 9), 5, 3), None);
        assert_eq!(heard(outcome(5, 9), 6, 0), None, "an election without an end is nothing to follow");
        assert_eq!(heard(outcome(0x0002_FFFF, 9), 0, 4), Some(outcome(0x0003_0000, 4)), "two bytes start over");
    }

    #[test]
    fn the_latest_of_several_is_told_and_what_was_overtaken_is_not() {
        let mut hearsay = Hearsay::default();
        hearsay.set(outcome(5, 9));
        for (number, leader) in [(7, 2), (6, 4), (7, 3)] {
            assert!(!hearsay.hear(number, Some(NodeId(leader))));
        }
        assert_eq!((hearsay.take(), hearsay.take()), (Some(outcome(7, 3)), None));
        hearsay.hear(7, Some(NodeId(3)));
        hearsay.set(outcome(8, 0));
        assert_eq!(hearsay.take(), None);
        hearsay.set(outcome(8, 6));
        assert!(hearsay.hear(7, Some(NodeId(3))), "it is behind");
    }
}
