//! Counts messages by type and phase, and by sender.

use std::collections::BTreeMap;

use common::protocol::Message;

#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Messages sent, by type and phase.
    pub by_kind: BTreeMap<(&'static str, u8), u64>,
    /// Messages sent, by the index of the sender.
    pub by_node: BTreeMap<usize, u64>,
    /// Messages delivered.
    pub delivered: u64,
    /// Messages lost in channels that went down or led to a dead node, or by a fault.
    pub lost: u64,
}

impl Counts {
    pub(super) fn sent(&mut self, node: usize, msg: &impl Message) {
        *self.by_kind.entry((msg.kind(), msg.phase())).or_default() += 1;
        *self.by_node.entry(node).or_default() += 1;
    }

    pub fn total(&self) -> u64 {
        self.by_kind.values().sum()
    }

    /// Messages of one type, all phases together.
    pub fn of(&self, kind: &str) -> u64 {
        self.by_kind.iter().filter(|((name, _), _)| *name == kind).map(|(_, count)| count).sum()
    }

    pub fn in_phase(&self, kind: &'static str, phase: u8) -> u64 {
        self.by_kind.get(&(kind, phase)).copied().unwrap_or(0)
    }

    pub fn by(&self, node: usize) -> u64 {
        self.by_node.get(&node).copied().unwrap_or(0)
    }
}
