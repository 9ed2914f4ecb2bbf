//! What a scenario says, in metres, microseconds and decibels.

use std::collections::{BTreeMap, BTreeSet};

use common::config::POWERS_DBM;
use common::names::{Algorithm, Cipher};
use common::rng::Rng;

use crate::air::index::NodeIndex;
use crate::air::medium::{Bursts, Rules};
use crate::air::propagation::{Point, Propagation, Spreading, Wall};
use crate::air::timing::RadioTiming;
pub use crate::scenario::input::topology::Topology;

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub name: String,
    /// What it is about, in a line.
    pub summary: String,
    /// The root seed, unless another is given.
    pub seed: u64,
    pub duration_us: u64,
    pub topology: Topology,
    /// The radios and the air between them.
    pub radio: RadioPlan,
    /// What differs from node to node; by index.
    pub nodes: BTreeMap<NodeIndex, NodePlan>,
    pub protocol: ProtocolPlan,
    pub mobility: Option<Mobility>,
    pub faults: Vec<Fault>,
    /// After the last change there must be agreement within this time.
    pub within_us: u64,
    /// How steady leaders must be.
    pub steady: Option<Steady>,
}

/// From some time on no node may change its leader more often than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    pub from_us: u64,
    /// The most that a node may make.
    pub changes_max: u64,
}

/// What is special about one node. What is not given is as everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodePlan {
    /// Whether it is an emulated board that runs the image, and not only the node of the simulator.
    pub is_board: bool,
    pub at: Option<Point>,
    pub channel: Option<u8>,
    pub tx_dbm: Option<f64>,
    /// By how many millionths its clock runs fast.
    pub drift_ppm: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// The whole node, with this algorithm.
    Node(Algorithm),
    /// The hierarchy over plain broadcasts.
    SoftState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolPlan {
    pub program: ProgramKind,
    /// How its frames are protected.
    pub cipher: Cipher,
    /// Radii of the hierarchy, level 1 first.
    pub radii: Vec<u8>,
}

impl Default for ProtocolPlan {
    fn default() -> Self {
        Self { program: ProgramKind::Node(Algorithm::Hierarchy), cipher: Cipher::Ascon, radii: vec![2] }
    }
}

/// A transmit power as a board has it; none where it has no such power.
pub fn board_power(tx_dbm: f64) -> Option<i8> {
    POWERS_DBM.into_iter().find(|&power| (f64::from(power) - tx_dbm).abs() < 1e-9)
}

/// A number from 0 up to 1.
pub fn unit(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    Plain,
    /// With shadowing, asymmetry and jitter.
    Usual,
    /// The same with much more loss.
    Harsh,
    Disc(f64),
    /// Measured losses in dB from one node, by index, to another.
    Table(BTreeMap<(NodeIndex, NodeIndex), f64>),
}

/// The radios and the air between them.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioPlan {
    pub model: Model,
    /// The path-loss exponent, where it is not the model's.
    pub exponent: Option<f64>,
    /// The noise at every receiver, where it is not the model's.
    pub noise_dbm: Option<f64>,
    /// Links that break down for a while.
    pub bursts: Option<Bursts>,
    pub wifi: Option<Wifi>,
    /// The share of receptions that is lost besides.
    pub loss: f64,
    /// How long the radio and its driver take for things.
    pub timing: RadioTiming,
    pub channel: u8,
    pub tx_dbm: f64,
    /// Clocks run fast or slow by up to this many millionths.
    pub drift_ppm: u32,
    /// How late nodes wake on average; each time by half to one and a half times as much.
    pub wake_jitter_us: u32,
    /// What a look at the channel finds.
    pub cca: Cca,
}

/// What a clear channel assessment finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cca {
    /// Power and carriers: how the firmware sets its radio.
    Both,
    Energy,
    Carrier,
    /// Nothing: embassy's driver asks for carriers and sets the number of symbols that must agree to none, which disables
    /// the correlator.
    Blind,
}

impl Cca {
    pub fn rules(self) -> Rules {
        let carrier_sense = matches!(self, Self::Both | Self::Carrier);
        let cca_dbm = if matches!(self, Self::Both | Self::Energy) { Rules::USUAL.cca_dbm } else { f64::INFINITY };
        Rules { cca_dbm, carrier_sense, ..Rules::USUAL }
    }
}

impl RadioPlan {
    /// The model with its settings.
    pub fn propagation(&self, seed: u64) -> Propagation {
        let mut air = match &self.model {
            Model::Plain => Propagation::plain(seed),
            Model::Usual => Propagation::usual(seed),
            Model::Harsh => Propagation::harsh(seed),
            Model::Disc(reach) => {
                Propagation { spreading: Spreading::Disc { reach: *reach }, ..Propagation::plain(seed) }
            }
            Model::Table(losses) => {
                Propagation { spreading: Spreading::Table(losses.clone()), ..Propagation::plain(seed) }
            }
        };
        if let (Some(own), Spreading::LogDistance { exponent, .. }) = (self.exponent, &mut air.spreading) {
            *exponent = own;
        }
        air.noise_dbm = self.noise_dbm.unwrap_or(air.noise_dbm);
        air
    }
}

/// Bursts of noise from one point, all the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wifi {
    pub at: Point,
    /// How strong it is within the channel.
    pub power_dbm: f64,
    /// The share of the time that it sends.
    pub duty: f64,
    /// Mean length of a burst.
    pub burst_us: u64,
    /// Its channel, where it is not that of the nodes.
    pub channel: Option<u8>,
}

/// How nodes move, until they stop.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// To one random point after another.
    Random(Wander),
    /// As listed: for each node that moves, times in microseconds and where it is then, in order.
    Listed(BTreeMap<NodeIndex, Vec<(u64, Point)>>),
}

