//! Emulated boards on the simulated air.
//!
//! Boards share the air with simulated nodes ([`ether`] joins them), get the configuration page that `ringleader
//! provision` would write ([`fleet`]), and are judged by what they report over their debug probe.

#[cfg(unix)]
pub mod cables;
pub mod ether;
pub mod fleet;
pub mod image;
pub mod report;
pub mod run;
