//! How a node stands, in one value that fits a frame to the host.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::types::NodeId;

/// How a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Snapshot {
    /// The node's id.
    pub id: NodeId,
    /// The leader it follows, itself included.
    pub leader: Option<NodeId>,
    /// The next node on the way to the leader, where the algorithm knows one.
    pub next_hop: Option<NodeId>,
    /// The number of this boot; none where it could not be stored.
    pub epoch: Option<u16>,
    /// Links that are up.
    pub links_up: u8,
    /// Nodes heard lately, linked or not.
    pub heard: u8,
    /// What has happened since the boot.
    pub counters: Counters,
}

/// What has happened since the boot. Every count stops at its largest value instead of starting over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Frames sent, acknowledgements included.
    pub sent: u32,
    /// Frames accepted.
    pub accepted: u32,
    /// Frames of other networks, other standards or other versions.
    pub foreign: u32,
    /// Frames that are none: too short, too long, or with contents that make no sense.
    pub malformed: u32,
    /// Frames whose tag is wrong.
    pub forged: u32,
    /// Frames that were heard before, or claim an earlier epoch.
    pub replayed: u32,
    /// Frames of a session that is over.
    pub stale: u32,
    /// Frames sent again because no acknowledgement came.
    pub retries: u32,
    /// Frames given up because the channel was never clear.
    pub busy: u32,
    /// Hellos that this node missed, by the gaps in their numbers.
    pub hellos_missed: u32,
    /// Links that came up.
    pub links_up: u32,
    /// Links that went down.
    pub links_down: u32,
    /// Neighbours that were not let in because the table was full.
    pub refused: u32,
    /// Changes of leader.
    pub leader_changes: u32,
    /// The most messages that ever waited to be sent.
    pub pool_high_water: u8,
}
