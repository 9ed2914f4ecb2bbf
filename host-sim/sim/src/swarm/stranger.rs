//! One stranger: everything that its scenario says, in whole numbers, so that its text is the same everywhere.

use std::collections::BTreeSet;

use common::names::Algorithm;
use serde::{Deserialize, Serialize};

use crate::air::index::NodeIndex;

/// What strangers may have. A seed has each of them or has it not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// The order of ids has nothing to do with where nodes stand.
    Strewn,
    /// Rooms, corridors and stars of closed rooms.
    Walls,
    /// Everybody hears everybody, or nearly.
    Dense,
    /// Shadowing and differences between nodes.
    Shadows,
    Loss,
    Bursts,
    Wifi,
    /// Clocks that run fast or slow, and nodes that wake late.
    Clocks,
    Mobility,
    SingleLoss,
    JointLoss,
    Partition,
    Churn,
    /// Flash that is erased or torn.
    Flash,
    Drift,
    CorruptFrames,
    CorruptState,
    Attack,
    Noise,
    /// Hours and days.
    Long,
    /// Members that say one thing that is not so, and are gone.
    Lies,
    /// A radio that turns round as slowly as embassy-nrf's driver does.
    SlowRadio,
    /// Nodes measure, and the channel carries their readings besides.
    Readings,
    /// A hierarchy of any levels.
    Levels,
}

impl Feature {
    pub const ALL: [Self; 24] = [
        Self::Strewn,
        Self::Walls,
        Self::Dense,
        Self::Shadows,
        Self::Loss,
        Self::Bursts,
        Self::Wifi,
        Self::Clocks,
        Self::Mobility,
        Self::SingleLoss,
        Self::JointLoss,
        Self::Partition,
        Self::Churn,
        Self::Flash,
        Self::Drift,
        Self::CorruptFrames,
        Self::CorruptState,
        Self::Attack,
        Self::Noise,
        Self::Long,
        Self::Lies,
        Self::SlowRadio,
        Self::Readings,
        Self::Levels,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Strewn => "strewn order",
            Self::Walls => "walls",
            Self::Dense => "dense",
            Self::Shadows => "shadows",
            Self::Loss => "loss",
            Self::Bursts => "bursts",
            Self::Wifi => "wifi",
            Self::Clocks => "clocks",
            Self::Mobility => "mobility",
            Self::SingleLoss => "single power loss",
            Self::JointLoss => "joint power loss",
            Self::Partition => "partition",
            Self::Churn => "churn",
            Self::Flash => "flash",
            Self::Drift => "drift",
            Self::CorruptFrames => "corrupt frames",
            Self::CorruptState => "corrupt state",
            Self::Attack => "attack",
            Self::Noise => "noise",
            Self::Long => "long",
            Self::Lies => "lies",
            Self::SlowRadio => "slow radio",
            Self::Readings => "readings",
            Self::Levels => "levels",
        }
    }
}

/// A position in decimetres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub x_dm: i64,
    pub y_dm: i64,
}

/// A straight wall, by its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    pub start: Position,
    pub end: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Air {
    pub model: &'static str,
    pub loss_percent: u64,
    pub bursts: Option<Fades>,
    pub wifi: Option<NextDoor>,
    pub drift_ppm: u64,
    pub wake_jitter_us: u64,
    pub is_slow: bool,
}

/// Links that break down for a while: the mean times of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fades {
    pub good_ms: u64,
    pub bad_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextDoor {
    pub at: Position,
    pub duty_percent: u64,
}

/// The first nodes measure, each this often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measuring {
    pub nodes: usize,
    pub every_ms: u64,
}

/// Nodes that walk to one random point of a square after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walking {
    pub side_m: u64,
    pub until_ms: u64,
}

/// Whom a blow strikes: some nodes, or those that a word means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Nodes(Vec<NodeIndex>),
    Leader,
    Random,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blow {
    Crash { who: Target, flash: &'static str },
    Churn { every_ms: u64, off_ms: u64 },
    Partition { nodes: Vec<NodeIndex> },
    Drift { nodes: Vec<NodeIndex>, ppm: i64 },
    CorruptFrames { percent: u64 },
    CorruptState { who: Target },
    Lie { who: Target },
    Attack { at: Position, interval_ms: u64 },
    Noise { at: Position, dbm: i64 },
}

/// Something that befalls the network, and how long it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub at_ms: u64,
    pub for_ms: u64,
    pub blow: Blow,
}

impl Event {
    pub fn ends_ms(&self) -> u64 {
        let after = match self.blow {
            Blow::Churn { off_ms, .. } => off_ms,
            _ => 0,
        };
        self.at_ms + self.for_ms + after
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    pub seed: u64,
    pub features: BTreeSet<Feature>,
    pub algorithm: Algorithm,
    /// Where each node stands, in the order of their ids.
    pub positions: Vec<Position>,
    /// Walls that stand for the whole run.
    pub walls: Vec<Side>,
    pub air: Air,
    pub walking: Option<Walking>,
    pub measuring: Option<Measuring>,
    /// The radii of the hierarchy, where they are not the usual ones.
    pub radii: Vec<u64>,
    pub events: Vec<Event>,
    /// How long agreement may take; [`bound`](super::bound) has the rule.
    pub within_ms: u64,
    /// From the last change on, nothing happens for this long.
    pub quiet_ms: u64,
    /// Whether nobody may change its leader in that time, once agreement had its time to come.
    pub is_calm: bool,
}

impl Stranger {
    /// When the last change comes.
    pub fn last_change_ms(&self) -> u64 {
        let walked = self.walking.map_or(0, |walking| walking.until_ms);
        self.events.iter().map(Event::ends_ms).fold(walked, u64::max)
    }
}
