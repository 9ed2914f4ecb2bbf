//! Every algorithm on a workload of its own, to be timed.
//!
//! A run's inner loop is generic over the algorithm and is compiled here, in a package that is optimised in one piece, and not
//! with the benchmark.

use std::fmt;
use std::time::{Duration as WallTime, Instant as WallClock};

use crate::big_ring::random_uids;
use crate::graph::{Graph, Kind};
use crate::index::{Edge, NodeIndex};
use crate::ring;
use crate::workload::{Decoded, Encoded, Input, Outcome, Workload};
use common::coefficient::Coefficient;
use common::election::abraham::Abraham;
use common::election::bully::{Bully, BullyConfig};
use common::election::circle::RingConfig;
use common::election::frlle::{Frlle, FrlleConfig, FrlleRules};
use common::election::height::{HeightElection, HeightOptions};
use common::election::hierarchy::{Hierarchy, HierarchyOptions, Radii};
use common::election::hs::{Hs, HsRules};
use common::election::lcr::Lcr;
use common::election::modified_bully::ModifiedBully;
use common::election::ring::Ring;
use common::election::timer_based::TimerBased;
use common::election::{Algorithm, Election, ElectionConfig, Timing};
use common::engine::Engine;
use common::limits::NEIGHBOURS_MAX;
use common::members::RingOrder;
use common::protocol::Protocol;
use common::rng::Rng;
use common::time::Duration;
use common::types::NodeId;

const RING_NODES: u16 = 64;
const CLIQUE_NODES: usize = 32;
const RGG_NODES: usize = 60;

const HOP: Duration = Duration::from_millis(1);
const TIMING: Timing = Timing { hop: HOP, answer: Duration::from_millis(3), patience: Duration::from_millis(10_000) };

const RING: &str = "ring of 64, all start";
const CLIQUE: &str = "clique of 32, all start";
const RGG: &str = "60 scattered nodes, all links cut and restored";

/// How messages travel between the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// As they are.
    Decoded,
    /// Encoded and decoded again.
    Encoded,
}

/// One workload run to its end.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub time: WallTime,
    pub messages: u64,
}

/// The nodes of a workload did not end up with one leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAgreement {
    pub name: &'static str,
    pub workload: &'static str,
}

impl fmt::Display for NoAgreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: the nodes do not agree on a leader", self.name, self.workload)
    }
}

impl std::error::Error for NoAgreement {}

/// An algorithm to measure and the workload it is measured on.
pub struct Candidate {
    pub name: &'static str,
    pub workload: &'static str,
    run: Box<dyn Fn(Carry) -> Result<Sample, NoAgreement>>,
}

impl Candidate {
    fn new<P: Protocol + 'static, const PEERS: usize>(
        name: &'static str,
        description: &'static str,
        workload: Workload<P, PEERS>,
    ) -> Self {
        let run = move |carry| {
            let workload = workload.clone();
            let start = WallClock::now();
            let Outcome { engines, messages } = match carry {
                Carry::Decoded => workload.run::<Decoded<P>>(),
                Carry::Encoded => workload.run::<Encoded>(),
            };
            let time = start.elapsed();
            let leader = engines.first().and_then(|engine| engine.protocol().leader());
            let agree = leader.is_some() && engines.iter().all(|engine| engine.protocol().leader() == leader);
            if !agree {
                return Err(NoAgreement { name, workload: description });
            }
            Ok(Sample { time, messages })
        };
        Self { name, workload: description, run: Box::new(run) }
    }

    /// Runs the workload once. It fails if the nodes do not agree on a leader in the end.
    pub fn once(&self, carry: Carry) -> Result<Sample, NoAgreement> {
        (self.run)(carry)
    }
}

/// Every algorithm on its workload, HS first, and HS once more the way a board runs it.
pub fn candidates(seed: u64) -> Vec<Candidate> {
    let bully = BullyConfig { answer: TIMING.answer, take_over: HOP, announcement: TIMING.answer.times(4) };
    let mut coefficients = Rng::stream(seed, 0xC0EF);
    vec![
        Candidate::new(Algorithm::Hs.title(), RING, on_ring(seed, |spot| Hs::new(spot.id, spot.ring))),
        Candidate::new("HS inside Election", RING, on_ring(seed, |spot| spot.election(Algorithm::Hs))),
        Candidate::new(Algorithm::Height.title(), RGG, on_changing_graph(seed, height)),
        Candidate::new(Algorithm::Hierarchy.title(), RGG, on_changing_graph(seed, three_levels)),
        Candidate::new(
            Algorithm::Frlle.title(),
            RING,
            on_ring(seed, |spot| {
                let coefficient = Coefficient(u16::try_from(coefficients.below(10_000)).unwrap_or(0));
                let config = FrlleConfig { ring: spot.ring, hop: HOP, coefficient, rules: FrlleRules::Hardened };
                Frlle::new(spot.id, config, None)
            }),
        ),
        Candidate::new(Algorithm::Bully.title(), CLIQUE, on_clique(seed, || Bully::new(bully))),
        Candidate::new(
            Algorithm::Ring.title(),
            RING,
            on_ring(seed, |spot| Ring::new(spot.order.clone(), TIMING.patience)),
        ),
        Candidate::new(Algorithm::Lcr.title(), RING, on_ring(seed, |spot| Lcr::new(spot.ring))),
        Candidate::new(
            Algorithm::TimerBased.title(),
            RING,
            on_ring(seed, |spot| TimerBased::new(spot.ring, RING_NODES, HOP)),
        ),
        Candidate::new(Algorithm::ModifiedBully.title(), CLIQUE, on_clique(seed, || ModifiedBully::new(bully))),
        Candidate::new(Algorithm::Abraham.title(), RING, on_ring(seed, |spot| Abraham::new(spot.ring))),
    ]
}

