//! The boots of the nodes: how many lives each has begun, and what its driver has stored of that.

use std::collections::BTreeMap;

use crate::air::index::NodeIndex;
use crate::scenario::input::plan::Flash;

/// What a driver makes of its flash at a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Epoch(u16),
    /// Nothing, now or ever: the node only listens.
    Never,
    /// Nothing yet; the driver will try again.
    NotYet,
}

#[derive(Clone, Debug)]
pub(super) struct Boots {
    lives: BTreeMap<NodeIndex, u64>,
    epochs: BTreeMap<NodeIndex, u16>,
}

impl Boots {
    /// All of these nodes have booted once.
    pub fn new(nodes: usize) -> Self {
        Self { lives: BTreeMap::new(), epochs: NodeIndex::first(nodes).map(|node| (node, 1)).collect() }
    }

    /// A node begins its next life; its number, the first restart being 1.
    pub fn begin_life(&mut self, node: NodeIndex) -> u64 {
        let life = self.lives.entry(node).or_default();
        *life += 1;
        *life
    }

    pub fn is_in_life(&self, node: NodeIndex, life: u64) -> bool {
        self.lives.get(&node) == Some(&life)
    }

    /// The driver boots and finds its flash like this.
    pub fn boot(&mut self, node: NodeIndex, flash: Flash) -> Stored {
        let stored = self.epochs.entry(node).or_default();
        match flash {
            Flash::Kept => *stored = stored.saturating_add(1),
            Flash::Erased => *stored = 1,
            Flash::Failing => return Stored::Never,
            Flash::Torn => return Stored::NotYet,
        }
        Stored::Epoch(*stored)
    }

    /// The driver stores the number of this boot after all.
    pub fn store_again(&mut self, node: NodeIndex) -> u16 {
        let stored = self.epochs.entry(node).or_default();
        *stored = stored.saturating_add(1);
        *stored
    }
}
