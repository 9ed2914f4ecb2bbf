//! A scenario after reading, in metres, microseconds and decibels.

use std::collections::BTreeMap;

use common::coefficient::{Load, Share};
use common::config::POWERS_DBM;
use common::names::{Algorithm, Cipher};
use common::rng::Rng;

use crate::air::index::NodeIndex;
use crate::air::medium::{Bursts, Rules};
use crate::air::propagation::{Point, Propagation, Spreading};
use crate::air::timing::RadioTiming;
pub use crate::scenario::input::collect_plan::CollectPlan;
use crate::scenario::input::commands::CommandPlan;
pub use crate::scenario::input::fault_plan::{Attack, Fault, FaultIndex, Flash, Harm, Trick, When, Who};
use crate::scenario::input::link_table::LinkTable;
pub use crate::scenario::input::topology::Topology;
use crate::scenario::judge::checker::HOLD_US;

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub name: String,
    /// A one-line description.
    pub summary: String,
    /// The root seed, unless the caller gives another.
    pub seed: u64,
    pub duration_us: u64,
    pub topology: Topology,
    pub radio: RadioPlan,
    /// How single nodes differ from the rest, by index.
    pub nodes: BTreeMap<NodeIndex, NodePlan>,
    pub protocol: ProtocolPlan,
    pub mobility: Option<Mobility>,
    pub faults: Vec<Fault>,
    /// What nodes measure of themselves, in the order of the file. If it is empty, no node measures.
    pub loads: Vec<LoadPlan>,
    /// What nodes measure and gather, if anything.
    pub collect: Option<CollectPlan>,
    pub commands: Vec<CommandPlan>,
    /// Whether and when somebody asks all nodes for their state.
    pub fleet: Option<FleetPlan>,
    /// The nodes must agree within this time after every change.
    pub within_us: u64,
    /// Who must lead its component at the end, if the scenario asks for it.
    pub leader: Option<NodeIndex>,
    /// How stable leadership must be, if the scenario asks for it.
    pub steady: Option<Steady>,
}

/// `[fleet]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetPlan {
    pub every_us: u64,
    pub from_us: u64,
    /// Who asks; one that leads where nobody is named.
    pub node: Option<NodeIndex>,
}

/// From some time on, no node may change its leader more often than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    pub from_us: u64,
    /// The most changes that one node may make.
    pub changes_max: u64,
}

/// How one node differs from the others. Whatever is absent is the same as everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodePlan {
    /// Whether it is an emulated board that runs the firmware image, rather than the simulator's own node.
    pub is_board: bool,
    pub at: Option<Point>,
    pub channel: Option<u8>,
    pub tx_dbm: Option<f64>,
    /// How fast its clock runs, in parts per million.
    pub drift_ppm: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// The complete node, with this algorithm.
    Node(Algorithm),
    /// The hierarchy over plain broadcasts, without the link layer.
    SoftState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolPlan {
    pub program: ProgramKind,
    /// How frames are protected.
    pub cipher: Cipher,
    /// The radii of the hierarchy, level 1 first.
    pub radii: Vec<u8>,
}

impl Default for ProtocolPlan {
    fn default() -> Self {
        Self { program: ProgramKind::Node(Algorithm::Hierarchy), cipher: Cipher::Ascon, radii: vec![2] }
    }
}

/// The transmit power as a board's setting; `None` if boards have no such power.
pub fn board_power(tx_dbm: f64) -> Option<i8> {
    POWERS_DBM.into_iter().find(|&power| (f64::from(power) - tx_dbm).abs() < 1e-9)
}

/// A random number from 0 up to, but not including, 1.
pub fn unit(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    Plain,
    /// Log-distance path loss with shadowing, asymmetry and jitter.
    Usual,
    /// The same, with much more loss.
    Harsh,
    Disc(f64),
    /// Measured losses from one node to another.
    Table(LinkTable),
}

#[derive(Clone, Debug, PartialEq)]
pub struct RadioPlan {
    pub model: Model,
    /// The path-loss exponent, if it differs from the model's.
    pub exponent: Option<f64>,
    /// The noise at every receiver, if it differs from the model's.
    pub noise_dbm: Option<f64>,
    /// The deviation of the power from frame to frame in dB, if it differs from the model's.
    pub jitter_db: Option<f64>,
    /// Links that fade for a while.
    pub bursts: Option<Bursts>,
    pub wifi: Option<Wifi>,
    /// The share of receptions that is lost in addition.
    pub loss: f64,
    /// How long the radio and its driver take.
    pub timing: RadioTiming,
    pub channel: u8,
    pub tx_dbm: f64,
    /// Each clock runs fast or slow by up to this many parts per million.
    pub drift_ppm: u32,
    /// How late nodes wake up on average. Each delay is between half and one and a half times as long.
    pub wake_jitter_us: u32,
    pub cca: Cca,
}

