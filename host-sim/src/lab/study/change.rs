//! What happens to a network, and when each end of each link detects it.

use std::collections::{BTreeMap, BTreeSet};

use common::rng::Rng;
use ideal::graph::Graph;
use ideal::index::{Direction, Edge, NodeIndex};
use ideal::shuffle::shuffle;
use serde::Serialize;

use super::scene::Scene;
use super::{below, stream};

/// How many links [`Change::ThreeCuts`] cuts.
const CUTS: usize = 3;
/// [`Change::Churn`] turns half as many links as there are, and no fewer than this.
const TURNS_MIN: usize = 8;

/// What happens to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// All links of the leader go down.
    LeaderLost,
    /// One random link goes down.
    OneCut,
    /// A link goes down that was some node's last downhill path to the leader, or the leader's last link.
    LastWay,
    /// Three random links go down.
    ThreeCuts,
    /// Half of the nodes, those nearest to a random one, are cut off from the rest.
    Partition,
    /// The same partition heals after both sides have settled; only the healing is measured.
    Merge,
    /// The same partition heals while its elections are still running; both are measured.
    Flap,
    /// In short succession random links go down or come up again, half as many as there are.
    Churn,
}

impl Change {
    /// Every change, in the order of the report.
    pub const ALL: [Self; 8] = [
        Self::LeaderLost,
        Self::OneCut,
        Self::LastWay,
        Self::ThreeCuts,
        Self::Partition,
        Self::Merge,
        Self::Flap,
        Self::Churn,
    ];

    /// Its name in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeaderLost => "leader lost",
            Self::OneCut => "one cut",
            Self::LastWay => "last way cut",
            Self::ThreeCuts => "three cuts",
            Self::Partition => "partition",
            Self::Merge => "merge",
            Self::Flap => "flap",
            Self::Churn => "churn",
        }
    }

    /// What it means, in a sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::LeaderLost => "All links of the leader go down.",
            Self::OneCut => "A random link goes down.",
            Self::LastWay => {
                "A link goes down that was some node's last downhill path to the leader, or the leader's last link."
            }
            Self::ThreeCuts => "Three random links go down.",
            Self::Partition => "The half of the nodes nearest to a random one is cut off from the rest.",
            Self::Merge => {
                "The partition heals after every part has settled on a leader of its own; only the healing is counted."
            }
            Self::Flap => "The partition heals while the elections it caused are still running; everything is counted.",
            Self::Churn => {
                "Random links go down or come up in quick succession, half as many as there are (at least eight)."
            }
        }
    }

    /// Decides what happens to a scene, and when. The links are the same for both schedules; only the moments differ.
    pub fn plan(self, scene: &Scene, schedule: Schedule, seed: u64) -> Plan {
        let mut pick = Rng::stream(seed, stream::LINKS);
        let mut pace = Pace::new(scene, schedule, seed);
        let all: Vec<_> = scene.graph.edges().collect();
        let mut before = Vec::new();
        let flips = match self {
            Self::OneCut => pace.cut(&some(all, 1, &mut pick)),
            Self::LastWay => pace.cut(&some(last_ways(scene), 1, &mut pick)),
            Self::ThreeCuts => pace.cut(&some(all, CUTS, &mut pick)),
            Self::Partition => pace.cut(&between_halves(&scene.graph, &mut pick)),
            Self::Merge => {
                let links = between_halves(&scene.graph, &mut pick);
                before = pace.cut(&links);
                pace.heal(&links)
            }
            Self::Flap => pace.flap(&between_halves(&scene.graph, &mut pick), scene),
            Self::LeaderLost => {
                pace.cut(&all.into_iter().filter(|edge| edge.touches(scene.leader)).collect::<Vec<_>>())
            }
            Self::Churn => pace.churn(&all, &mut pick),
        };
        Plan::new(before, flips)
    }
}

/// Who decides in which order messages arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Every message takes one round, and both ends of a link detect a change in the same round.
    Synchronous,
    /// A random channel delivers next, and each end of a link detects a change on its own, while messages of earlier
    /// changes are still in flight.
    Random,
}

impl Schedule {
    pub const ALL: [Self; 2] = [Self::Synchronous, Self::Random];

    /// Its name in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Random => "random order",
        }
    }
}

/// One direction of a link goes up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flip {
    /// In rounds since the first change, or in deliveries if their order is random. When no message is in flight, the
    /// next flip does not wait.
    pub moment: u64,
    /// Its sender detects it.
    pub direction: Direction,
    /// Whether the direction comes up.
    pub up: bool,
}

/// Everything that happens to a network in one run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What happens, and settles, before anything is counted.
    pub before: Vec<Flip>,
    /// What is measured, by rising moment.
    pub flips: Vec<Flip>,
}

