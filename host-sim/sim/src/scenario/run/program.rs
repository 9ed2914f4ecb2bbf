//! What runs on the nodes of a scenario.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use common::config::{Boot, Config, ConfigError, NetworkKey, Protection};
use common::data::Counters;
use common::election::Election;
use common::election::hierarchy::{HierarchyOptions, Radii};
use common::host_link::ToHost;
use common::limits::LEVELS_MAX;
use common::mac::phy::FRAME_MAX;
use common::members::RingOrder;
use common::names::{Algorithm, Cipher};
use common::protocol::Signal;
use common::rng::Rng;
use common::time::Instant;
use common::types::NodeId;

use crate::air::flash::{Desk, SharedFlash};
use crate::air::index::NodeIndex;
use crate::air::node_station::{KeptOrders, NodeStation};
use crate::air::soft_state::{SoftState, SoftStateOptions, Tally};
use crate::air::station::{Room, Sent, Station, Transmit};
use crate::air::trace::Leads;
use crate::scenario::input::plan::{Flash, ProgramKind, ProtocolPlan, Scenario};
use crate::scenario::judge::checker::View;
use crate::scenario::judge::components::Admission;
use crate::scenario::run::collection::Collection;
use crate::scenario::run::drive::id_of;
use crate::scenario::run::mirror::Mirror;

/// The network of every scenario.
const PAN: u16 = 0x524C;

/// Peers of the plain broadcasts come up from this far above the noise on.
const ADMISSION_DB: f64 = 5.5;

/// A node's program in one of its lives.
#[derive(Clone, Debug)]
pub enum Program {
    /// The whole node: what runs on boards.
    Node(Box<NodeStation>),
    /// The hierarchy over plain broadcasts.
    Soft(Box<SoftState>),
    /// An emulated board, as far as it tells.
    Board(Box<Mirror>),
}

/// What is the same for all lives of all nodes.
#[derive(Clone, Debug)]
pub struct Programs {
    plan: ProtocolPlan,
    nodes: u16,
    noise_dbm: f64,
    channel: u8,
    collection: Option<Collection>,
    /// What nodes keep of orders.
    kept: BTreeMap<NodeId, KeptOrders>,
    /// Whose flash cannot be written in this life.
    failing: BTreeSet<NodeId>,
}

impl Programs {
    /// Which links the programs take up.
    pub fn admission(&self) -> Admission {
        match self.plan.program {
            ProgramKind::Node(_) => Admission::LINKS,
            ProgramKind::SoftState => Admission::ANY,
        }
    }

    /// The programs of this many nodes.
    fn new(plan: &ProtocolPlan, nodes: u16, noise_dbm: f64, channel: u8) -> Self {
        let kept = (1..=nodes).map(|id| (NodeId(id), KeptOrders::default())).collect();
        Self { plan: plan.clone(), nodes, noise_dbm, channel, collection: None, kept, failing: BTreeSet::new() }
    }

    pub fn of(scenario: &Scenario) -> Self {
        let nodes = u16::try_from(scenario.topology.nodes()).unwrap_or(u16::MAX);
        // The noise floor is the same with every seed.
        let noise_dbm = scenario.radio.propagation(0).noise_dbm;
        let collection = scenario.collect.as_ref().map(|plan| Collection::new(plan, usize::from(nodes)));
        Self { collection, ..Self::new(&scenario.protocol, nodes, noise_dbm, scenario.radio.channel) }
    }

    /// What leaders log counts only once this desk has it.
    pub fn attach(&self, desk: &Desk) {
        if let Some(collection) = &self.collection {
            collection.attach(desk);
        }
    }

    /// A node's driver boots and finds its flash like this.
    pub fn boot_flash(&mut self, node: NodeIndex, flash: Flash) {
        if let Some(collection) = &mut self.collection {
            collection.boot(node, flash);
        }
        let id = id_of(node);
        if let Some(kept) = self.kept.get(&id).filter(|_| flash == Flash::Erased) {
            kept.borrow_mut().clear();
        }
        if flash == Flash::Failing {
            self.failing.insert(id)
        } else {
            self.failing.remove(&id)
        };
    }

    /// Holds every node's configuration against what the core accepts.
    pub fn check(&self) -> Result<(), ConfigError> {
        let ProtocolPlan { program, cipher, radii } = &self.plan;
        let ProgramKind::Node(algorithm) = *program else { return Ok(()) };
        (1..=self.nodes).try_for_each(|id| self.config(NodeId(id), algorithm, *cipher, radii).check())
    }

