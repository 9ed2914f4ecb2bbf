//! `ringleader bench elections`: how long whole nodes go without a leader.

use std::process::ExitCode;

use anyhow::ensure;
use sim::scenario::report::shard::{SEEDS_MAX, Seeds};

use crate::lab::bench::elections::{OTHERS, Row, cases};
use crate::outln;
use crate::output::{self, counted};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Seeds per row
    #[arg(long, default_value_t = 100)]
    pub seeds: u64,
    /// Run only the rows whose name contains this, such as ring16 or "20 %"
    #[arg(long)]
    pub only: Option<String>,
    /// Parallel runs [default: the number of processors]
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    ensure!((1..=SEEDS_MAX).contains(&args.seeds), "--seeds must be from 1 to {SEEDS_MAX}");
    ensure!(args.jobs != Some(0), "--jobs must be at least 1");
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let seeds = Seeds { from: 0, to: args.seeds };
    let mut cases = cases()?;
    if let Some(only) = &args.only {
        cases.retain(|case| case.name.contains(only.as_str()));
        ensure!(
            !cases.is_empty(),
            "no row's name contains \"{only}\"; the rows are ring8 to ring64 and mesh16 to mesh64 with \"0 %\" to \"20 %\", {}",
            OTHERS.join(", ")
        );
    }
    if !args.json {
        outln!(
            "{} per row; times are p50 / p99 in seconds, the rest is p50; energy is per node, in uAh for the whole run",
            counted(args.seeds, "seed")
        )?;
        outln!(
            "network          failed    detected, s       let go, s   wave alone, s        total, s  frames  airtime  energy  floors: detect wave total  factor"
        )?;
    }
    let mut rows = Vec::new();
    for case in &cases {
        let row = Row::measure(case, seeds, jobs);
        output::clear_progress();
        if !args.json {
            outln!("{}", row.line())?;
        }
        rows.push(row);
        if output::is_closed() {
            break;
        }
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(ExitCode::SUCCESS)
}
