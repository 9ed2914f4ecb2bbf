//! Guests: nodes that nobody has room for. A hub has as many links as a hello can name. A node that comes after that
//! and hears nobody else is its guest: it follows the leader that the hub names and takes no part in elections.
//!
//! A node without an epoch is nobody's guest: it says nothing, so nobody can have refused it.
//!
//! The hub must have links of its own, which no guest has. So a guest never follows another guest's word, and a leader that is
//! gone is not kept alive by nodes that heard of it from each other.
//!
//! A node without links has elected itself, as it must, and the last elected wins. So a guest that is let in, or a node
//! that strayed and is back, would unseat everybody else's leader. But it has led nobody: where it gets its first link
//! and hears nodes with links that follow another, it steps down and joins them as after a restart. Its first link may
//! be to a node as lonely as itself: if one of the two led, it would unseat the others' leader as soon as the two get a
//! link to them.

use super::Node;
use crate::protocol::Signal;
use crate::time::Instant;
use crate::types::NodeId;

impl Node {
    /// A link has come up that the election does not know yet.
    pub(super) fn join(&mut self, now: Instant) {
        if self.keeps_states() && self.is_alone() && self.links.hears_others(now) {
            self.engine.handle_signal(now, Signal::StepDown);
        }
    }

    /// The leader that a guest keeps following after it was let in, until its first neighbour has spoken, if that
    /// leader is known to be there.
    pub(super) fn followed_until_told(&self, now: Instant) -> Option<NodeId> {
        let is_waiting = self.keeps_states() && !self.is_alone() && !self.has_other(self.id());
        self.leader.filter(|&leader| is_waiting && self.is_heard(now, leader))
    }

    /// The neighbour whose guest this node is, and the leader that it names.
    pub(super) fn host(&self, now: Instant) -> Option<(NodeId, NodeId)> {
        let has_links = self.ring.is_some() || !self.engine.peers().is_empty();
        let is_mute = self.links.epoch().is_none();
        if has_links || is_mute { None } else { self.links.host(now) }
    }
}