    /// One life of a node. `epoch` is what its driver has stored for it; none if that failed.
    ///
    /// # Panics
    ///
    /// If [`Self::check`] would fail, which the reader of a scenario calls first.
    pub fn program(&self, id: NodeId, epoch: Option<u16>, seed: u64) -> Program {
        let ProtocolPlan { program, cipher, radii } = &self.plan;
        match *program {
            ProgramKind::SoftState => {
                let hierarchy =
                    HierarchyOptions { radii: Radii::new(radii).unwrap_or_default(), ..HierarchyOptions::default() };
                let options = SoftStateOptions { hierarchy, least_rssi_dbm: self.noise_dbm + ADMISSION_DB };
                Program::Soft(Box::new(SoftState::new(id, options, seed)))
            }
            ProgramKind::Node(algorithm) => {
                let config = self.config(id, algorithm, *cipher, radii);
                // Each node and life has randomness of its own, as the boards' generators have.
                let boot = Boot { epoch, seed: Rng::stream(seed, u64::from(id.0)).next_u64(), device: id.0 };
                let station = NodeStation::new(&config, boot).expect("the scenario's reader has checked this");
                let kept = self.kept.get(&id).map(|kept| {
                    // What a failing flash holds can still be read.
                    if self.failing.contains(&id) { Rc::new(RefCell::new(kept.borrow().clone())) } else { kept.clone() }
                });
                let station = station.keeping(kept.unwrap_or_default());
                Program::Node(Box::new(match &self.collection {
                    Some(collection) => station.collecting(collection.collector(id, boot.seed)),
                    None => station,
                }))
            }
        }
    }

    /// The configuration of a node that is a board; none if no board runs such a program.
    pub fn board_config(&self, id: NodeId, channel: u8, power_dbm: i8) -> Option<Config> {
        let ProtocolPlan { program, cipher, radii } = &self.plan;
        let ProgramKind::Node(algorithm) = *program else { return None };
        Some(Config { channel, power_dbm, ..self.config(id, algorithm, *cipher, radii) })
    }

    fn config(&self, id: NodeId, algorithm: Algorithm, cipher: Cipher, radii: &[u8]) -> Config {
        let key = NetworkKey::new(*b"a scenario's key");
        let protection = Protection::new(cipher, key);
        let mut config = Config { algorithm, channel: self.channel, ..Config::ad_hoc(id, PAN, protection) };
        if algorithm.needs_ring() {
            let order: Vec<NodeId> = (1..=self.nodes).map(NodeId).collect();
            config.ring = RingOrder::new(&order).ok();
        }
        if algorithm == Algorithm::Hierarchy {
            for (level, radius) in config.radii.iter_mut().zip(radii).take(LEVELS_MAX) {
                *level = *radius;
            }
        }
        config
    }
}

impl Program {
    /// What its driver has stored and logged, where it gathers anything.
    pub fn flash(&self) -> Option<&SharedFlash> {
        match self {
            Self::Node(station) => station.flash(),
            Self::Soft(_) | Self::Board(_) => None,
        }
    }

    /// What its collection has counted in this life.
    pub fn data_counters(&self) -> Option<Counters> {
        match self {
            Self::Node(station) => Some(station.node().data().counters()),
            Self::Soft(_) | Self::Board(_) => None,
        }
    }

    pub fn leader(&self) -> Option<NodeId> {
        match self {
            Self::Node(station) => station.node().leader(),
            Self::Soft(station) => Some(station.leader()),
            Self::Board(board) => board.leader(),
        }
    }

    /// Whether its link to another node is up.
    pub fn is_linked(&self, peer: NodeId) -> bool {
        match self {
            Self::Node(station) => station.node().links().table().is_linked(peer),
            Self::Soft(station) => station.peers().contains(&peer),
            Self::Board(board) => board.is_linked(peer),
        }
    }

    /// Whether it has no link at all and hears another node, so that it may go by what that one says.
    pub fn goes_by(&self, peer: NodeId) -> bool {
        match self {
            Self::Node(station) => {
                let table = station.node().links().table();
                table.links() == 0 && table.find(peer).is_some()
            }
            Self::Soft(_) | Self::Board(_) => false,
        }
    }

    /// Whom it has links to.
    pub fn links(&self) -> Vec<NodeId> {
        let mut links: Vec<NodeId> = match self {
            Self::Node(station) => station.node().links().table().linked().map(|(_, other)| other.id).collect(),
            Self::Soft(station) => station.peers().to_vec(),
            Self::Board(board) => board.links().collect(),
        };
        links.sort_unstable();
        links
    }

