//! Graphs to run on: ring, line, star, grid, clique, tree, random geometric.

use std::collections::{BTreeSet, VecDeque};

use common::rng::Rng;

use crate::index::{Edge, NodeIndex};

/// How many others are in range of a node of a random geometric graph, away from the rim.
const USUAL_DEGREE: f64 = 7.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Every node has two neighbours.
    Ring,
    /// A ring with one link missing.
    Line,
    /// One node linked to all others.
    Star,
    /// Rows and columns, as square as the number of nodes allows.
    Grid,
    /// Every node is linked to every other.
    Clique,
    /// A random recursive tree: each node is attached to an earlier one.
    Tree,
    /// Nodes scattered over a square, linked when near; connected.
    Rgg,
}

impl Kind {
    pub const ALL: [Self; 7] = [Self::Ring, Self::Line, Self::Star, Self::Grid, Self::Clique, Self::Tree, Self::Rgg];

    /// One word, for the command line and JSON.
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::Rgg => "rgg",
            other => other.name(),
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Line => "line",
            Self::Star => "star",
            Self::Grid => "grid",
            Self::Clique => "clique",
            Self::Tree => "tree",
            Self::Rgg => "random geometric",
        }
    }
}

/// A point in the unit square.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnitPoint {
    pub x: f64,
    pub y: f64,
}

impl UnitPoint {
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// An undirected graph, each of whose nodes has a point in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Where the nodes are drawn; in a random geometric graph their distances also decide the links.
    pub points: Vec<UnitPoint>,
    edges: BTreeSet<Edge>,
}

impl Graph {
    /// A graph of one kind. Only tree and random geometric graphs depend on the seed.
    pub fn new(kind: Kind, nodes: usize, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, 0x6AF);
        match kind {
            Kind::Ring => Self::circle(nodes, NodeIndex::first(nodes).map(|u| Edge::between(u, u.right(nodes)))),
            Kind::Line => {
                let links = NodeIndex::first(nodes).skip(1).map(|v| Edge::between(v.left(nodes), v));
                Self::with(line_points(nodes), links)
            }
            Kind::Star => {
                let mut star = Self::circle(nodes.saturating_sub(1), std::iter::empty());
                star.points.insert(0, UnitPoint::new(0.5, 0.5));
                star.points.truncate(nodes);
                NodeIndex::first(nodes).skip(1).for_each(|v| star.insert(NodeIndex(0), v));
                star
            }
            Kind::Grid => grid(nodes),
            Kind::Clique => Self::circle(nodes, Edge::all(nodes)),
            Kind::Tree => {
                // Every node but the root with its parent, which is the smaller index.
                let branches: Vec<Edge> = NodeIndex::first(nodes)
                    .skip(1)
                    .map(|child| Edge::between(NodeIndex(below(&mut rng, child.0)), child))
                    .collect();
                Self::with(tree_points(nodes, &branches), branches.into_iter())
            }
            Kind::Rgg => random_geometric(nodes, USUAL_DEGREE, &mut rng),
        }
    }

    /// A random geometric graph whose nodes have about this many others in range, fewer at the rim.
    pub fn random_geometric(nodes: usize, degree: f64, seed: u64) -> Self {
        random_geometric(nodes, degree, &mut Rng::stream(seed, 0x6AF))
    }

    /// A graph of these points and links.
    pub fn with(points: Vec<UnitPoint>, edges: impl Iterator<Item = Edge>) -> Self {
        let mut graph = Self { points, edges: BTreeSet::new() };
        edges.for_each(|Edge { u, v }| graph.insert(u, v));
        graph
    }

    fn circle(nodes: usize, edges: impl Iterator<Item = Edge>) -> Self {
        let point = |node: NodeIndex| {
            let angle = std::f64::consts::TAU * as_f64(node.0) / as_f64(nodes.max(1));
            UnitPoint::new(0.5 + 0.45 * angle.sin(), 0.5 - 0.45 * angle.cos())
        };
        Self::with(NodeIndex::first(nodes).map(point).collect(), edges)
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeIndex> + ExactSizeIterator + Clone + use<> {
        NodeIndex::first(self.len())
    }

    /// The links, each once, ascending.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.edges.iter().copied()
    }

    /// Adds a link; one from a node to itself is ignored.
    pub fn insert(&mut self, u: NodeIndex, v: NodeIndex) {
        if u != v {
            self.edges.insert(Edge::between(u, v));
        }
    }

    /// Removes a link; returns whether there was one.
    pub fn remove(&mut self, u: NodeIndex, v: NodeIndex) -> bool {
        self.edges.remove(&Edge::between(u, v))
    }

    pub fn has(&self, u: NodeIndex, v: NodeIndex) -> bool {
        self.edges.contains(&Edge::between(u, v))
    }

    /// The nodes that each one is linked to.
    pub fn neighbours(&self) -> Vec<Vec<NodeIndex>> {
        let mut neighbours = vec![Vec::new(); self.len()];
        for &Edge { u, v } in &self.edges {
            neighbours[u].push(v);
            neighbours[v].push(u);
        }
        neighbours
    }

    /// Hops from one node to every other; none if there is no path.
    pub fn distances(&self, from: NodeIndex) -> Vec<Option<usize>> {
        hops_from(from, &self.neighbours())
    }

    /// The nodes of each component, in the order of the components' smallest nodes.
    pub fn components(&self) -> Vec<Vec<NodeIndex>> {
        let neighbours = self.neighbours();
        let mut seen = vec![false; self.len()];
        let mut components = Vec::new();
        for node in self.nodes() {
            if !seen[node] {
                let hops = hops_from(node, &neighbours);
                let members: Vec<NodeIndex> = self.nodes().filter(|&other| hops[other].is_some()).collect();
                for &v in &members {
                    seen[v] = true;
                }
                components.push(members);
            }
        }
        components
    }

    /// Whether there is a path between any two nodes.
    pub fn is_connected(&self) -> bool {
        self.is_empty() || self.distances(NodeIndex(0)).iter().all(Option::is_some)
    }

    /// The longest of all shortest paths, within components.
    pub fn diameter(&self) -> usize {
        let neighbours = self.neighbours();
        self.nodes().flat_map(|node| hops_from(node, &neighbours)).flatten().max().unwrap_or(0)
    }
}

