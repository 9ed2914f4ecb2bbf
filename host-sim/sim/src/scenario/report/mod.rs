//! What came of a run, of two that must be the same, and of a sweep over many seeds.

pub mod merge;
pub mod outcome;
pub mod recording;
pub mod shard;
pub mod spread;
pub mod sweep;
pub mod timeline;
