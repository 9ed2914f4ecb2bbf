//! Which node, which radio: types of their own, so that one cannot be taken for the other, or for a count.
//!
//! Nodes join the medium before every other radio, so a node's radio has the node's number. Jammers, attackers and the network
//! next door have a radio and are not nodes.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A node of the world, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub usize);

/// A radio on the medium, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RadioIndex(pub usize);

impl NodeIndex {
    /// The first `count` nodes.
    pub fn first(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..count).map(Self)
    }

    #[inline]
    pub const fn radio(self) -> RadioIndex {
        RadioIndex(self.0)
    }
}

impl RadioIndex {
    /// The node whose radio this is, among this many nodes.
    #[inline]
    pub const fn node(self, nodes: usize) -> Option<NodeIndex> {
        if self.0 < nodes { Some(NodeIndex(self.0)) } else { None }
    }
}

impl From<NodeIndex> for usize {
    #[inline]
    fn from(node: NodeIndex) -> Self {
        node.0
    }
}

impl From<RadioIndex> for usize {
    #[inline]
    fn from(radio: RadioIndex) -> Self {
        radio.0
    }
}

/// One entry for each node, or for each radio; no other index opens it.
#[derive(Clone, Debug)]
pub(super) struct Table<I, T> {
    entries: Vec<T>,
    index: PhantomData<I>,
}

pub(super) type PerNode<T> = Table<NodeIndex, T>;
pub(super) type PerRadio<T> = Table<RadioIndex, T>;

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: PhantomData }
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(entries: Vec<T>) -> Self {
        Self { entries, index: PhantomData }
    }
}

impl<I, T> Table<I, T> {
    pub fn push(&mut self, entry: T) {
        self.entries.push(entry);
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.entries
    }
}

impl<I: Into<usize>, T> Table<I, T> {
    pub fn get(&self, index: I) -> Option<&T> {
        self.entries.get(index.into())
    }
}

impl<I: Into<usize>, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, index: I) -> &T {
        &self.entries[index.into()]
    }
}

impl<I: Into<usize>, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.entries[index.into()]
    }
}
