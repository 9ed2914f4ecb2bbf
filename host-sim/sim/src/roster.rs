//! A question to all nodes about their state, as its asker keeps it: who has answered, who is missing, and what to ask next.
//!
//! Nodes name their neighbours, so the asker knows when it has heard from all: every node that another has a link to has
//! answered.

use std::collections::{BTreeMap, BTreeSet};

use common::data::wire::Known;
use common::host_link::Question;
use common::node::fleet::Report;
use common::types::NodeId;

/// While nodes are missing, the question is asked again this often, and given up after this time.
pub const AGAIN_US: u64 = 1_500_000;
pub const PATIENCE_US: u64 = 10_000_000;

/// A node's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// How long after the question it came.
    pub after_us: u64,
    pub report: Report,
}

#[derive(Clone, Debug)]
pub struct Roster {
    number: u8,
    turn: u8,
    asked_us: u64,
    next_us: u64,
    answered: BTreeMap<NodeId, Answered>,
}

impl Roster {
    /// A question that has not been asked yet. The asker gives each another number.
    pub fn new(now_us: u64, number: u8) -> Self {
        Self { number, turn: 0, asked_us: now_us, next_us: now_us, answered: BTreeMap::new() }
    }

    /// What to ask now, if anything.
    pub fn poll(&mut self, now_us: u64) -> Option<Question> {
        if now_us < self.next_us || self.is_over(now_us) {
            return None;
        }
        let turn = self.turn;
        self.turn += 1;
        self.next_us = now_us + AGAIN_US;
        let mut known = Known::default();
        for &id in self.answered.keys() {
            known.add(id, turn);
        }
        Some(Question { number: self.number, turn, known })
    }

    /// A node has answered; false if it answered something else, or nothing that makes sense.
    pub fn note(&mut self, now_us: u64, number: u8, from: NodeId, report: &[u8]) -> bool {
        let Some(report) = Report::read(report).filter(|report| report.snapshot.id == from && number == self.number)
        else {
            return false;
        };
        let after_us = now_us.saturating_sub(self.asked_us);
        self.answered.entry(from).or_insert(Answered { after_us, report });
        true
    }

    pub fn answered(&self) -> &BTreeMap<NodeId, Answered> {
        &self.answered
    }

    /// Nodes that others have a link to, and that have not answered.
    pub fn missing(&self) -> BTreeSet<NodeId> {
        let named = self.answered.values().flat_map(|answered| &answered.report.neighbours);
        let linked = named.filter(|heard| heard.is_linked).map(|heard| heard.id);
        linked.filter(|id| !self.answered.contains_key(id)).collect()
    }

    /// Whether everybody has answered, by what they say of each other.
    pub fn is_complete(&self) -> bool {
        !self.answered.is_empty() && self.missing().is_empty()
    }

    pub fn is_over(&self, now_us: u64) -> bool {
        self.is_complete() || now_us >= self.asked_us + PATIENCE_US
    }

    pub fn asked_us(&self) -> u64 {
        self.asked_us
    }
}

#[cfg(test)]
mod tests {
    use common::data::wire::ANSWER_MAX;
    use common::node::fleet::{About, Heard, Report};
    use common::node::snapshot::Snapshot;
    use common::types::NodeId;

    use super::{AGAIN_US, PATIENCE_US, Roster};

    fn report(id: u16, neighbours: &[(u16, bool)]) -> Vec<u8> {
        let heard = |&(id, is_linked): &(u16, bool)| Heard { id: NodeId(id), is_linked, rssi_dbm: -70 };
        let snapshot = Snapshot { id: NodeId(id), ..Snapshot::default() };
        let neighbours = neighbours.iter().map(heard).collect();
        let mut buf = [0; ANSWER_MAX];
        let length = Report { snapshot, uptime_s: 1, about: About::default(), neighbours }.write(&mut buf);
        buf[..length].to_vec()
    }

    #[test]
    fn it_is_asked_again_until_all_that_are_named_have_answered() {
        let mut roster = Roster::new(0, 9);
        let first = roster.poll(0).unwrap();
        assert_eq!((first.turn, first.known.has(NodeId(1), 0)), (0, false));
        assert!(roster.note(10, 9, NodeId(1), &report(1, &[(2, true), (7, false)])));
        assert!(!roster.note(10, 8, NodeId(2), &report(2, &[])), "of another question");
        assert!(!roster.note(10, 9, NodeId(3), &report(2, &[])), "of somebody else");
        assert_eq!(roster.poll(AGAIN_US - 1), None);
        let second = roster.poll(AGAIN_US).unwrap();
        assert!(second.turn == 1 && second.known.has(NodeId(1), 1) && !second.known.has(NodeId(2), 1));
        assert!(!roster.is_complete() && roster.missing().contains(&NodeId(2)));
        roster.note(AGAIN_US, 9, NodeId(2), &report(2, &[(1, true)]));
        assert!(roster.is_over(AGAIN_US));
        assert_eq!(roster.poll(9 * AGAIN_US), None);
    }

    #[test]
    fn it_is_given_up_in_time() {
        let mut roster = Roster::new(5, 1);
        let asked = (0..20).filter(|&second| roster.poll(5 + second * 1_000_000).is_some()).count();
        assert!(asked <= 6, "{asked}");
        assert!(!roster.is_complete() && roster.is_over(5 + PATIENCE_US));
    }
}
