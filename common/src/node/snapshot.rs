//! The state of a node as people want to see it, in one value that fits a frame to the host.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

pub use crate::link::Counters;
use crate::types::NodeId;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Snapshot {
    pub id: NodeId,
    /// The leader it follows, itself included.
    pub leader: Option<NodeId>,
    /// The next node on the way to the leader, where the algorithm knows one.
    pub next_hop: Option<NodeId>,
    /// The number of this boot; none where it could not be stored.
    pub epoch: Option<u16>,
    pub links_up: u8,
    /// Nodes heard lately, linked or not.
    pub heard: u8,
    /// What has happened since the boot.
    pub counters: Counters,
}
