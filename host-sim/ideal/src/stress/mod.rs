//! The `stress` command: thousands of random runs, each of which can be replayed from its number.

pub mod hierarchy;

use std::process::ExitCode;

/// Arguments of `stress`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    target: Target,
}

/// What is put under stress.
#[derive(Debug, clap::Subcommand)]
enum Target {
    /// The leaders' hierarchy: after every fault, does each component end in the one right structure?
    Hierarchy(hierarchy::Args),
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.target {
        Target::Hierarchy(args) => hierarchy::run(args),
    }
}
