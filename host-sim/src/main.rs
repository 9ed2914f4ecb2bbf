//! `ringleader`: elections on a PC, with the code that runs on the boards.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use host_sim::{bench, conform, demo, hierarchy, stress, study, table};

/// Leader election for wireless sensor rings: the core that runs on nRF52 boards, driven on a PC.
///
/// Without a command it shows the product: an election on a ring with HS, then a changing ad hoc network with heights.
#[derive(Debug, Parser)]
#[command(name = "ringleader", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show elections happening (what no command does too)
    Demo(demo::Args),
    /// Replay golden vectors against the core and report every mismatch
    Conform(conform::Args),
    /// Reproduce the comparison tables of message and time costs by running the core
    Table(table::Args),
    /// Build a hierarchy of leaders, change the network, and show who leads whom and what it cost
    Hierarchy(hierarchy::Args),
    /// Put algorithms under random stress and report every run that does not end as it must
    Stress(stress::Args),
    /// Measure height elections against size and diameter, with both kinds of clock
    Study(study::Args),
    /// Measure speed and memory of the core
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        None => demo::run(&demo::Args::default()),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Conform(args)) => conform::run(&args),
        Some(Command::Table(args)) => table::run(&args),
        Some(Command::Hierarchy(args)) => hierarchy::run(&args),
        Some(Command::Stress(args)) => stress::run(&args),
        Some(Command::Study(args)) => study::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
