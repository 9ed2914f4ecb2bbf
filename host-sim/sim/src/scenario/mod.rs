//! Scenarios: networks on the simulated air, what happens to them, and what must hold.
//!
//! A scenario passes through four rooms: [`input`] reads a text into a plan, [`run`](mod@run) plays the plan, [`judge`] says
//! what must hold and whether it did, [`report`] holds the results.

pub mod input;
pub mod judge;
pub mod report;
pub mod run;
