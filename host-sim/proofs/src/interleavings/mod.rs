//! Every interleaving of small cases, on the same core that a board runs.

mod arrange;
mod frlle;
mod height;
mod hs;
mod orders;
mod walk;
