//! Tools for real boards: keys, configuration pages, fleets, monitoring, traces and image sizes.

pub mod check;
pub mod fleet;
pub mod key;
pub mod monitor;
pub mod provision;
pub mod size;
