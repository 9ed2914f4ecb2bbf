//! Pictures, as SVG.

pub mod chart;
mod colours;
pub mod hierarchy;
pub mod network;
pub mod svg;
pub mod timeline;
