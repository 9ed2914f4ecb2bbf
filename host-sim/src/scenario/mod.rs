//! Scenarios: networks on the simulated air, what happens to them, and what must come of it.

pub mod agenda;
pub mod catalogue;
pub mod checker;
pub mod drive;
pub mod merge;
pub mod observer;
pub mod outcome;
pub mod plan;
pub mod player;
pub mod read;
pub mod recording;
pub mod run;
pub mod shard;
pub mod sweep;
pub mod timeline;
pub mod toml_section;
pub mod topology;
pub mod units;
pub mod walk;
