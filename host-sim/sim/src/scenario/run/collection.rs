//! The flashes of a scenario's nodes, and the drivers that measure, store and log with them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::NodeId;

use crate::air::collector::{Collector, Sampling};
use crate::air::flash::{Desk, Flash as NodeFlash, SharedFlash};
use crate::air::index::NodeIndex;
use crate::scenario::input::plan::{CollectPlan, Flash};

#[derive(Clone, Debug)]
pub struct Collection {
    plan: CollectPlan,
    flashes: Vec<SharedFlash>,
    /// Names for stores, which boards draw by chance.
    names: Rng,
    /// Who has begun another life, whose clock starts over: it measures at once.
    reborn: BTreeSet<NodeIndex>,
}

impl Collection {
    pub fn new(plan: &CollectPlan, nodes: usize) -> Self {
        let mut names = Rng::stream(0x570E, 0);
        let flash = |_| Rc::new(RefCell::new(NodeFlash::new(name(&mut names), plan.store)));
        Self { plan: plan.clone(), flashes: (0..nodes).map(flash).collect(), names, reborn: BTreeSet::new() }
    }

    /// The driver of one life of a node.
    pub fn collector(&self, id: NodeId, seed: u64) -> Collector {
        let node = NodeIndex(usize::from(id.0).saturating_sub(1));
        let from_us = if self.reborn.contains(&node) { 0 } else { self.plan.from_us };
        let sampling = self.plan.measures(node).then(|| Sampling {
            every: Duration::from_micros(self.plan.sample_us),
            from: Instant::from_micros(from_us),
            quantities: self.plan.quantities.clone(),
        });
        let collector =
            Collector::new(self.flashes[node.0].clone(), Duration::from_micros(self.plan.every_us), sampling, seed);
        if self.plan.reader == Some(node) { collector.reading() } else { collector }
    }

    /// Logs count only once this desk has them.
    pub fn attach(&self, desk: &Desk) {
        for flash in &self.flashes {
            flash.borrow_mut().attach(desk.clone());
        }
    }

    pub fn boot(&mut self, node: NodeIndex, flash: Flash) {
        self.reborn.insert(node);
        let mut stored = self.flashes[node.0].borrow_mut();
        stored.set_failing(flash == Flash::Failing);
        if flash == Flash::Erased {
            stored.erase(name(&mut self.names));
        }
    }
}

fn name(names: &mut Rng) -> u16 {
    u16::try_from(names.below(1 << 16)).unwrap_or(0)
}
