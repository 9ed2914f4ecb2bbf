//! Tools for real boards: keys, configuration pages, fleets, what boards tell, and what an image takes.

pub mod check;
pub mod fleet;
pub mod key;
pub mod monitor;
pub mod provision;
pub mod size;
