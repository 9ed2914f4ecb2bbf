//! The boots of the nodes: how many lives each has begun, what its driver has stored of that, and how long it keeps quiet
//! after too many short ones, as a board does.

use std::collections::{BTreeMap, BTreeSet};

use common::board::history::{Ending, History, Run};
use common::time::Duration;

use crate::air::index::NodeIndex;
use crate::scenario::input::plan::Flash;

/// What a driver reads from its flash at a boot.
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
    histories: BTreeMap<NodeIndex, History>,
    /// Nodes that could not store the number of this boot.
    unstored: BTreeSet<NodeIndex>,
    /// Since when the nodes with power have it, in microseconds. One of them may still keep quiet.
    powered: BTreeMap<NodeIndex, u64>,
    /// How long the last life of a node without power was.
    lasted_s: BTreeMap<NodeIndex, u32>,
}

impl Boots {
    /// All of these nodes have booted once.
    pub fn new(nodes: usize) -> Self {
        let booted = History { epoch: 1, ..History::default() };
        Self {
            lives: BTreeMap::new(),
            histories: NodeIndex::first(nodes).map(|node| (node, booted.clone())).collect(),
            unstored: BTreeSet::new(),
            powered: BTreeMap::new(),
            lasted_s: BTreeMap::new(),
        }
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

    pub fn has_power(&self, node: NodeIndex) -> bool {
        self.powered.contains_key(&node)
    }

    /// The node gets power, unless it has it.
    pub fn power(&mut self, now: u64, node: NodeIndex) {
        self.powered.entry(node).or_insert(now);
    }

    /// The node loses its power, if it has any.
    pub fn lose_power(&mut self, now: u64, node: NodeIndex) {
        if let Some(since) = self.powered.remove(&node) {
            self.lasted_s.insert(node, u32::try_from((now - since) / 1_000_000).unwrap_or(u32::MAX));
        }
    }

    /// The driver boots and finds its flash like this.
    pub fn boot(&mut self, node: NodeIndex, flash: Flash) -> Stored {
        self.unstored.insert(node);
        match flash {
            Flash::Kept => {}
            Flash::Erased => drop(self.histories.remove(&node)),
            Flash::Failing => return Stored::Never,
            Flash::Torn => return Stored::NotYet,
        }
        Stored::Epoch(self.store_again(node))
    }

    /// The driver stores the number of this boot after all.
    pub fn store_again(&mut self, node: NodeIndex) -> u16 {
        let history = self.histories.entry(node).or_default();
        let before = Run { lasted_s: self.lasted_s.remove(&node).unwrap_or(u32::MAX), ending: Ending::PowerLost };
        *history = history.clone().with_run(before);
        self.unstored.remove(&node);
        // There are more epochs than a run has restarts.
        history.advance_epoch().unwrap_or(history.epoch)
    }

    /// The driver stores the next epoch of a node that has used up the present one; none if its flash fails.
    pub fn renew(&mut self, node: NodeIndex) -> Option<u16> {
        if self.unstored.contains(&node) {
            return None;
        }
        self.histories.get_mut(&node)?.advance_epoch()
    }

    /// How long the node keeps quiet before it joins.
    pub fn hold_off(&self, node: NodeIndex) -> Duration {
        self.histories.get(&node).map_or(Duration::ZERO, History::hold_off)
    }
}

#[cfg(test)]
mod tests {
    use common::time::Duration;

    use super::{Boots, Stored};
    use crate::air::index::NodeIndex;
    use crate::scenario::input::plan::Flash;

    const SECOND: u64 = 1_000_000;

    /// A node runs for this long, and boots again.
    fn life(boots: &mut Boots, lasts: u64) -> Duration {
        let node = NodeIndex(0);
        boots.power(5 * SECOND, node);
        boots.lose_power(5 * SECOND + lasts, node);
        assert!(matches!(boots.boot(node, Flash::Kept), Stored::Epoch(_)));
        boots.hold_off(node)
    }

    #[test]
    fn only_lives_that_end_at_once_are_followed_by_silence() {
        let mut boots = Boots::new(1);
        assert_eq!(life(&mut boots, 10 * SECOND), Duration::ZERO);
        assert_eq!(life(&mut boots, 2 * SECOND), Duration::ZERO);
        assert_eq!(life(&mut boots, 2 * SECOND - 1), Duration::from_millis(2_000));
        assert_eq!(life(&mut boots, SECOND), Duration::from_millis(4_000));
        assert_eq!(life(&mut boots, 2 * SECOND), Duration::ZERO);
    }

    #[test]
    fn flash_decides_which_epoch_comes_next() {
        let (mut boots, node) = (Boots::new(1), NodeIndex(0));
        assert_eq!(boots.boot(node, Flash::Kept), Stored::Epoch(2));
        assert_eq!(boots.renew(node), Some(3), "the second was used up");
        assert_eq!((boots.boot(node, Flash::Failing), boots.renew(node)), (Stored::Never, None));
        assert_eq!((boots.boot(node, Flash::Torn), boots.store_again(node)), (Stored::NotYet, 4));
        assert_eq!(boots.boot(node, Flash::Erased), Stored::Epoch(1));
    }
}
