//! What goes wrong in a run: power, clocks, walls, noise, attackers, links that break down.

mod active_faults;
mod apply;
mod attack;
mod long_fades;

pub(super) use active_faults::{Attacker, Corruption, Drifts, Jammer, Outages};
pub(in crate::scenario) use apply::names;
pub(super) use long_fades::LongFades;
