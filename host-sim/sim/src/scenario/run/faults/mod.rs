//! What goes wrong in a run: power, clocks, walls, noise, attackers, links that break down.

mod active_faults;
mod apply;
mod attack;
mod boots;
mod lies;
mod long_fades;
mod memories;
mod outsiders;

use active_faults::{Corruption, Drifts, Outages};
pub(in crate::scenario) use apply::names;
use boots::Boots;
use common::rng::Rng;
use long_fades::LongFades;
use outsiders::Outsiders;

use crate::air::index::NodeIndex;
use crate::air::medium::Medium;
use crate::air::power::Power;
use crate::air::world::World;
use crate::scenario::input::plan::Scenario;
use crate::scenario::run::agenda::StrikeId;
use crate::scenario::run::program::Program;

/// Everything that is wrong at present, and the random numbers of faults.
pub(super) struct Faults {
    rng: Rng,
    last_strike: StrikeId,
    outages: Outages,
    drifts: Drifts,
    corruption: Corruption,
    outsiders: Outsiders,
    long_fades: LongFades,
    /// What all nodes knew at another time, for corruptions.
    memories: Vec<Program>,
    boots: Boots,
}

impl Faults {
    /// Nothing is wrong yet. Adds the radios of jammers, attackers and the network next door to the world, which must have its
    /// nodes already.
    pub fn new(scenario: &Scenario, seed: u64, world: &mut World<Program>) -> Self {
        Self {
            rng: Rng::stream(seed, 0xFA17),
            last_strike: StrikeId::default(),
            outages: Outages::default(),
            drifts: Drifts::default(),
            corruption: Corruption::default(),
            boots: Boots::new(world.len()),
            outsiders: Outsiders::add(scenario, seed, world),
            long_fades: LongFades::default(),
            memories: Vec::new(),
        }
    }

    /// The mean power of one node at another, less what a long fade of their link takes.
    pub fn power_dbm(&self, medium: &Medium, from: NodeIndex, to: NodeIndex) -> Option<f64> {
        Some(medium.mean_dbm(from.radio(), to.radio())? - self.long_fades.loss_db(from, to))
    }

    /// What a node hears besides frames: the noise, and every jammer that is on.
    pub fn noise_dbm(&self, medium: &Medium, node: NodeIndex) -> f64 {
        let floor = Power::from_dbm(medium.propagation().noise_dbm);
        (floor + self.outsiders.jamming(medium, node)).dbm()
    }

    fn next_strike(&mut self) -> StrikeId {
        self.last_strike.0 += 1;
        self.last_strike
    }
}
