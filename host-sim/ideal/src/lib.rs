//! The ideal network of Ringleader: channels that deliver in order while they are up, the graphs to run it on, and what
//! runs on it alone: random stress, the hierarchy of leaders, a ring of a million, and every algorithm on a workload to be
//! timed. Nothing here prints; the commands do.
//!
//! It is a package of its own so that tests can use it without building the rest.

pub mod big_ring;
pub mod candidates;
pub mod graph;
pub mod hierarchy;
pub mod index;
pub mod net;
pub mod oriented;
pub mod ring;
pub mod shuffle;
pub mod stress;
pub mod structure;
pub mod well_formed;
pub mod workload;
