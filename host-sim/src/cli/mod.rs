//! The commands of `ringleader`, one file each: their arguments and what they print.

pub mod bench;
pub mod board;
pub mod check;
pub mod conform;
pub mod demo;
pub mod files;
mod graph_kind;
pub mod hierarchy;
pub mod key;
pub mod merge;
pub mod monitor;
pub mod provision;
pub mod run;
pub mod scenario_file;
pub mod scenarios;
pub mod shell;
pub mod size;
pub mod stress;
pub mod study;
pub mod sweep;
pub mod table;
pub mod uf2;
