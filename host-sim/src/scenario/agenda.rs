//! What happens to the network, in order of time.

use std::collections::BTreeMap;

use common::rng::Rng;

use super::plan::{Harm, Mobility, Scenario, When, Who, unit};
use crate::air::propagation::Place;

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A fault of the scenario begins.
    Begin(usize),
    /// A wall or a jammer of the scenario ends.
    End(usize),
    /// Nodes get their power back.
    Restart(Who),
    /// Everybody moves on.
    Move,
    /// The network next door begins or ends a burst.
    Wifi(bool),
}

/// Actions by time; those of one time in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    actions: BTreeMap<(u64, u64), Action>,
    added: u64,
}

/// How often moving nodes are moved on.
pub const STEP_US: u64 = 200_000;

impl Agenda {
    /// Everything that is known before the start; random times are drawn here.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let mut agenda = Self::default();
        for (index, fault) in scenario.faults.iter().enumerate() {
            match fault.when {
                When::At(at) => agenda.strike(at, index, &fault.harm),
                When::Every(mean, from, until) => {
                    let mut rng = Rng::stream(seed ^ 0xFA17, index as u64);
                    let mut at = from + exponential(&mut rng, mean);
                    while at < until {
                        agenda.strike(at, index, &fault.harm);
                        at += exponential(&mut rng, mean);
                    }
                }
            }
        }
        if scenario.mobility.is_some() {
            agenda.add(STEP_US, Action::Move);
        }
        if scenario.radio.wifi.is_some() {
            agenda.add(0, Action::Wifi(true));
        }
        agenda
    }

    /// Adds an action.
    pub fn add(&mut self, at: u64, action: Action) {
        self.actions.insert((at, self.added), action);
        self.added += 1;
    }

    /// When the next one is due.
    pub fn next_us(&self) -> Option<u64> {
        self.actions.keys().next().map(|key| key.0)
    }

    /// The next one that is due by now.
    pub fn pop(&mut self, now: u64) -> Option<Action> {
        let entry = self.actions.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    fn strike(&mut self, at: u64, index: usize, harm: &Harm) {
        self.add(at, Action::Begin(index));
        match harm {
            Harm::Wall(_, Some(lasts)) | Harm::Jam(_, _, lasts) => self.add(at + lasts, Action::End(index)),
            Harm::Wall(_, None) | Harm::Crash(..) | Harm::Restart(_) => {}
        }
    }
}

/// A memoryless time with this mean; at least a microsecond.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "times of a run are far below 2^52 microseconds"
)]
pub fn exponential(rng: &mut Rng, mean_us: u64) -> u64 {
    ((-(1.0 - unit(rng)).ln() * mean_us as f64) as u64).max(1)
}

/// Nodes that walk to one random point after another; a group shares its walk.
#[derive(Clone, Debug)]
pub struct Walk {
    plan: Mobility,
    walkers: Vec<Walker>,
    /// Where each node is, relative to its walker.
    offsets: Vec<(usize, Place)>,
}

#[derive(Clone, Debug)]
struct Walker {
    rng: Rng,
    at: Place,
    target: Place,
    speed: f64,
}

impl Walk {
    /// Nodes that start here.
    pub fn new(plan: Mobility, places: &[Place], seed: u64) -> Self {
        let walker = |(index, at): (usize, Place)| {
            let mut walker = Walker { rng: Rng::stream(seed ^ 0x3A1C, index as u64), at, target: at, speed: 1.0 };
            walker.turn(plan);
            walker
        };
        let (walkers, offsets) = if plan.as_group {
            (vec![walker((0, (0.0, 0.0)))], places.iter().map(|&place| (0, place)).collect())
        } else {
            let alone = (0..places.len()).map(|node| (node, (0.0, 0.0))).collect();
            (places.iter().copied().enumerate().map(walker).collect(), alone)
        };
        Self { plan, walkers, offsets }
    }

    /// Lets this many seconds pass; where everybody is then.
    pub fn pass(&mut self, seconds: f64) -> impl Iterator<Item = Place> + '_ {
        for walker in &mut self.walkers {
            let (dx, dy) = (walker.target.0 - walker.at.0, walker.target.1 - walker.at.1);
            let (left, step) = (dx.hypot(dy), walker.speed * seconds);
            if left <= step {
                walker.at = walker.target;
                walker.turn(self.plan);
            } else {
                walker.at = (walker.at.0 + dx * step / left, walker.at.1 + dy * step / left);
            }
        }
        self.offsets.iter().map(|&(walker, (x, y))| (self.walkers[walker].at.0 + x, self.walkers[walker].at.1 + y))
    }
}

impl Walker {
    fn turn(&mut self, plan: Mobility) {
        self.target = (unit(&mut self.rng) * plan.side, unit(&mut self.rng) * plan.side);
        self.speed = plan.speed.0 + unit(&mut self.rng) * (plan.speed.1 - plan.speed.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Agenda, Walk};
    use crate::scenario::plan::Mobility;

    #[test]
    fn actions_come_in_order() {
        let mut agenda = Agenda::default();
        agenda.add(7, Action::Move);
        agenda.add(5, Action::Begin(1));
        agenda.add(5, Action::Begin(0));
        assert_eq!(agenda.next_us(), Some(5));
        assert_eq!(agenda.pop(4), None);
        assert_eq!(agenda.pop(5), Some(Action::Begin(1)));
        assert_eq!(agenda.pop(5), Some(Action::Begin(0)));
        assert_eq!(agenda.pop(6), None);
    }

    #[test]
    fn walkers_keep_their_speed_and_groups_their_shape() {
        let plan = Mobility { as_group: false, speed: (1.0, 2.0), side: 50.0, until_us: 0 };
        let places = [(0.0, 0.0), (10.0, 5.0)];
        let mut walk = Walk::new(plan, &places, 3);
        let mut before = places.to_vec();
        for _ in 0..500 {
            let now: Vec<_> = walk.pass(0.2).collect();
            assert!(before.iter().zip(&now).all(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1) <= 0.4 + 1e-9));
            before = now;
        }
        assert_ne!(before, places);
        let mut group = Walk::new(Mobility { as_group: true, ..plan }, &places, 3);
        let moved: Vec<_> = group.pass(1.0).collect();
        assert!((moved[1].0 - moved[0].0 - 10.0).abs() < 1e-9 && (moved[1].1 - moved[0].1 - 5.0).abs() < 1e-9);
    }
}
