//! Plays a plan: who takes part, what happens to them, and when.

pub mod agenda;
pub mod boards;
mod collection;
mod commands;
pub mod drive;
pub(super) mod faults;
mod fleet;
mod loads;
pub mod mirror;
pub mod program;
pub mod session;
pub mod walk;
