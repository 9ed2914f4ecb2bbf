//! The ideal network of Ringleader: channels that deliver in order while they are up, the graphs to run it on, and what is
//! shown with it alone: random stress and the leaders' hierarchy. What all commands print with is here too, since these print.
//!
//! Part of the simulator, and a package of its own so that tests run it optimised without the rest.

pub mod graph;
pub mod hierarchy;
pub mod net;
pub mod oriented;
pub mod output;
pub mod shuffle;
pub mod stress;
pub mod structure;
pub mod well_formed;
