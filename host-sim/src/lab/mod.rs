//! The laboratory: what the algorithms cost, measured, compared and held against golden results.

pub mod bench;
pub mod conform;
pub mod demo;
pub mod fit;
pub mod hierarchy;
pub mod hs_extremes;
pub mod many_seeds;
pub mod ring_steps;
pub mod study;
pub mod table;
