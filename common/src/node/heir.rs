//! A leader's own hello says that it follows another: its heir.
//!
//! Pairs of leaders only get better, so a leader has adopted a pair that beats its own, and everybody who follows it will adopt
//! that pair, or one that is better still, when an Update of a neighbour brings it. Where that Update is lost it takes a tenth of
//! a second until it is repeated. The leader's hellos reach more nodes than it has links; so whoever hears one goes by the heir
//! until its own election knows.
//!
//! ```text
//!               leader's hello names another             own election has another leader
//!   Following ────────────────────────────────► Goes by ────────────────────────────────► Following
//!       ▲                                          │
//!       └──────────────────────────────────────────┘ nothing came for HEARSAY
//! ```
//!
//! It is a word on whom to follow and no more: the election is told nothing, and neighbours learn nothing of it but the name in a
//! hello.

use super::Node;
use crate::protocol::Protocol;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How long a node goes by what its leader says of another: an Update that is repeated several times has come by then.
const HEARSAY: Duration = Duration::from_millis(500);

/// Whom a leader has named in its place.
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