/// What a clear channel assessment detects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cca {
    /// Energy and carriers, which is how the firmware configures its radio.
    Both,
    Energy,
    Carrier,
    /// Nothing. Embassy's driver asks for carrier detection, but requires zero matching symbols, which disables the
    /// correlator.
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
    /// The propagation model with this plan's settings.
    pub fn propagation(&self, seed: u64) -> Propagation {
        let mut air = match &self.model {
            Model::Plain => Propagation::plain(seed),
            Model::Usual => Propagation::usual(seed),
            Model::Harsh => Propagation::harsh(seed),
            Model::Disc(reach) => {
                Propagation { spreading: Spreading::Disc { reach: *reach }, ..Propagation::plain(seed) }
            }
            Model::Table(table) => {
                Propagation { spreading: Spreading::Table(table.losses.clone()), ..Propagation::plain(seed) }
            }
        };
        if let (Some(own), Spreading::LogDistance { exponent, .. }) = (self.exponent, &mut air.spreading) {
            *exponent = own;
        }
        air.noise_dbm = self.noise_dbm.unwrap_or(air.noise_dbm);
        air.jitter_db = self.jitter_db.unwrap_or(air.jitter_db);
        air
    }
}

/// A source that emits bursts of noise from one point throughout the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wifi {
    pub at: Point,
    /// The power within the channel.
    pub power_dbm: f64,
    /// The share of the time during which it sends.
    pub duty: f64,
    /// The mean length of a burst.
    pub burst_us: u64,
    /// Its channel, if it differs from the nodes'.
    pub channel: Option<u8>,
}

/// How nodes move until they stop.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// Each walks to one random point after another.
    Random(Wander),
    /// The way of each node that moves, in the order of time.
    Listed(BTreeMap<NodeIndex, Vec<Waypoint>>),
}

impl Mobility {
    /// The time from which all nodes stand still.
    pub fn until_us(&self) -> u64 {
        match self {
            Self::Random(wander) => wander.until_us,
            Self::Listed(ways) => ways.values().filter_map(|way| Some(way.last()?.at_us)).max().unwrap_or(0),
        }
    }
}

/// Where a node is at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    pub at_us: u64,
    pub position: Point,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wander {
    /// The groups that move together; `None` if every node moves on its own.
    pub groups: Option<Groups>,
    pub speed: SpeedRange,
    /// The side of the square in which they walk.
    pub side: f64,
    pub until_us: u64,
}

/// The slowest and the fastest, in metres per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedRange {
    pub least: f64,
    pub most: f64,
}

/// Groups whose centres walk, while each member roughly keeps its position within the group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groups {
    pub count: usize,
    /// How far members stray from their positions, in metres.
    pub wander: f64,
}

/// A load plan of the scenario, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadIndex(pub usize);

/// How loaded nodes are from some time on, and how likely they are to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadPlan {
    pub at_us: u64,
    pub who: Who,
    pub load: Load,
    /// The probability that a node fails within an hour.
    pub failure: Share,
}

impl LoadPlan {
    /// Nodes measure every five seconds, as boards do.
    pub const EVERY_US: u64 = 5_000_000;

    /// How long a node takes to notice all of a change: each reading counts a quarter, and less than a hundredth is none.
    const NOTICED_US: u64 = 8 * Self::EVERY_US;
}

impl Scenario {
    /// Whether any node is an emulated board.
    pub fn has_boards(&self) -> bool {
        self.nodes.values().any(|node| node.is_board)
    }

    /// The reason why a node cannot be a board; `None` if it can.
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

    /// How long a run must be, so that what comes of the last change can be judged.
    pub fn needed_us(&self) -> u64 {
        self.last_change_us() + self.within_us + HOLD_US
    }

    /// The latest time at which anything may still change.
    pub fn last_change_us(&self) -> u64 {
        let moves = self.mobility.as_ref().map_or(0, Mobility::until_us);
        let loads = self.loads.iter().map(|load| load.at_us + LoadPlan::NOTICED_US);
        self.faults.iter().map(Fault::ends_us).chain(loads).fold(moves, u64::max)
    }
}
