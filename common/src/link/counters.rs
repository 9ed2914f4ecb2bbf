//! What the links count since boot.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// What has happened since the boot. Every count stops at its largest value instead of starting over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Frames sent, acknowledgements included.
    pub sent: u32,
    pub accepted: u32,
    /// Frames of other networks, other standards or other versions.
    pub foreign: u32,
    /// Frames that are too short or too long, or whose contents make no sense.
    pub malformed: u32,
    /// Frames whose tag is wrong.
    pub forged: u32,
    /// Frames whose number is not newer than the sender's last, or that claim an earlier epoch.
    pub replayed: u32,
    /// Frames of a session that is over.
    pub stale: u32,
    /// Frames sent again because no acknowledgement came.
    pub retries: u32,
    /// Frames given up because the channel was never clear.
    pub busy: u32,
    /// Hellos that this node missed, by the gaps in their numbers.
    pub hellos_missed: u32,
    pub links_up: u32,
    pub links_down: u32,
    /// Neighbours that were not let in because the table was full.
    pub refused: u32,
    /// Changes of leader. The links leave it at zero; the node, which follows a leader, fills it in.
    pub leader_changes: u32,
    /// The most messages that ever waited to be sent.
    pub pool_high_water: u8,
}
