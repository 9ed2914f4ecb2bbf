//! Which node, which link, which way: types of their own, so that one cannot be taken for another, or for a count.

use std::fmt;
use std::ops::{Index, IndexMut};

/// A node of an ideal network or of a graph, counted from 0. On a ring the nodes stand in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub usize);

impl NodeIndex {
    /// The first `count` nodes.
    pub fn first(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..count).map(Self)
    }

    /// The nodes before this one.
    pub fn earlier(self) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        Self::first(self.0)
    }

    /// Its left neighbour on a ring of this many.
    #[inline]
    pub const fn left(self, nodes: usize) -> Self {
        Self(if self.0 == 0 { nodes - 1 } else { self.0 - 1 })
    }

    /// Its right neighbour on a ring of this many.
    #[inline]
    pub const fn right(self, nodes: usize) -> Self {
        Self(if self.0 + 1 == nodes { 0 } else { self.0 + 1 })
    }
}

impl fmt::Display for NodeIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Index<NodeIndex> for [T] {
    type Output = T;

    #[inline]
    fn index(&self, node: NodeIndex) -> &T {
        &self[node.0]
    }
}

impl<T> IndexMut<NodeIndex> for [T] {
    #[inline]
    fn index_mut(&mut self, node: NodeIndex) -> &mut T {
        &mut self[node.0]
    }
}

impl<T> Index<NodeIndex> for Vec<T> {
    type Output = T;

    #[inline]
    fn index(&self, node: NodeIndex) -> &T {
        &self[node.0]
    }
}

impl<T> IndexMut<NodeIndex> for Vec<T> {
    #[inline]
    fn index_mut(&mut self, node: NodeIndex) -> &mut T {
        &mut self[node.0]
    }
}

/// A link between two nodes, whichever way it is used. Those of a graph name the smaller index first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    pub u: NodeIndex,
    pub v: NodeIndex,
}

impl Edge {
    /// The link of two nodes, the smaller index first.
    pub fn between(one: NodeIndex, other: NodeIndex) -> Self {
        Self { u: one.min(other), v: one.max(other) }
    }

    /// Every pair of the first nodes, by the larger of the two.
    pub fn all(nodes: usize) -> impl Iterator<Item = Self> + Clone {
        NodeIndex::first(nodes).flat_map(|v| v.earlier().map(move |u| Self { u, v }))
    }

    /// Whether it ends at a node.
    pub fn touches(self, node: NodeIndex) -> bool {
        self.u == node || self.v == node
    }

    /// Its other end, as one of them sees it.
    pub fn other(self, node: NodeIndex) -> NodeIndex {
        if self.u == node { self.v } else { self.u }
    }

    pub fn directions(self) -> [Direction; 2] {
        let there = Direction { from: self.u, to: self.v };
        [there, there.back()]
    }
}

/// One direction of a link. Each goes up and down by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Direction {
    pub from: NodeIndex,
    pub to: NodeIndex,
}

impl Direction {
    /// The other direction of the same link.
    pub const fn back(self) -> Self {
        Self { from: self.to, to: self.from }
    }

    pub fn edge(self) -> Edge {
        Edge::between(self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::{Direction, Edge, NodeIndex};

    #[test]
    fn a_ring_closes_at_both_ends() {
        let around: Vec<NodeIndex> = NodeIndex::first(3).map(|node| node.right(3)).collect();
        assert_eq!(around, [1, 2, 0].map(NodeIndex));
        assert!(NodeIndex::first(3).all(|node| node.right(3).left(3) == node));
        assert_eq!((NodeIndex(0).left(1), NodeIndex(0).right(1)), (NodeIndex(0), NodeIndex(0)), "alone");
    }

    #[test]
    fn a_link_is_the_same_from_both_ends() {
        let edge = Edge::between(NodeIndex(4), NodeIndex(1));
        assert_eq!(edge, Edge { u: NodeIndex(1), v: NodeIndex(4) });
        assert_eq!((edge.other(NodeIndex(1)), edge.other(NodeIndex(4))), (NodeIndex(4), NodeIndex(1)));
        assert_eq!(edge.directions().map(Direction::edge), [edge; 2]);
        assert!(edge.touches(NodeIndex(4)) && !edge.touches(NodeIndex(2)));
        assert_eq!(Edge::all(4).count(), 6);
    }
}
