//! What goes wrong in a run: power, clocks, walls, noise, attackers, links that break down.

mod act;
mod attack;
mod spells;
mod under_way;

pub(in crate::scenario) use act::names;
pub(super) use spells::Spells;
pub(super) use under_way::{Attacker, Corruption, Drifts, Jammer, Outages};
