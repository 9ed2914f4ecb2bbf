//! Graphs to run on: ring, line, star, grid, clique, tree, random geometric.

use std::collections::{BTreeSet, VecDeque};

use common::rng::Rng;

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

/// An undirected graph on the nodes `0..n`, each with a point in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Where the nodes are drawn; in a random geometric graph their distances also decide the links.
    pub points: Vec<UnitPoint>,
    edges: BTreeSet<(usize, usize)>,
}

impl Graph {
    /// A graph of one kind. Only tree and random geometric graphs depend on the seed.
    pub fn new(kind: Kind, nodes: usize, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, 0x6AF);
        match kind {
            Kind::Ring => Self::circle(nodes, (0..nodes).map(|u| (u, (u + 1) % nodes))),
            Kind::Line => Self::with(line_points(nodes), (1..nodes).map(|v| (v - 1, v))),
            Kind::Star => {
                let mut star = Self::circle(nodes.saturating_sub(1), std::iter::empty());
                star.points.insert(0, UnitPoint::new(0.5, 0.5));
                star.points.truncate(nodes);
                (1..nodes).for_each(|v| star.insert(0, v));
                star
            }
            Kind::Grid => grid(nodes),
            Kind::Clique => Self::circle(nodes, (0..nodes).flat_map(|v| (0..v).map(move |u| (u, v)))),
            Kind::Tree => {
                let parents: Vec<_> = (1..nodes).map(|v| (below(&mut rng, v), v)).collect();
                Self::with(tree_points(nodes, &parents), parents.into_iter())
            }
            Kind::Rgg => random_geometric(nodes, USUAL_DEGREE, &mut rng),
        }
    }

    /// A random geometric graph whose nodes have about this many others in range, fewer at the rim.
    pub fn random_geometric(nodes: usize, degree: f64, seed: u64) -> Self {
        random_geometric(nodes, degree, &mut Rng::stream(seed, 0x6AF))
    }

    /// A graph of these points and links.
    pub fn with(points: Vec<UnitPoint>, edges: impl Iterator<Item = (usize, usize)>) -> Self {
        let mut graph = Self { points, edges: BTreeSet::new() };
        edges.for_each(|(u, v)| graph.insert(u, v));
        graph
    }

    fn circle(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Self {
        let point = |node: usize| {
            let angle = std::f64::consts::TAU * as_f64(node) / as_f64(nodes.max(1));
            UnitPoint::new(0.5 + 0.45 * angle.sin(), 0.5 - 0.45 * angle.cos())
        };
        Self::with((0..nodes).map(point).collect(), edges)
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The links, each once, ascending.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.edges.iter().copied()
    }

    /// Adds a link; one from a node to itself is ignored.
    pub fn insert(&mut self, u: usize, v: usize) {
        if u != v {
            self.edges.insert((u.min(v), u.max(v)));
        }
    }

    /// Removes a link; returns whether there was one.
    pub fn remove(&mut self, u: usize, v: usize) -> bool {
        self.edges.remove(&(u.min(v), u.max(v)))
    }

    pub fn has(&self, u: usize, v: usize) -> bool {
        self.edges.contains(&(u.min(v), u.max(v)))
    }

    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.len()];
        for &(u, v) in &self.edges {
            neighbours[u].push(v);
            neighbours[v].push(u);
        }
        neighbours
    }

    /// Hops from one node to every other; none if there is no path.
    pub fn distances(&self, from: usize) -> Vec<Option<usize>> {
        hops_from(from, &self.neighbours())
    }

    /// The nodes of each component, in the order of the components' smallest nodes.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let neighbours = self.neighbours();
        let mut seen = vec![false; self.len()];
        let mut components = Vec::new();
        for node in 0..self.len() {
            if !seen[node] {
                let members: Vec<usize> =
                    hops_from(node, &neighbours).iter().enumerate().filter_map(|(v, hops)| hops.map(|_| v)).collect();
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
        self.is_empty() || self.distances(0).iter().all(Option::is_some)
    }

    /// The longest of all shortest paths, within components.
    pub fn diameter(&self) -> usize {
        let neighbours = self.neighbours();
        (0..self.len()).flat_map(|node| hops_from(node, &neighbours)).flatten().max().unwrap_or(0)
    }
}

fn hops_from(from: usize, neighbours: &[Vec<usize>]) -> Vec<Option<usize>> {
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
    let right = (0..nodes).filter(|node| (node + 1) % columns != 0 && node + 1 < nodes).map(|u| (u, u + 1));
    let down = (0..nodes.saturating_sub(columns)).map(|u| (u, u + columns));
    Graph::with(points, right.chain(down))
}

/// Each generation on a line of its own.
fn tree_points(nodes: usize, parents: &[(usize, usize)]) -> Vec<UnitPoint> {
    let mut depth = vec![0_usize; nodes];
    for &(parent, child) in parents {
        depth[child] = depth[parent] + 1;
    }
    let deepest = depth.iter().max().copied().unwrap_or(0);
    let mut placed = vec![0_usize; deepest + 1];
    (0..nodes)
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
        let near = |u: usize, v: usize| {
            let (u, v) = (points[u], points[v]);
            (u.x - v.x).hypot(u.y - v.y) <= reach
        };
        let edges = (0..nodes).flat_map(|v| (0..v).map(move |u| (u, v))).filter(|&(u, v)| near(u, v));
        let graph = Graph::with(points.clone(), edges);
        if graph.is_connected() {
            return graph;
        }
        reach *= 1.1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Graph, Kind};

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
        assert!(line.remove(1, 2) && !line.remove(1, 2));
        assert_eq!(line.components(), [vec![0, 1], vec![2, 3, 4]]);
        assert!(!line.is_connected());
    }
}