/// What a protocol needs to set up one node of a ring.
struct Spot<'a> {
    id: NodeId,
    ring: RingConfig,
    order: &'a RingOrder,
}

impl Spot<'_> {
    fn election(&self, algorithm: Algorithm) -> Election {
        let config = ElectionConfig {
            algorithm,
            order: self.order.clone(),
            place: self.ring.place,
            coefficient: Coefficient::default(),
            hs: HsRules::Published,
            height: HeightOptions::default(),
            radii: Radii::default(),
            timing: TIMING,
        };
        Election::new(self.id, config)
    }
}

/// A ring in random order on which every node starts.
fn on_ring<P: Protocol>(seed: u64, mut protocol: impl FnMut(Spot<'_>) -> P) -> Workload<P, NEIGHBOURS_MAX> {
    let members: Vec<NodeId> = random_uids(u32::from(RING_NODES), seed).into_iter().map(node_id).collect();
    let order = RingOrder::new(&members).expect("a random order of distinct ids is a ring");
    let nodes = NodeIndex::first(members.len());
    let mut engines: Vec<Engine<P, NEIGHBOURS_MAX>> = nodes
        .clone()
        .map(|at| {
            let place = ring::place(&members, at);
            let ring = RingConfig { place, patience: TIMING.patience };
            let engine = Engine::new(members[at], seed, protocol(Spot { id: members[at], ring, order: &order }));
            linked(engine, [place.left, place.right])
        })
        .collect();
    engines.sort_by_key(Engine::id);
    Workload::new(engines, vec![nodes.map(Input::Start).collect()])
}

/// Every node is linked to every other and starts.
fn on_clique<P: Protocol>(seed: u64, protocol: impl Fn() -> P) -> Workload<P, CLIQUE_NODES> {
    let members: Vec<NodeId> = (0..).take(CLIQUE_NODES).map(NodeId).collect();
    let others = |id: NodeId| members.iter().copied().filter(move |&other| other != id);
    let engines = members.iter().map(|&id| linked(Engine::new(id, seed, protocol()), others(id))).collect();
    Workload::new(engines, vec![NodeIndex::first(CLIQUE_NODES).map(Input::Start).collect()])
}

/// A random geometric graph with a leader, whose links are then cut one after another until every node is alone, and
/// restored in the same way.
fn on_changing_graph<P: Protocol>(seed: u64, protocol: impl Fn(NodeId) -> P) -> Workload<P, NEIGHBOURS_MAX> {
    let graph = sparse_graph(seed);
    // A workload finds its nodes by id.
    let engines = (0..).map(NodeId).take(graph.len()).map(|id| Engine::new(id, seed, protocol(id)));
    let up = |edge: Edge| edge.directions().map(Input::Up).to_vec();
    let down = |edge: Edge| edge.directions().map(Input::Down).to_vec();
    let forming = graph.edges().map(up).collect();
    let changes = graph.edges().map(down).chain(graph.edges().map(up)).collect();
    Workload::new(engines.collect(), forming).then::<Decoded<P>>(changes)
}

fn height(id: NodeId) -> HeightElection {
    HeightElection::new(id, HeightOptions::default())
}

fn three_levels(id: NodeId) -> Hierarchy {
    let radii = Radii::new(&[1, 2, 4]).expect("three levels with radii in range");
    Hierarchy::new(id, HierarchyOptions { radii, ..HierarchyOptions::default() })
}

/// The first random geometric graph in which no node has more neighbours than a board keeps.
fn sparse_graph(seed: u64) -> Graph {
    (0..1_000)
        .map(|attempt| Graph::new(Kind::Rgg, RGG_NODES, seed.wrapping_add(attempt)))
        .find(|graph| {
            let degree = |node: NodeIndex| graph.edges().filter(|edge| edge.touches(node)).count();
            graph.nodes().all(|node| degree(node) <= NEIGHBOURS_MAX)
        })
        .expect("among a thousand graphs one is sparse")
}

fn linked<P: Protocol, const PEERS: usize>(
    engine: Engine<P, PEERS>,
    peers: impl IntoIterator<Item = NodeId>,
) -> Engine<P, PEERS> {
    peers.into_iter().fold(engine, |engine, peer| engine.with_peer(peer).expect("workloads keep within the peer table"))
}

fn node_id(uid: u32) -> NodeId {
    NodeId(u16::try_from(uid).expect("workloads have fewer nodes than there are ids"))
}