    /// The next node on the way to its leader, for programs that keep such a way.
    pub fn parent(&self) -> Option<NodeId> {
        match self {
            Self::Node(station) => match station.node().election() {
                Election::Hierarchy(node) => node.next_hop(),
                Election::Height(node) => node.next_hop(),
                _ => None,
            },
            Self::Soft(station) => station.hierarchy().next_hop(),
            Self::Board(_) => None,
        }
    }

    /// Whether it only listens, because its driver could not store its epoch.
    pub fn is_mute(&self) -> bool {
        match self {
            Self::Node(station) => station.node().links().epoch().is_none(),
            Self::Soft(_) => false,
            Self::Board(board) => board.is_mute(),
        }
    }

    pub fn tally(&self) -> Tally {
        match self {
            Self::Node(station) => station.tally(),
            Self::Soft(station) => station.tally(),
            Self::Board(board) => board.tally(),
        }
    }

    pub fn view(&self) -> View {
        let faults = match self {
            Self::Node(station) => station.faults(),
            Self::Soft(station) => station.tally().faults,
            Self::Board(board) => board.tally().faults,
        };
        let opaque = |id| View { id, time: 0, leader: None, is_alone: false, records: Default::default(), faults };
        let (height, time, records) = match self {
            Self::Soft(station) => {
                let node = station.hierarchy();
                (node.height(), node.time(), *node.records())
            }
            Self::Node(station) => match station.node().election() {
                Election::Hierarchy(node) => (node.height(), node.time(), *node.records()),
                Election::Height(node) => (node.height(), node.time(), Default::default()),
                _ => return opaque(station.node().id()),
            },
            Self::Board(board) => return opaque(board.id()),
        };
        let is_alone = matches!(self, Self::Node(station) if station.node().is_alone());
        View { id: height.id, time, leader: Some(height.leader), is_alone, records, faults }
    }

    /// A board has said something; true if that may matter to anybody.
    pub fn hear(&mut self, message: &ToHost) -> bool {
        match self {
            Self::Board(board) => board.hear(message),
            Self::Node(_) | Self::Soft(_) => false,
        }
    }

    /// Its driver has stored an epoch after all.
    pub fn handle_epoch(&mut self, now: Instant, epoch: u16) {
        if let Self::Node(station) = self {
            station.handle_epoch(now, epoch);
        }
    }

    /// Something else happened to it; only whole nodes have any use for that.
    pub fn handle_signal(&mut self, now: Instant, signal: Signal) {
        if let Self::Node(station) = self {
            station.handle_signal(now, signal);
        }
    }

    /// Its memory goes wrong; only that of whole nodes does.
    pub fn corrupt(&mut self, now: Instant, rng: &mut Rng, other: &Self) {
        if let (Self::Node(station), Self::Node(other)) = (self, other) {
            station.corrupt(now, rng, other);
        }
    }

    /// Tells the node something from outside.
    pub fn signal(&mut self, now: Instant, signal: Signal) {
        if let Self::Node(station) = self {
            station.signal(now, signal);
        }
    }

    fn station(&mut self) -> &mut dyn Station {
        match self {
            Self::Node(station) => &mut **station,
            Self::Soft(station) => &mut **station,
            Self::Board(board) => &mut **board,
        }
    }
}

impl Station for Program {
    fn handle_start(&mut self, now: Instant) {
        self.station().handle_start(now);
    }

    fn handle_frame(&mut self, now: Instant, psdu: &[u8], rssi_dbm: f64) {
        self.station().handle_frame(now, psdu, rssi_dbm);
    }

    fn handle_sent(&mut self, now: Instant, sent: Sent) {
        self.station().handle_sent(now, sent);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.station().handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant, room: Room, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        self.station().poll_transmit(now, room, buf)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Node(station) => station.poll_timeout(),
            Self::Soft(station) => station.poll_timeout(),
            Self::Board(board) => board.poll_timeout(),
        }
    }

    fn quiet_until(&self) -> Instant {
        match self {
            Self::Node(station) => station.quiet_until(),
            Self::Soft(station) => station.quiet_until(),
            Self::Board(board) => board.quiet_until(),
        }
    }
}

impl Leads for Program {
    fn leader(&self) -> Option<NodeId> {
        self.leader()
    }
}
