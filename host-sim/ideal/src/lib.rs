//! The ideal network of Ringleader: channels that deliver in order while they are up, the graphs to run it on, and what is
//! run on it alone: random stress and the leaders' hierarchy. Nothing here prints: that is for the commands.
//!
//! Part of the simulator, and a package of its own so that tests run it optimised without the rest.

pub mod graph;
pub mod hierarchy;
pub mod net;
pub mod oriented;
pub mod shuffle;
pub mod stress;
pub mod structure;
pub mod well_formed;
