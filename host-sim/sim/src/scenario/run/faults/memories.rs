//! Corrupts the memory of nodes.
//!
//! What nodes knew is kept half-way to each corruption, and once more when it strikes. So what a node finds in its memory is from
//! another time, and perhaps from another life.

use crate::air::index::NodeIndex;
use crate::scenario::input::plan::Who;
use crate::scenario::run::drive::Run;
use crate::scenario::run::faults::names;

impl Run<'_> {
    pub(in crate::scenario) fn remember(&mut self) {
        self.faults.memories =
            NodeIndex::first(self.world.len()).map(|node| self.world.station(node).clone()).collect();
    }

    pub(in crate::scenario) fn corrupt_state(&mut self, now: u64, who: &Who) {
        let struck: Vec<NodeIndex> = self.targets(who).into_iter().filter(|&node| self.world.is_on(node)).collect();
        if struck.is_empty() {
            return;
        }
        let memories = std::mem::take(&mut self.faults.memories);
        self.remember();
        // Reported first, because it is the cause of whom a node follows from then on. After this, leaders may come
        // from anywhere.
        self.change(now, format!("the memory of {} goes wrong", names(&struck)));
        self.observer.note_corruption();
        for &node in &struck {
            let Some(other) = memories.get(node.0) else { continue };
            let rng = &mut self.faults.rng;
            self.world.tell(node, &mut self.observer, |program, local| program.corrupt(local, rng, other));
        }
    }
}
