//! Pictures, as SVG.

pub mod chart;
pub mod hierarchy;
pub mod timeline;
