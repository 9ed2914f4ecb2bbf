//! What must hold in a run, and whether it did.

pub mod checker;
pub(super) mod liveness;
pub mod observer;
pub(super) mod verdict;
