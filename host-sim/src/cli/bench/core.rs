//! `ringleader bench core`: the election core.

use std::process::ExitCode;

use crate::lab::bench::core_bench::{NODES, measure};
use crate::lab::bench::text;
use crate::output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Nodes on the large HS ring; each takes about 110 bytes
    #[arg(long, default_value_t = NODES, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    nodes: u32,
    /// The random seed of everything: the order of ids, coefficients, positions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let report = measure(args.nodes, args.seed)?;
    let printed = if args.json { serde_json::to_string_pretty(&report)? + "\n" } else { text::render(&report) };
    output::print(&printed)?;
    Ok(ExitCode::SUCCESS)
}
