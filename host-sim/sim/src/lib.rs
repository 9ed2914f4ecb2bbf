//! The simulated air and the scenarios that are played on it.
//!
//! [`air`] is the physics: radios, frames, energy. [`scenario`] goes from a text to a verdict: what happens to a network,
//! who judges it, and what is reported. [`swarm`] draws scenarios that nobody has thought of. None of them touches files,
//! threads, clocks or the command line, so that a scenario runs wherever there is a processor; the caller provides whatever
//! belongs to an operating system.

pub mod air;
pub mod fnv;
pub mod insider;
mod maths;
pub mod roster;
pub mod scenario;
pub mod swarm;
