//! Emulated boards on the simulated air.
//!
//! They are on the same air as the simulated nodes ([`ether`] joins them), get their configuration page as `ringleader
//! provision` would write it ([`fleet`]), and are judged by what they say over their debug probe.

pub mod ether;
pub mod fleet;
pub mod image;
pub mod report;
pub mod run;
