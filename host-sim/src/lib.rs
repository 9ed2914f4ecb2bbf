//! The simulator and desktop tools of Ringleader: thin drivers of the core in `common`.

pub mod air;
pub mod bench;
pub mod board;
pub mod chart;
pub mod check;
pub mod conform;
pub mod demo;
pub mod elf32;
pub mod fleet;
pub mod graph;
pub mod hierarchy;
pub mod hs_extremes;
pub mod key;
pub mod monitor;
pub mod net;
pub mod oriented;
pub mod provision;
pub mod ring_steps;
pub mod scenario;
pub mod shuffle;
pub mod size;
pub mod stress;
pub mod structure;
pub mod study;
pub mod table;
pub mod well_formed;
