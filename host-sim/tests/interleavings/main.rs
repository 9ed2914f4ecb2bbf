//! Every interleaving of small cases, on the very core that a board runs.

mod arrange;
mod frlle;
mod height;
mod hs;
#[path = "../support/mod.rs"]
mod support;
mod walk;
