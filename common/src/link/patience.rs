//! How long a node puts up with a neighbour that does not answer.

use crate::config::Timings;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How often an unacknowledged frame is sent before its link is given up.
    pub attempts: u8,
    /// A silent neighbour is asked whether it is there after this many eighths of its announced hello interval.
    pub suspect_eighths: u8,
    /// How long a link stays down after it broke.
    pub hold_down_ms: u16,
    /// How much longer silence is put up with because the channel is busy and hellos are late, in milliseconds.
    pub slack_ms: u16,
    pub watch: Watch,
}

impl Patience {
    pub const fn of(Timings { attempts, suspect_eighths, hold_down_ms, .. }: Timings) -> Self {
        Self { attempts, suspect_eighths, hold_down_ms, slack_ms: 0, watch: Watch::NOBODY }
    }

    pub fn slack(self) -> Duration {
        Duration::from_millis(u64::from(self.slack_ms))
    }
}

/// The leader, where this node is one of those that watch it closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// 0 where it is not watched.
    pub of: NodeId,
    /// Until when it needs no watching: somebody has heard it then, or it is new.
    pub alive_at: Instant,
    /// How often the link to it may have broken.
    pub breaks_max: u8,
}

impl Watch {
    pub const NOBODY: Self = Self { of: NodeId(0), alive_at: Instant::ZERO, breaks_max: 0 };
}
