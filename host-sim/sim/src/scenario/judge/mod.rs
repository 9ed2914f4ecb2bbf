//! What must hold in a run, and whether it did.

pub(super) mod agreement;
mod changes;
pub mod checker;
pub mod collection;
pub mod components;
mod lateness;
mod liveness;
pub mod observer;
pub mod orders;
pub mod scenery;
mod steadiness;
mod verdict;