impl Mobility {
    /// When everybody stands still.
    pub fn until_us(&self) -> u64 {
        match self {
            Self::Random(wander) => wander.until_us,
            Self::Listed(ways) => ways.values().filter_map(|way| Some(way.last()?.0)).max().unwrap_or(0),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wander {
    /// The groups that move, where nodes do not move on their own.
    pub groups: Option<Groups>,
    /// Slowest and fastest, in metres per second.
    pub speed: (f64, f64),
    /// The side of the square in which they walk to random points.
    pub side: f64,
    pub until_us: u64,
}

/// Groups whose centres walk, while their members keep about the same position within their group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groups {
    pub count: usize,
    /// How far members stray from their positions, in metres.
    pub wander: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// These nodes, counted from 0.
    Nodes(Vec<NodeIndex>),
    /// Whoever most nodes follow.
    Leader,
    /// Anybody that is on.
    Random,
}

/// What a node finds in its flash when its power comes back. Its driver keeps the number of the boot there, and stores the
/// next one before the node may send.
///
/// The worse, the greater: where several things happen to one flash, the worst counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flash {
    Kept,
    /// Nothing: it counts its boots from one again.
    Erased,
    /// The write was torn, and its check failed; the driver tries again after a second, and then it works.
    Torn,
    /// Nothing can be written: the node only listens for all of this life.
    Failing,
}

/// What an attacker does with each of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trick {
    Random,
    /// A frame that it has heard, with bits flipped.
    Flip,
    /// The beginning of a frame that it has heard.
    Truncate,
    /// A frame that it has heard, as it was.
    Replay,
    /// A length byte of 0, 1, or more than 127.
    Length,
}

/// Somebody who sends what nobody asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Attack {
    pub position: Point,
    pub tx_dbm: f64,
    /// Its channel, where it is not that of the nodes.
    pub channel: Option<u8>,
    /// What it does, one of these by lot for each frame.
    pub tricks: Vec<Trick>,
    /// Mean time between two frames.
    pub interval_us: u64,
    pub lasts_us: u64,
}

/// What a fault is. One that lasts for no given time is there for good.
#[derive(Clone, Debug, PartialEq)]
pub enum Harm {
    /// Power is cut, and comes back after a while, if ever.
    Crash {
        who: Who,
        lasts_us: Option<u64>,
        flash: Flash,
    },
    /// Power comes back; the state is lost.
    Restart {
        who: Who,
        flash: Flash,
    },
    /// A wall goes up, and comes down after a while, if ever.
    Wall {
        wall: Wall,
        lasts_us: Option<u64>,
    },
    /// These nodes and all others do not hear each other.
    Partition {
        group: BTreeSet<NodeIndex>,
        lasts_us: Option<u64>,
    },
    /// Noise; on the nodes' channel, unless another is given.
    Jam {
        position: Point,
        power_dbm: f64,
        channel: Option<u8>,
        lasts_us: u64,
    },
    /// Clocks run fast by this many millionths, or slow.
    Drift {
        who: Who,
        ppm: i32,
        lasts_us: Option<u64>,
    },
    /// This share of the frames received has wrong bits and a right checksum.
    Corrupt {
        share: f64,
        lasts_us: Option<u64>,
    },
    Attack(Attack),
}

impl Harm {
    /// How long it lasts, where it ends by itself.
    pub fn lasts_us(&self) -> Option<u64> {
        match self {
            Self::Crash { lasts_us, .. }
            | Self::Wall { lasts_us, .. }
            | Self::Partition { lasts_us, .. }
            | Self::Drift { lasts_us, .. }
            | Self::Corrupt { lasts_us, .. } => *lasts_us,
            Self::Jam { lasts_us, .. } | Self::Attack(Attack { lasts_us, .. }) => Some(*lasts_us),
            Self::Restart { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Once {
        at_us: u64,
    },
    /// Again and again, after memoryless random times.
    Every {
        mean_us: u64,
        from_us: u64,
        until_us: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub when: When,
    pub harm: Harm,
}

impl Fault {
    /// When its last effect sets in.
    fn ends_us(&self) -> u64 {
        let begins_us = match self.when {
            When::Once { at_us } => at_us,
            When::Every { until_us, .. } => until_us,
        };
        begins_us + self.harm.lasts_us().unwrap_or(0)
    }
}

impl Scenario {
    /// Whether any node is to be a board.
    pub fn has_boards(&self) -> bool {
        self.nodes.values().any(|node| node.is_board)
    }

    /// Why a node cannot be a board, if it cannot.
    pub fn not_a_board(&self, node: NodeIndex) -> Option<String> {
        if self.protocol.program == ProgramKind::SoftState {
            return Some("a board runs whole nodes, not kind = \"soft-state\"".to_owned());
        }
        if let ProgramKind::Node(algorithm) = self.protocol.program
            && algorithm.is_comparison()
        {
            return Some(format!("kind = \"{algorithm}\" is for comparison on a PC, and images leave it out"));
        }
        let tx_dbm = self.nodes.get(&node).and_then(|plan| plan.tx_dbm).unwrap_or(self.radio.tx_dbm);
        if board_power(tx_dbm).is_none() {
            let powers: Vec<String> = POWERS_DBM.iter().map(i8::to_string).collect();
            return Some(format!("a board cannot send with {tx_dbm} dBm, only with {} dBm", powers.join(", ")));
        }
        None
    }

    /// When the last change may come.
    pub fn last_change_us(&self) -> u64 {
        let moves = self.mobility.as_ref().map_or(0, Mobility::until_us);
        self.faults.iter().map(Fault::ends_us).fold(moves, u64::max)
    }
}