fn hops_from(from: NodeIndex, neighbours: &[Vec<NodeIndex>]) -> Vec<Option<usize>> {
    let mut hops = vec![None; neighbours.len()];
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((node, distance)) = queue.pop_front() {
        if hops[node].is_none() {
            hops[node] = Some(distance);
            queue.extend(neighbours[node].iter().map(|&next| (next, distance + 1)));
        }
    }
    hops
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    rng.below(u32::try_from(bound).unwrap_or(u32::MAX)) as usize
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 nodes")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

fn unit(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / f64::from(u32::MAX)
}

fn line_points(nodes: usize) -> Vec<UnitPoint> {
    (0..nodes).map(|node| UnitPoint::new(0.05 + 0.9 * as_f64(node) / as_f64(nodes.max(2) - 1), 0.5)).collect()
}

fn grid(nodes: usize) -> Graph {
    let columns = (1..=nodes).find(|columns| columns * columns >= nodes).unwrap_or(1);
    let rows = nodes.div_ceil(columns).max(1);
    let at = |index: usize, count: usize| 0.05 + 0.9 * as_f64(index) / as_f64(count.max(2) - 1);
    let points = (0..nodes).map(|node| UnitPoint::new(at(node % columns, columns), at(node / columns, rows))).collect();
    let link = |u: usize, step: usize| Edge { u: NodeIndex(u), v: NodeIndex(u + step) };
    let right = (0..nodes).filter(|node| (node + 1) % columns != 0 && node + 1 < nodes).map(|u| link(u, 1));
    let down = (0..nodes.saturating_sub(columns)).map(|u| link(u, columns));
    Graph::with(points, right.chain(down))
}

/// Each generation on a line of its own.
fn tree_points(nodes: usize, branches: &[Edge]) -> Vec<UnitPoint> {
    let mut depth = vec![0_usize; nodes];
    for &Edge { u: parent, v: child } in branches {
        depth[child] = depth[parent] + 1;
    }
    let deepest = depth.iter().max().copied().unwrap_or(0);
    let mut placed = vec![0_usize; deepest + 1];
    NodeIndex::first(nodes)
        .map(|node| {
            let row = depth[node];
            let row_size = depth.iter().filter(|&&d| d == row).count();
            placed[row] += 1;
            let x = as_f64(placed[row]) / as_f64(row_size + 1);
            UnitPoint::new(x, 0.05 + 0.9 * as_f64(row) / as_f64(deepest.max(1)))
        })
        .collect()
}

/// Random points, and their range: large enough that all are connected and that about as many others are in range as
/// asked for.
fn random_geometric(nodes: usize, degree: f64, rng: &mut Rng) -> Graph {
    let points: Vec<UnitPoint> = (0..nodes).map(|_| UnitPoint::new(unit(rng), unit(rng))).collect();
    let mut reach = (degree / (std::f64::consts::PI * as_f64(nodes.max(1)))).sqrt();
    loop {
        let near = |&Edge { u, v }: &Edge| {
            let (u, v) = (points[u], points[v]);
            (u.x - v.x).hypot(u.y - v.y) <= reach
        };
        let graph = Graph::with(points.clone(), Edge::all(nodes).filter(near));
        if graph.is_connected() {
            return graph;
        }
        reach *= 1.1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Graph, Kind};
    use crate::index::NodeIndex;

    #[test]
    fn every_kind_is_connected_at_every_size() {
        for kind in Kind::ALL {
            for nodes in 1..40 {
                let graph = Graph::new(kind, nodes, 5);
                assert_eq!(graph.len(), nodes, "{kind:?}");
                assert!(graph.is_connected(), "{kind:?} of {nodes}");
            }
        }
    }

    #[test]
    fn shapes_are_what_their_names_say() {
        let size = |kind, nodes| {
            let graph = Graph::new(kind, nodes, 1);
            (graph.edges().count(), graph.diameter())
        };
        assert_eq!(size(Kind::Ring, 10), (10, 5));
        assert_eq!(size(Kind::Ring, 2), (1, 1));
        assert_eq!(size(Kind::Line, 10), (9, 9));
        assert_eq!(size(Kind::Star, 10), (9, 2));
        assert_eq!(size(Kind::Grid, 12), (17, 5));
        assert_eq!(size(Kind::Clique, 6), (15, 1));
        assert_eq!(size(Kind::Tree, 20).0, 19);
    }

    #[test]
    fn components_are_found() {
        let mut line = Graph::new(Kind::Line, 5, 0);
        let (u, v) = (NodeIndex(1), NodeIndex(2));
        assert!(line.remove(u, v) && !line.remove(u, v));
        let nodes = |range: std::ops::Range<usize>| range.map(NodeIndex).collect::<Vec<_>>();
        assert_eq!(line.components(), [nodes(0..2), nodes(2..5)]);
        assert!(!line.is_connected());
    }
}
