//! The ideal network of Ringleader: channels that deliver in order while they are up, the graphs to run it on, and what
//! runs on it alone: random stress and the hierarchy of leaders. Nothing here prints; the commands do.
//!
//! It is a package of its own so that tests can use it without building the rest.

pub mod graph;
pub mod hierarchy;
pub mod net;
pub mod oriented;
pub mod shuffle;
pub mod stress;
pub mod structure;
pub mod well_formed;
