//! The results of one run, of two runs that must be identical, and of a sweep over many seeds.

pub mod collected;
pub mod commands;
pub mod fleet;
pub mod merge;
pub mod outcome;
pub mod recording;
pub mod shard;
pub mod spread;
pub mod story;
pub mod sweep;
pub mod timeline;
