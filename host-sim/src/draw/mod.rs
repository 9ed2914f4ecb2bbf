//! Pictures, as SVG.

pub mod chart;
pub mod hierarchy;
mod svg;
pub mod timeline;
