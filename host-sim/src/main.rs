//! `ringleader`: elections on a PC, with the code that runs on the boards.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use host_sim::cli::{
    bench, board, check, conform, demo, hierarchy, key, merge, monitor, output, provision, run, scenarios, size,
    stress, study, sweep, table,
};
use host_sim::note;

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
    /// Run a scenario on the simulated air and check it
    Run(run::Args),
    /// Run a scenario with emulated boards that run the image which is flashed
    ///
    /// The nodes that the scenario marks with `kind = "board"` are emulated nRF52 boards; the others are simulated, on the
    /// same air. Where the scenario marks none, every node is a board. The image is built first where it is missing or
    /// older than its sources. The exit code is that of `run`: 0 where everything held, 1 for bad input, 2 where safety was
    /// violated (a board that crashed counts too), 3 where there was no agreement in time.
    Board(board::Args),
    /// Run a scenario with many seeds: percentiles, and the seeds that fail
    Sweep(sweep::Args),
    /// Join the shards of a sweep
    Merge(merge::Args),
    /// List the built-in scenarios
    Scenarios,
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
    /// Measure the flash and RAM of a board's image, and hold them against a budget
    Size(size::Args),
    /// Make a network key
    Key(key::Args),
    /// Tell boards their id, network and key: a page to flash, or over the cable
    Provision(provision::Args),
    /// Show what boards on cables do, live, and record a trace of it
    Monitor(monitor::Args),
    /// Check traces, of boards or of the simulator: who led when, how long elections took
    Check(check::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Bad input is 1 everywhere; help and version are no errors.
            let printed = error.print();
            if error.use_stderr() {
                return ExitCode::FAILURE;
            }
            return finish(output::written(printed).map(|()| ExitCode::SUCCESS));
        }
    };
    let result = match cli.command {
        None => demo::run(&demo::Args::default()),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Board(args)) => board::run(&args),
        Some(Command::Sweep(args)) => sweep::run(&args),
        Some(Command::Merge(args)) => merge::run(&args),
        Some(Command::Scenarios) => scenarios::run(),
        Some(Command::Conform(args)) => conform::run(&args),
        Some(Command::Table(args)) => table::run(&args),
        Some(Command::Hierarchy(args)) => hierarchy::run(&args),
        Some(Command::Stress(args)) => stress::run(&args),
        Some(Command::Study(args)) => study::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Size(args)) => size::run(&args),
        Some(Command::Key(args)) => key::run(&args),
        Some(Command::Provision(args)) => provision::run(&args),
        Some(Command::Monitor(args)) => monitor::run(&args),
        Some(Command::Check(args)) => check::run(&args),
    };
    finish(result)
}

fn finish(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        note!("error: {error:#}");
        ExitCode::FAILURE
    })
}
