//! The laboratory: measures what the algorithms cost, compares them, and checks them against golden results.

pub mod bench;
pub mod conform;
pub mod demo;
pub mod film;
pub mod fit;
pub mod hierarchy;
pub mod hs_extremes;
pub mod many_seeds;
pub mod ring_steps;
pub mod stress_report;
pub mod study;
pub mod table;
