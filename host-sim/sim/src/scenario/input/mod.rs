//! From a text to a plan: TOML, units, data files, and the scenarios that come with the program.

pub mod catalogue;
pub mod collect_plan;
pub mod commands;
pub mod edit;
pub mod fault_plan;
pub mod link_table;
pub mod plan;
pub mod read;
pub mod toml_section;
pub mod topology;
pub mod units;
