//! What nodes measure of themselves: their load and how likely they are to fail, as the scenario says.
//!
//! A node measures as a board does: every five seconds from its start, with the core's own meter, and it hears of a new
//! coefficient only where that has changed enough to matter.

use common::board::load::{LoadMeter, Meters, NOTEWORTHY, PoolUse};
use common::coefficient::{Coefficient, Load, Share, WHOLE, Weights};
use common::protocol::Signal;

use crate::air::index::NodeIndex;
use crate::scenario::input::plan::{LoadIndex, LoadPlan, Scenario};
use crate::scenario::run::agenda::Action;
use crate::scenario::run::drive::Run;
use crate::scenario::run::faults::names;

/// The meters of all nodes; none if the scenario has no loads.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads {
    nodes: Vec<Measured>,
    /// Who has heard of a new coefficient just now.
    told: Vec<NodeIndex>,
}

#[derive(Clone, Debug)]
struct Measured {
    load: Load,
    failure: Share,
    /// When its present life began.
    since_us: u64,
    meter: LoadMeter,
    counters: Meters,
    told: Option<Coefficient>,
}

impl Loads {
    pub fn new(scenario: &Scenario) -> Self {
        let idle = Measured {
            load: Load::default(),
            failure: Share::default(),
            since_us: 0,
            meter: LoadMeter::new(Meters::default()),
            counters: Meters::default(),
            told: None,
        };
        let count = if scenario.loads.is_empty() { 0 } else { scenario.topology.nodes() };
        Self { nodes: vec![idle; count], told: Vec::new() }
    }
}

impl Measured {
    /// One reading; some where the node is to hear of it.
    fn read(&mut self) -> Option<Coefficient> {
        let every = u32::try_from(LoadPlan::EVERY_US).unwrap_or(u32::MAX);
        let part = |share: Share| every / u32::from(WHOLE) * u32::from(share.get());
        let Meters { now_us, asleep_us, on_air_us } = self.counters;
        self.counters = Meters {
            now_us: now_us.wrapping_add(every),
            asleep_us: asleep_us.wrapping_add(every - part(self.load.cpu)),
            on_air_us: on_air_us.wrapping_add(part(self.load.bandwidth)),
        };
        let memory = PoolUse { high_water: u32::from(self.load.memory.get()), capacity: u32::from(WHOLE) };
        let load = self.meter.read(self.counters, memory);
        let found = Weights::EQUAL.coefficient(load, self.failure);
        let is_news = self.told.is_none_or(|before| before.0.abs_diff(found.0) >= NOTEWORTHY);
        is_news.then(|| *self.told.insert(found))
    }
}

impl Run<'_> {
    /// A node has started: it will measure itself, from nothing.
    pub(super) fn begin_measuring(&mut self, now: u64, node: NodeIndex) {
        if let Some(measured) = self.loads.nodes.get_mut(node.0) {
            measured.since_us = now;
            measured.meter = LoadMeter::new(measured.counters);
            measured.told = None;
            self.agenda.add(now + LoadPlan::EVERY_US, Action::Measure { node, since_us: now });
        }
    }

    pub(super) fn change_load(&mut self, plan: LoadIndex) {
        let LoadPlan { who, load, failure, .. } = &self.scenario.loads[plan.0];
        for node in self.targets(who) {
            if let Some(measured) = self.loads.nodes.get_mut(node.0) {
                (measured.load, measured.failure) = (*load, *failure);
            }
        }
    }

    pub(super) fn measure(&mut self, now: u64, node: NodeIndex, since_us: u64) {
        let Some(measured) = self.loads.nodes.get_mut(node.0) else { return };
        if !self.world.is_on(node) || measured.since_us != since_us {
            return;
        }
        self.agenda.add(now + LoadPlan::EVERY_US, Action::Measure { node, since_us });
        if let Some(coefficient) = measured.read() {
            self.world.tell(node, &mut self.observer, |program, local| {
                program.handle_signal(local, Signal::Fitness(coefficient));
            });
            self.loads.told.push(node);
        }
    }

    /// Another coefficient may mean another leader, so it is a change; what several nodes measure at once is one.
    pub(super) fn note_measured(&mut self, now: u64) {
        if !self.loads.told.is_empty() {
            let told = std::mem::take(&mut self.loads.told);
            let verb = if told.len() == 1 { "measures" } else { "measure" };
            self.change(now, format!("{} {verb} a new load", names(&told)));
        }
    }
}
