//! Counts messages by type and phase, and by sender.

use std::collections::BTreeMap;

use common::protocol::Message;

use crate::index::NodeIndex;

/// What messages are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageKind {
    /// See [`Message::kind`].
    pub name: &'static str,
    /// See [`Message::phase`].
    pub phase: u8,
}

#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Messages sent, by kind.
    pub by_kind: BTreeMap<MessageKind, u64>,
    /// Messages sent, by sender.
    pub by_node: BTreeMap<NodeIndex, u64>,
    pub delivered: u64,
    /// Messages lost in channels that went down or led to a dead node, or by a fault.
    pub lost: u64,
}

impl Counts {
    pub(super) fn sent(&mut self, node: NodeIndex, msg: &impl Message) {
        *self.by_kind.entry(MessageKind { name: msg.kind(), phase: msg.phase() }).or_default() += 1;
        *self.by_node.entry(node).or_default() += 1;
    }

    pub fn total(&self) -> u64 {
        self.by_kind.values().sum()
    }

    /// Messages of one name, all phases together.
    pub fn of(&self, name: &str) -> u64 {
        self.by_kind.iter().filter(|(kind, _)| kind.name == name).map(|(_, count)| count).sum()
    }

    pub fn in_phase(&self, name: &'static str, phase: u8) -> u64 {
        self.by_kind.get(&MessageKind { name, phase }).copied().unwrap_or(0)
    }

    pub fn by(&self, node: NodeIndex) -> u64 {
        self.by_node.get(&node).copied().unwrap_or(0)
    }
}