impl Plan {
    /// A plan of these flips, each list in the order of its moments.
    pub fn new(mut before: Vec<Flip>, mut flips: Vec<Flip>) -> Self {
        before.sort_by_key(|flip| flip.moment);
        flips.sort_by_key(|flip| flip.moment);
        Self { before, flips }
    }

    /// The graph when everything has happened.
    pub fn outcome(&self, graph: &Graph) -> Graph {
        let mut graph = graph.clone();
        for flip in self.before.iter().chain(&self.flips) {
            let Direction { from, to } = flip.direction;
            if flip.up {
                graph.insert(from, to);
            } else {
                graph.remove(from, to);
            }
        }
        graph
    }
}

/// Chooses moments. Under the random order changes are spread over about as many deliveries as their waves take, so that
/// most of them happen while messages are in flight.
struct Pace {
    schedule: Schedule,
    rng: Rng,
    nodes: usize,
}

impl Pace {
    fn new(scene: &Scene, schedule: Schedule, seed: u64) -> Self {
        let rng = Rng::stream(seed, stream::MOMENTS);
        Self { schedule, rng, nodes: scene.graph.len() }
    }

    /// A number of deliveries below this bound, or no round at all.
    fn within(&mut self, deliveries: usize) -> u64 {
        match self.schedule {
            Schedule::Synchronous => 0,
            Schedule::Random => below(&mut self.rng, deliveries) as u64,
        }
    }

    fn flips(&mut self, links: &[Edge], up: bool) -> Vec<Flip> {
        let directions = links.iter().flat_map(|edge| edge.directions());
        directions.map(|direction| Flip { moment: self.within(2 * self.nodes), direction, up }).collect()
    }

    fn cut(&mut self, links: &[Edge]) -> Vec<Flip> {
        self.flips(links, false)
    }

    fn heal(&mut self, links: &[Edge]) -> Vec<Flip> {
        self.flips(links, true)
    }

    /// Down, and up again before a search and its echo can have crossed the network.
    fn flap(&mut self, links: &[Edge], scene: &Scene) -> Vec<Flip> {
        let mut flips = self.cut(links);
        let pause = match self.schedule {
            Schedule::Synchronous => 1 + below(&mut self.rng, 2 * scene.graph.diameter()),
            Schedule::Random => 2 * self.nodes + below(&mut self.rng, 2 * self.nodes),
        } as u64;
        let heal = self.heal(links).into_iter().map(|flip| Flip { moment: flip.moment + pause, ..flip });
        flips.extend(heal);
        flips
    }

    fn churn(&mut self, links: &[Edge], pick: &mut Rng) -> Vec<Flip> {
        let mut down = BTreeSet::new();
        let mut free: BTreeMap<Direction, u64> = BTreeMap::new();
        let mut flips = Vec::new();
        let mut start = 0;
        for _ in 0..TURNS_MIN.max(links.len() / 2) {
            let link = links[below(pick, links.len())];
            let up = down.remove(&link);
            if !up {
                down.insert(link);
            }
            for direction in link.directions() {
                // The two ends may disagree for a while, but each sees its own changes in order.
                let moment = (start + self.within(self.nodes)).max(free.get(&direction).copied().unwrap_or(0));
                free.insert(direction, moment);
                flips.push(Flip { moment, direction, up });
            }
            start += match self.schedule {
                Schedule::Synchronous => u64::from(self.rng.below(4)),
                Schedule::Random => self.within(self.nodes),
            };
        }
        flips
    }
}

fn some(mut links: Vec<Edge>, count: usize, rng: &mut Rng) -> Vec<Edge> {
    shuffle(&mut links, rng);
    links.truncate(count);
    links
}

/// The links that are the only downhill path of one of their ends. The leader's last link is among them.
fn last_ways(scene: &Scene) -> Vec<Edge> {
    let heights = scene.heights();
    let mut ways = vec![Vec::new(); heights.len()];
    for Edge { u, v } in scene.graph.edges() {
        let (low, high) = if heights[u] < heights[v] { (u, v) } else { (v, u) };
        ways[high].push(low);
    }
    // The lower end is drawn a moment for first.
    let only = |high: NodeIndex| if let [low] = ways[high][..] { Some(Edge { u: low, v: high }) } else { None };
    scene.graph.nodes().filter_map(only).collect()
}

/// The links between the half of the nodes nearest to a random one and the rest.
fn between_halves(graph: &Graph, rng: &mut Rng) -> Vec<Edge> {
    let hops = graph.distances(NodeIndex(below(rng, graph.len())));
    let mut nearest: Vec<NodeIndex> = graph.nodes().collect();
    nearest.sort_by_key(|&node| hops[node]);
    let half: BTreeSet<NodeIndex> = nearest.into_iter().take(graph.len() / 2).collect();
    graph.edges().filter(|edge| half.contains(&edge.u) != half.contains(&edge.v)).collect()
}
