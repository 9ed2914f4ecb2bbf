//! A node that nobody has room for. A hub has as many links as a hello can name; whoever comes after that, and hears nobody
//! else, is its guest: it follows the leader that the hub names, and takes no part in elections.
//!
//! A node without an epoch is nobody's guest: it says nothing, so nobody can have refused it.
//!
//! The hub must have links of its own, which no guest has. So a guest never follows another guest's word, and a leader that is
//! gone is not kept alive by nodes that heard of it from each other.

use super::Node;
use crate::time::Instant;
use crate::types::NodeId;

impl Node {
    /// The neighbour whose guest this node is, and the leader that it names.
    pub(super) fn host(&self, now: Instant) -> Option<(NodeId, NodeId)> {
        let has_links = self.ring.is_some() || !self.engine.peers().is_empty();
        let is_mute = self.links.epoch().is_none();
        if has_links || is_mute { None } else { self.links.host(now) }
    }
}
