//! Pictures, as SVG.

pub mod chart;
pub mod timeline;
