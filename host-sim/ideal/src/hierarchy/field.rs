//! A network of the hierarchy that changes one thing at a time, settling and counting before the next.

use common::election::hierarchy::{Hierarchy, HierarchyOptions, Radii};
use common::types::NodeId;

use crate::graph::Graph;
use crate::index::{Edge, NodeIndex};
use crate::net::{Delay, Net, Queueing, ROUND};
use crate::well_formed::{self, Violation};

/// Links a node may have: the largest network here has 60 nodes.
const LINKS_MAX: usize = 64;

/// Nodes with hierarchies on the ideal network.
pub type HierarchyNet = Net<Hierarchy<LINKS_MAX>, LINKS_MAX>;

/// What happens to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Cut(Edge),
    Link(Edge),
    /// A node loses its state and restarts; its neighbours detect that, and its links come up again.
    Restart(NodeIndex),
    /// A node is gone for good, and its neighbours detect that.
    Lose(NodeIndex),
}

impl Change {
    /// Whether it concerns a link rather than a node.
    pub const fn is_of_link(self) -> bool {
        matches!(self, Self::Cut(_) | Self::Link(_))
    }

    /// The nodes that detect it first.
    pub fn nodes(self) -> Vec<NodeIndex> {
        match self {
            Self::Cut(Edge { u, v }) | Self::Link(Edge { u, v }) => vec![u, v],
            Self::Restart(node) | Self::Lose(node) => vec![node],
        }
    }
}

/// What it took to settle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Updates sent, not counting those replaced before they left.
    pub updates: u64,
    /// Rounds until the last of them had arrived.
    pub rounds: u64,
}

/// A network at rest.
#[derive(Clone, Debug)]
pub struct Field {
    pub net: HierarchyNet,
    /// The links that are up, with points to draw.
    pub graph: Graph,
    radii: Radii,
    seed: u64,
}

impl Field {
    /// Nodes that have just found all their links, and what it took to settle.
    pub fn form(graph: &Graph, ids: &[NodeId], radii: Radii, seed: u64) -> Result<(Self, Cost), Violation> {
        let mut net = HierarchyNet::new(Delay::Round).with_queueing(Queueing::Latest);
        for &id in ids {
            net.add(id, seed, Hierarchy::new(id, HierarchyOptions { radii, ..HierarchyOptions::default() }));
        }
        net.start_all();
        graph.edges().for_each(|Edge { u, v }| net.connect(u, v));
        let mut field = Self { net, graph: graph.clone(), radii, seed };
        let cost = field.settle()?;
        Ok((field, cost))
    }

    /// Applies a change and lets the network settle.
    pub fn apply(&mut self, change: Change) -> Result<Cost, Violation> {
        match change {
            Change::Cut(Edge { u, v }) => {
                self.graph.remove(u, v);
                self.net.cut(u, v);
            }
            Change::Link(Edge { u, v }) => {
                self.graph.insert(u, v);
                self.net.connect(u, v);
            }
            Change::Restart(node) => {
                let links = self.crash(node);
                let id = self.net.id(node);
                let options = HierarchyOptions { radii: self.radii, ..HierarchyOptions::default() };
                self.net.restart(node, self.seed, Hierarchy::new(id, options));
                self.net.start(node);
                for Edge { u, v } in links {
                    self.net.connect(u, v);
                }
            }
            Change::Lose(node) => {
                for Edge { u, v } in self.crash(node) {
                    self.graph.remove(u, v);
                }
            }
        }
        self.settle()
    }

    /// The level-1 head of every live node; none if there are no levels.
    pub fn heads(&self) -> Vec<Option<NodeId>> {
        let head = |node: NodeIndex| self.net.node(node).standing(0).map(|standing| standing.head);
        self.net.nodes().map(|node| self.net.is_alive(node).then(|| head(node)).flatten()).collect()
    }

    /// How many live nodes are heads of level 1.
    pub fn head_count(&self) -> usize {
        let heads = self.heads();
        self.net.nodes().filter(|&node| heads[node] == Some(self.net.id(node))).count()
    }

    /// A node stops, and its neighbours detect that; returns its links.
    fn crash(&mut self, node: NodeIndex) -> Vec<Edge> {
        self.net.crash(node);
        let links: Vec<Edge> = self.graph.edges().filter(|edge| edge.touches(node)).collect();
        for edge in &links {
            self.net.link_down(edge.other(node), node);
        }
        links
    }

    fn settle(&mut self) -> Result<Cost, Violation> {
        let start = self.net.now();
        while self.net.step_round() {}
        let cost = Cost {
            updates: self.net.counts().total(),
            rounds: self.net.now().since(start).as_micros() / ROUND.as_micros(),
        };
        self.net.reset_counts();
        well_formed::check(&self.net)?;
        Ok(cost)
    }
}

/// The nodes that are alive before and after and changed their head.
pub fn moved(before: &[Option<NodeId>], after: &[Option<NodeId>]) -> Vec<NodeIndex> {
    let has_moved = |&node: &NodeIndex| before[node].is_some() && after[node].is_some() && before[node] != after[node];
    NodeIndex::first(before.len()).filter(has_moved).collect()
}
