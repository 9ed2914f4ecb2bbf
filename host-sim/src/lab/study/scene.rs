//! The initial state of a run: a graph, the ids of its nodes, and the leader (Tbarka 2019, section 3.3).

use anyhow::{Context, ensure};
use common::causal_clock::ClockKind;
use common::election::height::{HeightElection, HeightOptions, HeightRules};
use common::election::height_tuple::Height;
use common::rng::Rng;
use common::types::NodeId;
use ideal::graph::{Graph, Kind};
use ideal::index::{Edge, NodeIndex};
use ideal::net::Net;
use ideal::shuffle::shuffled_ids;

use super::{below, stream};

/// Links a node has room for: as many as the widest engine.
pub const LINKS_MAX: usize = 128;

/// The network that is measured.
pub type StudyNet = Net<HeightElection<LINKS_MAX>, LINKS_MAX>;

/// A connected graph, the ids of its nodes and a leader that all follow.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Who can hear whom.
    pub graph: Graph,
    pub ids: Vec<NodeId>,
    pub leader: NodeIndex,
}

impl Scene {
    /// A random scene: ids `1..=nodes` in random order, and a random leader.
    pub fn random(kind: Kind, nodes: usize, seed: u64) -> anyhow::Result<Self> {
        let graph = Graph::new(kind, nodes, seed);
        let count = u16::try_from(nodes).context("ids have 16 bits")?;
        let ids = shuffled_ids(count, &mut Rng::stream(seed, stream::IDS));
        let leader = NodeIndex(below(&mut Rng::stream(seed, stream::LEADER), nodes));
        let scene = Self { graph, ids, leader };
        let busiest = scene.graph.neighbours().iter().map(Vec::len).max().unwrap_or(0);
        ensure!(busiest <= LINKS_MAX, "a node of this graph has {busiest} links; the maximum is {LINKS_MAX}");
        Ok(scene)
    }

    /// Every node's height in the initial state: its distance from the leader.
    ///
    /// # Panics
    /// When the graph is not connected, or wider than a height can count.
    pub fn heights(&self) -> Vec<Height> {
        let leader = self.ids[self.leader];
        let hops = self.graph.distances(self.leader);
        let height = |(&id, hops): (&NodeId, &Option<usize>)| {
            let hops = hops.and_then(|hops| i16::try_from(hops).ok());
            Height::initial(id, leader, hops.expect("a connected graph of fewer than 2^15 hops"))
        };
        self.ids.iter().zip(&hops).map(height).collect()
    }

    /// The network in its initial state: links up, views exact, nothing in flight, clocks at zero.
    ///
    /// # Panics
    /// When a node has more than [`LINKS_MAX`] links.
    pub fn net(&self, clock: ClockKind, rules: HeightRules) -> StudyNet {
        let heights = self.heights();
        let mut net = Net::default();
        for (&height, neighbours) in heights.iter().zip(self.graph.neighbours()) {
            let mut node = HeightElection::with_height(height, HeightOptions { clock, rules });
            for neighbour in neighbours {
                node = node.with_neighbour(heights[neighbour]).expect("a node has too many links");
            }
            net.add(height.id, 0, node);
        }
        self.graph.edges().for_each(|Edge { u, v }| net.join(u, v));
        net.start_all();
        net
    }
}
