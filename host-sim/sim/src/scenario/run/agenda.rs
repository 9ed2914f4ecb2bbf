//! What happens to the network, in order of time.

use std::collections::{BTreeMap, BTreeSet};

use common::rng::Rng;

use crate::air::index::NodeIndex;
use crate::maths;
use crate::scenario::input::commands::CommandIndex;
use crate::scenario::input::plan::{FaultIndex, Harm, LoadIndex, Model, Scenario, When, unit};

/// One strike of a fault; each has a number of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StrikeId(pub u64);

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A fault of the scenario begins.
    Begin(FaultIndex),
    /// A fault of the scenario ends.
    End(FaultIndex),
    /// What cut these nodes' power is over.
    EndOutage {
        strike: StrikeId,
        nodes: Vec<NodeIndex>,
    },
    /// A node's driver tries once more to store its epoch, if it is still in this life.
    StoreAgain {
        node: NodeIndex,
        life: u64,
    },
    /// A node that kept quiet after its short lives joins, if it is still in this one.
    EndHoldOff {
        node: NodeIndex,
        life: u64,
    },
    /// These nodes have said that they go.
    Stop(Vec<NodeIndex>),
    /// The attacker of a fault sends.
    Attack(FaultIndex),
    /// What made these nodes' clocks drift is over.
    EndDrift {
        strike: StrikeId,
        nodes: Vec<NodeIndex>,
    },
    Move,
    /// What all nodes know is kept for a later corruption.
    Remember,
    /// A node is told something.
    Command(CommandIndex),
    /// Somebody asks all nodes for their state.
    Ask,
    /// Nodes are loaded otherwise from now on.
    Load(LoadIndex),
    /// A node measures itself, if it is still in the life that began then.
    Measure {
        node: NodeIndex,
        since_us: u64,
    },
    /// Measured links change, as the table has it for this time.
    Links {
        at_us: u64,
    },
    /// The network next door begins or ends a burst.
    Wifi {
        begins: bool,
    },
}

/// When an action is due, and how many were added before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_us: u64,
    added: u64,
}

/// Actions by time; those of one time in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    actions: BTreeMap<Due, Action>,
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
                When::Once { at_us } => agenda.add_strike(at_us, FaultIndex(index), &fault.harm),
                When::Every { mean_us, from_us, until_us } => {
                    let mut rng = Rng::stream(seed ^ 0xFA17, index as u64);
                    let mut at_us = from_us + exponential(&mut rng, mean_us);
                    while at_us < until_us {
                        agenda.add_strike(at_us, FaultIndex(index), &fault.harm);
                        at_us += exponential(&mut rng, mean_us);
                    }
                }
            }
        }
        for (index, load) in scenario.loads.iter().enumerate() {
            agenda.add(load.at_us, Action::Load(LoadIndex(index)));
        }
        for (index, command) in scenario.commands.iter().enumerate() {
            agenda.add(command.at_us, Action::Command(CommandIndex(index)));
        }
        if let Model::Table(table) = &scenario.radio.model {
            let times: BTreeSet<u64> = table.changes.iter().map(|change| change.at_us).collect();
            for at_us in times {
                agenda.add(at_us, Action::Links { at_us });
            }
        }
        if let Some(plan) = &scenario.fleet {
            agenda.add(plan.from_us, Action::Ask);
        }
        if scenario.mobility.is_some() {
            agenda.add(STEP_US, Action::Move);
        }
        if scenario.radio.wifi.is_some() {
            agenda.add(0, Action::Wifi { begins: true });
        }
        agenda
    }

    pub fn add(&mut self, at: u64, action: Action) {
        self.actions.insert(Due { at_us: at, added: self.added }, action);
        self.added += 1;
    }

    pub fn next_us(&self) -> Option<u64> {
        self.actions.keys().next().map(|slot| slot.at_us)
    }

    /// The next one that is due by now.
    pub fn pop(&mut self, now: u64) -> Option<Action> {
        let entry = self.actions.first_entry().filter(|entry| entry.key().at_us <= now)?;
        Some(entry.remove())
    }

    fn add_strike(&mut self, at: u64, fault: FaultIndex, harm: &Harm) {
        if matches!(harm, Harm::CorruptState { .. }) {
            self.add(at / 2, Action::Remember);
        }
        self.add(at, Action::Begin(fault));
        match (harm, harm.lasts_us()) {
            // Whom it struck is only known then, so its end is added then.
            (Harm::Crash { .. } | Harm::Lie { .. } | Harm::Drift { .. }, _) | (_, None) => {}
            (_, Some(lasts)) => self.add(at + lasts, Action::End(fault)),
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
    ((-maths::ln(1.0 - unit(rng)) * mean_us as f64) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::{Action, Agenda, FaultIndex};

    #[test]
    fn actions_come_in_order() {
        let mut agenda = Agenda::default();
        agenda.add(7, Action::Move);
        agenda.add(5, Action::Begin(FaultIndex(1)));
        agenda.add(5, Action::Begin(FaultIndex(0)));
        assert_eq!(agenda.next_us(), Some(5));
        assert_eq!(agenda.pop(4), None);
        assert_eq!(agenda.pop(5), Some(Action::Begin(FaultIndex(1))));
        assert_eq!(agenda.pop(5), Some(Action::Begin(FaultIndex(0))));
        assert_eq!(agenda.pop(6), None);
    }
}
