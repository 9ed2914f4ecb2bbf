//! What stands above the links of a node, as they see it.

use super::data::NodeWays;
use crate::data::{Data, Verdict};
use crate::election::Election;
use crate::link::Above;
use crate::link::frame::Status;
use crate::protocol::Protocol;
use crate::ring::RingKeeper;
use crate::time::Instant;
use crate::types::NodeId;

/// What the links see of their node.
pub struct Upper<'n> {
    pub data: &'n mut Data,
    pub now: Instant,
    pub leader: Option<NodeId>,
    pub election: &'n Election,
    pub ring: Option<&'n mut RingKeeper>,
}

impl Above for Upper<'_> {
    fn leader(&self) -> NodeId {
        self.leader.unwrap_or(NodeId(0))
    }

    fn told(&self) -> Option<u32> {
        self.election.told()
    }

    fn heard(&self, from: NodeId) -> Option<u32> {
        self.election.heard(from)
    }

    fn receive_hello(&mut self, from: NodeId, told: &[u8]) {
        if let Some(ring) = &mut self.ring {
            ring.receive_hello(self.now, from, told);
        }
    }

    fn tell(&mut self, room: &mut [u8]) -> usize {
        self.ring.as_mut().map_or(0, |ring| ring.tell(self.now, room))
    }

    fn compose_data(&mut self, room: &mut [u8]) -> Option<(NodeId, usize)> {
        let ways = NodeWays { election: self.election, ring: self.ring.as_deref(), leader: self.leader };
        self.data.compose(self.now, &ways, room)
    }

    fn receive_data(&mut self, from: NodeId, body: &[u8]) -> Option<Status> {
        match self.data.receive(self.now, from, body) {
            Verdict::Taken => Some(Status::Accepted),
            Verdict::NotTaken => Some(Status::NoRoom),
            Verdict::Malformed => None,
        }
    }
}
