//! Strangers: networks that nothing was tuned to.
//!
//! A seed is a whole stranger: where nodes stand, what the air is like, which algorithm they run, and everything that happens to
//! them. Features are switched on and off as a whole, so that extremes meet (swarm testing, after Groce et al. 2012).
//! [`draw`](mod@draw) makes a stranger of a seed and `positions` says where its nodes stand, `history` what befalls them,
//! `text` writes it as an ordinary scenario, [`bound`] says what must hold of it and [`finding`] whether it did,
//! [`shrink`](mod@shrink) makes a failing one small, and [`tally`] sums up many.

pub mod bound;
pub mod draw;
pub mod finding;
mod history;
mod lot;
mod positions;
pub mod shrink;
pub mod stranger;
pub mod tally;
mod text;
