//! The commands of `ringleader`, one file each: their arguments and what they print.

pub mod bench;
pub mod board;
pub mod check;
pub mod conform;
pub mod demo;
pub mod dissector;
pub mod files;
pub mod flash;
pub mod gateway;
mod graph_kind;
pub mod hierarchy;
pub mod join;
pub mod key;
pub mod links;
pub mod manual;
pub mod merge;
pub mod monitor;
pub mod pictures;
pub mod ports;
pub mod provision;
pub mod replay;
pub mod run;
pub mod scenario_file;
pub mod scenarios;
pub mod schema;
pub mod shell;
pub mod size;
#[cfg(unix)]
mod stage;
pub mod stress;
pub mod study;
pub mod swarm;
pub mod sweep;
pub mod table;
pub mod tell;
pub mod uf2;
pub mod view;
