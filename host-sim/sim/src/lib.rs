//! The simulated air and the scenarios that are played on it.
//!
//! [`air`] is the physics: radios, frames, energy. [`scenario`] goes from a text to a verdict: what happens to a network,
//! who judges it, and what is reported. [`swarm`] draws scenarios that nobody has thought of. All are free of files, threads, clocks and the command line, so that a scenario
//! runs wherever there is a processor; whoever calls lends what belongs to an operating system.

pub mod air;
pub mod fnv;
pub mod insider;
mod maths;
pub mod roster;
pub mod scenario;
pub mod swarm;
