//! The hierarchy that a component must end in, computed from its definition alone.
//!
//! On every level the eligible nodes are visited by rank; one that is not captured is a head and captures every uncaptured
//! node within the radius, through uncaptured nodes only. The leader is captured by nobody. Level 1 is for all, each
//! further one for the heads of the one below; other nodes relay and may be captured too.

use std::collections::BTreeMap;

use common::types::NodeId;

use crate::graph::Graph;
use crate::index::NodeIndex;

/// A node's required head, distance and parent on one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    pub head: NodeIndex,
    /// Hops to it.
    pub distance: usize,
    /// The next node on the path, the one with the smallest id if there are several; itself for a head.
    pub parent: NodeIndex,
}

/// What determines the hierarchy.
#[derive(Clone, Debug)]
pub struct Ground<'a> {
    pub graph: &'a Graph,
    /// The ids, by index.
    pub ids: &'a [NodeId],
    /// The fitness bytes, by index.
    pub fitness: &'a [u8],
    /// Whether a node is the leader of its component, by index.
    pub leads: &'a [bool],
}

impl Ground<'_> {
    /// The one correct structure: per node, per level.
    pub fn structure(&self, radii: &[u8]) -> Vec<Vec<Option<Expected>>> {
        let mut per_node = vec![Vec::new(); self.graph.len()];
        let mut eligible = vec![true; self.graph.len()];
        for &radius in radii {
            let level = self.level(usize::from(radius), &eligible);
            for (node, standing) in self.graph.nodes().zip(level) {
                eligible[node] &= standing.is_some_and(|standing| standing.head == node);
                per_node[node].push(standing);
            }
        }
        per_node
    }

    fn level(&self, radius: usize, eligible: &[bool]) -> Vec<Option<Expected>> {
        let neighbours = self.graph.neighbours();
        let mut captured: Vec<Option<Expected>> = vec![None; self.graph.len()];
        let mut by_rank: Vec<NodeIndex> = self.graph.nodes().filter(|&node| eligible[node]).collect();
        by_rank.sort_by_key(|&node| (self.fitness[node], self.ids[node]));
        for head in by_rank {
            if captured[head].is_some() {
                continue;
            }
            captured[head] = Some(Expected { head, distance: 0, parent: head });
            let mut ring = vec![head];
            for distance in 1..=radius {
                // Each newly reached node, with the smallest of those it was reached from.
                let mut reached: BTreeMap<NodeIndex, NodeIndex> = BTreeMap::new();
                for &from in &ring {
                    for &node in neighbours[from].iter().filter(|&&node| captured[node].is_none() && !self.leads[node])
                    {
                        let parent = reached.entry(node).or_insert(from);
                        if self.ids[from] < self.ids[*parent] {
                            *parent = from;
                        }
                    }
                }
                for (&node, &parent) in &reached {
                    captured[node] = Some(Expected { head, distance, parent });
                }
                ring = reached.into_keys().collect();
            }
        }
        captured
    }
}
