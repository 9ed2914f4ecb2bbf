//! What a scenario does to its nodes: whom, what, and when.

use std::collections::{BTreeMap, BTreeSet};

use crate::air::index::NodeIndex;
use crate::air::propagation::{Point, Wall};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// These nodes, counted from 0.
    Nodes(Vec<NodeIndex>),
    /// The leader that most nodes follow.
    Leader,
    /// Any node that is on.
    Random,
}

/// What a node finds in its flash when its power comes back. Its driver keeps the boot number there, and stores the
/// next one before the node may send.
///
/// Ordered from harmless to severe: if several faults hit one flash, the worst counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flash {
    Kept,
    /// Nothing is left, so the node counts its boots from one again.
    Erased,
    /// The write was torn and its check failed. The driver tries again after a second, and succeeds.
    Torn,
    /// Nothing can be written, so the node only listens until its next boot.
    Failing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trick {
    Random,
    /// Sends a frame that it has overheard, with some bits flipped.
    Flip,
    /// Sends the beginning of a frame that it has overheard.
    Truncate,
    /// Sends a frame that it has overheard, unchanged.
    Replay,
    /// Sends a length byte of 0, 1, or more than 127.
    Length,
}

/// Somebody who sends unsolicited frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Attack {
    pub position: Point,
    pub tx_dbm: f64,
    /// Its channel, if it differs from the nodes'.
    pub channel: Option<u8>,
    /// The attacker picks one of these at random for each frame.
    pub tricks: Vec<Trick>,
    /// The mean time between two frames.
    pub interval_us: u64,
    pub lasts_us: u64,
}

/// The effect of a fault. Without a duration it is permanent.
#[derive(Clone, Debug, PartialEq)]
pub enum Harm {
    /// Cuts the power, which may come back after a while.
    Crash {
        who: Who,
        lasts_us: Option<u64>,
        flash: Flash,
    },
    /// Restores the power, or interrupts it for an instant if the node is on. The node loses its state.
    Restart {
        who: Who,
        flash: Flash,
    },
    /// Puts up a wall, which may come down after a while.
    Wall {
        wall: Wall,
        lasts_us: Option<u64>,
    },
    /// Separates these nodes from all others: neither side hears the other.
    Partition {
        group: BTreeSet<NodeIndex>,
        lasts_us: Option<u64>,
    },
    /// Emits noise, on the nodes' channel unless another is given.
    Jam {
        position: Point,
        power_dbm: f64,
        channel: Option<u8>,
        lasts_us: u64,
    },
    /// Makes clocks run fast (or slow, if negative) by this many parts per million.
    Drift {
        who: Who,
        ppm: i32,
        lasts_us: Option<u64>,
    },
    /// Hands over this share of the received frames with wrong bits and a valid checksum.
    Corrupt {
        share: f64,
        lasts_us: Option<u64>,
    },
    /// Leaves wrong things in the memory of nodes: in part what it was at another time, in part what nobody ever said.
    CorruptState {
        who: Who,
    },
    /// Nodes send one authentic frame each that says anything, and lose their power.
    Lie {
        who: Who,
        lasts_us: Option<u64>,
    },
    /// Tells nodes to lead no more; they may lose their power some time after.
    StepDown {
        who: Who,
        off_after_us: Option<u64>,
    },
    Attack(Attack),
    /// Carries these nodes to other positions, each to its own.
    Move {
        to: BTreeMap<NodeIndex, Point>,
    },
}

impl Harm {
    /// How long the fault lasts; `None` if it does not end by itself.
    pub fn lasts_us(&self) -> Option<u64> {
        match self {
            Self::Crash { lasts_us, .. }
            | Self::Lie { lasts_us, .. }
            | Self::Wall { lasts_us, .. }
            | Self::Partition { lasts_us, .. }
            | Self::Drift { lasts_us, .. }
            | Self::Corrupt { lasts_us, .. } => *lasts_us,
            Self::Jam { lasts_us, .. } | Self::Attack(Attack { lasts_us, .. }) => Some(*lasts_us),
            Self::Restart { .. } | Self::CorruptState { .. } | Self::StepDown { .. } | Self::Move { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Once {
        at_us: u64,
    },
    /// Strikes again and again, at memoryless random intervals.
    Every {
        mean_us: u64,
        from_us: u64,
        until_us: u64,
    },
}

/// A fault of the scenario, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultIndex(pub usize);

#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub when: When,
    pub harm: Harm,
}

impl Fault {
    /// The time at which its last effect begins.
    pub(super) fn ends_us(&self) -> u64 {
        let begins_us = match self.when {
            When::Once { at_us } => at_us,
            When::Every { until_us, .. } => until_us,
        };
        begins_us + self.harm.lasts_us().unwrap_or(0)
    }
}
