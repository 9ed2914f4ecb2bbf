//! The simulator and desktop tools of Ringleader: thin drivers of the core in `common`.

pub mod bench;
pub mod chart;
pub mod conform;
pub mod demo;
pub mod elf32;
pub mod graph;
pub mod net;
pub mod size;
pub mod study;
pub mod table;
