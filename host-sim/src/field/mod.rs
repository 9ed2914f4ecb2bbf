//! Tools for real boards: keys, configuration pages, fleets, monitoring, traces, image sizes and files for bootloaders.

pub mod check;
pub mod fleet;
pub mod key;
pub mod monitor;
pub mod provision;
pub mod size;
pub mod uf2;
