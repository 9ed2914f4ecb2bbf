//! What happens to the network, in order of time.

use std::collections::BTreeMap;

use common::rng::Rng;

use super::plan::{Harm, Mobility, Scenario, Wander, When, unit};
use crate::air::propagation::Place;

/// One time that a fault struck; every one has a number of its own.
pub type Strike = u64;

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A fault of the scenario begins.
    Begin(usize),
    /// A fault of the scenario ends.
    End(usize),
    /// What cut these nodes' power is over.
    EndOutage(Strike, Vec<usize>),
    /// A node's driver tries once more to store its epoch, if it is still in this life.
    StoreAgain(usize, u64),
    /// The attacker of a fault sends.
    Attack(usize),
    /// What made these nodes' clocks drift is over.
    EndDrift(Strike, Vec<usize>),
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
        match (harm, harm.lasts_us()) {
            // Whom it struck is only known then, so its end is added then.
            (Harm::Crash(..) | Harm::Drift(..), _) | (_, None) => {}
            (_, Some(lasts)) => self.add(at + lasts, Action::End(index)),
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

/// Nodes that move.
#[derive(Clone, Debug)]
pub enum Walk {
    /// To one random point after another; a group shares its walk.
    Random(Wander, Vec<Walker>, Vec<(usize, Place)>),
    /// As listed; nodes without a way stay where they are.
    Listed(BTreeMap<usize, Vec<(u64, Place)>>),
}

/// Somebody who walks to random points.
#[derive(Clone, Debug)]
pub struct Walker {
    rng: Rng,
    at: Place,
    target: Place,
    speed: f64,
}

impl Walk {
    /// Nodes that start here.
    pub fn new(plan: &Mobility, places: &[Place], seed: u64) -> Self {
        let plan = match plan {
            Mobility::Random(wander) => *wander,
            Mobility::Listed(ways) => return Self::Listed(ways.clone()),
        };
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
        Self::Random(plan, walkers, offsets)
    }

    /// Lets this many seconds pass until now; who moved, and where to.
    pub fn pass(&mut self, now_us: u64, seconds: f64) -> Vec<(usize, Place)> {
        match self {
            Self::Random(plan, walkers, offsets) => {
                for walker in walkers.iter_mut() {
                    walker.walk(seconds, *plan);
                }
                let at = |&(walker, (x, y)): &(usize, Place)| (walkers[walker].at.0 + x, walkers[walker].at.1 + y);
                offsets.iter().map(at).enumerate().collect()
            }
            Self::Listed(ways) => ways.iter().filter_map(|(&node, way)| Some((node, along(way, now_us)?))).collect(),
        }
    }
}

/// Where a way is at a time: on the straight line between two of its points, and at its ends before and after.
fn along(way: &[(u64, Place)], now_us: u64) -> Option<Place> {
    let next = way.partition_point(|&(at, _)| at <= now_us);
    let &(to_us, to) = way.get(next).or(way.last())?;
    let &(from_us, from) = way.get(next.saturating_sub(1))?;
    if next == 0 || to_us <= now_us {
        return Some(to);
    }
    #[expect(clippy::cast_precision_loss, reason = "times of a run are far below 2^52 microseconds")]
    let share = (now_us - from_us) as f64 / (to_us - from_us) as f64;
    Some((from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share))
}

impl Walker {
    fn walk(&mut self, seconds: f64, plan: Wander) {
        let (dx, dy) = (self.target.0 - self.at.0, self.target.1 - self.at.1);
        let (left, step) = (dx.hypot(dy), self.speed * seconds);
        if left <= step {
            self.at = self.target;
            self.turn(plan);
        } else {
            self.at = (self.at.0 + dx * step / left, self.at.1 + dy * step / left);
        }
    }

    fn turn(&mut self, plan: Wander) {
        self.target = (unit(&mut self.rng) * plan.side, unit(&mut self.rng) * plan.side);
        self.speed = plan.speed.0 + unit(&mut self.rng) * (plan.speed.1 - plan.speed.0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Action, Agenda, Walk};
    use crate::scenario::plan::{Mobility, Wander};

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
        let plan = Wander { as_group: false, speed: (1.0, 2.0), side: 50.0, until_us: 0 };
        let places = [(0.0, 0.0), (10.0, 5.0)];
        let mut walk = Walk::new(&Mobility::Random(plan), &places, 3);
        let mut before = places.to_vec();
        for _ in 0..500 {
            let now: Vec<_> = walk.pass(0, 0.2).into_iter().map(|(_, place)| place).collect();
            assert!(before.iter().zip(&now).all(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1) <= 0.4 + 1e-9));
            before = now;
        }
        assert_ne!(before, places);
        let mut group = Walk::new(&Mobility::Random(Wander { as_group: true, ..plan }), &places, 3);
        let moved: Vec<_> = group.pass(0, 1.0).into_iter().map(|(_, place)| place).collect();
        assert!((moved[1].0 - moved[0].0 - 10.0).abs() < 1e-9 && (moved[1].1 - moved[0].1 - 5.0).abs() < 1e-9);
    }

    #[test]
    fn listed_ways_are_walked_at_their_times() {
        let way =
            vec![(1_000_000, (0.0, 0.0)), (3_000_000, (10.0, 0.0)), (3_000_000, (10.0, 9.0)), (4_000_000, (0.0, 9.0))];
        let plan = Mobility::Listed(BTreeMap::from([(2, way)]));
        assert_eq!(plan.until_us(), 4_000_000);
        let mut walk = Walk::new(&plan, &[(5.0, 5.0); 3], 1);
        let mut at = |seconds: f64| walk.pass(super::super::units::micros(seconds), 0.2)[0];
        assert_eq!(at(0.5), (2, (0.0, 0.0)));
        assert_eq!(at(2.0), (2, (5.0, 0.0)));
        assert_eq!(at(3.0), (2, (10.0, 9.0)), "two points at one time are a jump");
        assert_eq!(at(3.5), (2, (5.0, 9.0)));
        assert_eq!(at(9.0), (2, (0.0, 9.0)));
    }
}
