//! The commands of `ringleader`, a file each: what they take and what they print.

pub mod board;
pub mod files;
pub(crate) mod graph_kind;
pub mod hierarchy;
pub mod merge;
pub mod output;
pub mod run;
pub mod scenario_file;
pub mod scenarios;
pub mod shell;
pub mod stress;
pub mod sweep;
