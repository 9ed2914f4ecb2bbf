//! Every interleaving of small cases, on the very core that a board runs.

mod arrange;
mod frlle;
mod height;
mod hs;
mod walk;
