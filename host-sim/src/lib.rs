//! The simulator and desktop tools of Ringleader: thin drivers of the core in `common`.

pub mod air;
pub mod bench;
pub mod board;
pub mod chart;
pub mod check;
pub mod conform;
pub mod demo;
pub mod fleet;
pub mod fnv;
pub mod hs_extremes;
pub mod key;
pub mod monitor;
pub mod provision;
pub mod ring_steps;
pub mod scenario;
pub mod shell;
pub mod size;
pub mod study;
pub mod table;

/// The ideal network, in a package of its own.
pub use ideal::{graph, hierarchy, net, note, oriented, out, outln, output, shuffle, stress, structure, well_formed};
