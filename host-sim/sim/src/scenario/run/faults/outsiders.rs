//! Radios that are not nodes: jammers, attackers, the network next door.

use std::collections::BTreeMap;

use common::rng::Rng;

use super::active_faults::{Attacker, Jammer};
use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::medium::{Medium, OnAir, Tuning};
use crate::air::power::Power;
use crate::air::propagation::Point;
use crate::air::world::World;
use crate::scenario::input::plan::{FaultIndex, Harm, Scenario, Wifi};
use crate::scenario::input::units::{micros, seconds};
use crate::scenario::run::agenda::exponential;
use crate::scenario::run::program::Program;

/// Jammers and attackers by their fault, and the network next door.
#[derive(Clone, Debug)]
pub(super) struct Outsiders {
    pub jammers: BTreeMap<FaultIndex, Jammer>,
    pub attackers: BTreeMap<FaultIndex, Attacker>,
    /// The radio of a lie, which goes where the liar is.
    pub liars: BTreeMap<FaultIndex, RadioIndex>,
    pub wifi: Option<NextDoor>,
}

/// The network next door, which sends noise in bursts all the time.
#[derive(Clone, Debug)]
pub(super) struct NextDoor {
    plan: Wifi,
    radio: RadioIndex,
    on: Option<OnAir>,
    /// The same numbers as those of faults, but neither moves the other on.
    rng: Rng,
}

impl Outsiders {
    /// Adds every radio that a scenario has besides its nodes.
    pub fn add(scenario: &Scenario, seed: u64, world: &mut World<Program>) -> Self {
        let plan = &scenario.radio;
        let (mut jammers, mut attackers, mut liars) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let tuned = |tx_dbm, channel: Option<u8>| Tuning { channel: channel.unwrap_or(plan.channel), tx_dbm };
        // From here on radios are not nodes.
        let nodes = world.len();
        world.medium_mut().change_propagation(|air| air.nodes = nodes);
        // Before the faults: one more at the end of the list must not make another radio of it.
        let wifi = plan.wifi.map(|plan| {
            let radio = world.medium_mut().add_source(plan.at, tuned(plan.power_dbm, plan.channel));
            NextDoor { plan, radio, on: None, rng: Rng::stream(seed, 0xFA17) }
        });
        for (index, fault) in scenario.faults.iter().enumerate() {
            match &fault.harm {
                Harm::Jam { position, power_dbm, channel, .. } => {
                    let radio = world.medium_mut().add_source(*position, tuned(*power_dbm, *channel));
                    jammers.insert(FaultIndex(index), Jammer { radio, active: 0, on: None });
                }
                Harm::Attack(attack) => {
                    let radio = world.add_intruder(attack.position, tuned(attack.tx_dbm, attack.channel));
                    attackers.insert(FaultIndex(index), Attacker { radio, active: 0, until_us: 0, is_sending: false });
                }
                Harm::Lie { .. } => {
                    let radio = world.add_intruder(Point { x: 0.0, y: 0.0 }, tuned(plan.tx_dbm, None));
                    liars.insert(FaultIndex(index), radio);
                }
                _ => {}
            }
        }
        Self { jammers, attackers, liars, wifi }
    }

    /// What a node hears of all jammers that are on.
    pub fn jamming(&self, medium: &Medium, node: NodeIndex) -> Power {
        let on = self.jammers.values().filter(|jammer| jammer.on.is_some());
        on.filter_map(|jammer| medium.mean_dbm(jammer.radio, node.radio())).map(Power::from_dbm).sum()
    }
}

impl NextDoor {
    /// Begins or ends a burst; how long until the next end or beginning.
    pub fn turn(&mut self, now: u64, begins: bool, medium: &mut Medium) -> u64 {
        if let Some(on) = self.on.take() {
            medium.end(now, on, |_| ());
        }
        let Wifi { duty, burst_us, .. } = self.plan;
        let mean_us = if begins {
            self.on = Some(medium.begin_noise(now, self.radio));
            burst_us
        } else {
            micros(seconds(burst_us) * (1.0 - duty) / duty)
        };
        exponential(&mut self.rng, mean_us)
    }
}
