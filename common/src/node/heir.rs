//! A leader's own hello says that it follows another: its heir.
//!
//! Leader pairs only get better: a leader that follows another has adopted a pair that beats its own, and all its
//! followers will adopt that pair or a better one when a neighbour's Update brings it. If that Update is lost, its
//! repetition takes a tenth of a second. The leader's hellos reach more nodes than it has links. So a node that hears
//! one goes by the heir until its own election has caught up.
//!
//! ```text
//!               leader's hello names another             own election has another leader
//!   Following ────────────────────────────────► Goes by ────────────────────────────────► Following
//!       ▲                                          │
//!       └──────────────────────────────────────────┘ nothing came for HEARSAY
//! ```
//!
//! This only decides whom the node follows: the election is told nothing, and neighbours see only the name in a hello.

use super::Node;
use crate::protocol::Protocol;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How long a node goes by an heir: long enough for an Update to arrive that is repeated several times.
const HEARSAY: Duration = Duration::from_millis(500);

/// The node that a leader has named in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heir {
    /// The leader that did.
    of: NodeId,
    id: NodeId,
    /// Never, where there is none.
    until: Instant,
}

impl Heir {
    pub const NOBODY: Self = Self { of: NodeId(0), id: NodeId(0), until: Instant::NEVER };

    /// Until when this node goes by it; never, where it does not.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Whether it was named in place of this leader.
    pub fn is_of(&self, leader: NodeId) -> bool {
        self.until != Instant::NEVER && self.of == leader
    }

    pub fn is_possible(&self, now: Instant) -> bool {
        self.until == Instant::NEVER || self.until <= now + HEARSAY
    }
}

impl Node {
    /// The heir that this node goes by.
    pub(super) fn heir(&mut self, now: Instant) -> Option<NodeId> {
        let leader = self.engine.protocol().leader()?;
        let id = self.links.take_heir();
        if id.0 != 0 && self.keeps_states() && self.leader == Some(leader) {
            self.heir = Heir { of: leader, id, until: now + HEARSAY };
        }
        if self.heir.of != leader || self.heir.until <= now {
            self.heir = Heir::NOBODY;
        }
        Some(self.heir.id).filter(|id| id.0 != 0)
    }
}
