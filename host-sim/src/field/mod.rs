//! Tools for real boards: keys, configuration pages, commands, fleets, monitoring, traces, image sizes, files for
//! bootloaders and a dissector.

pub mod calibrate;
pub mod channel;
pub mod check;
pub mod clocks;
pub mod command;
pub mod dissector;
pub mod flash;
pub mod fleet;
pub mod join;
pub mod journal;
pub mod key;
pub mod links;
pub mod monitor;
pub mod provision;
pub mod quantity;
pub mod rebuild;
pub mod rerun;
pub mod roll_call;
pub mod size;
pub mod talk;
pub mod uf2;
pub mod utc;
