//! `ringleader bench nodes`: how fast whole nodes are simulated.

use std::process::ExitCode;

use crate::lab::bench::node_bench::{Report, Request, measure};
use crate::outln;
use crate::output::{self, counted};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Nodes on the grid, 20 m apart
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(2..=1_000))]
    pub nodes: u16,
    /// Seconds to simulate
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(60..=86_400))]
    pub seconds: u32,
    /// The root seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How often to run it; the fastest run counts, since other load can only slow a run down
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub runs: u32,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let request = Request { nodes: args.nodes, seconds: args.seconds, seed: args.seed, runs: args.runs };
    let report = measure(request, |run| output::progress(&format!("run {} of {} ...", run + 1, args.runs)))?;
    output::clear_progress();
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Report { nodes, seconds, runs, cpu_seconds, times_real_time, sent, received, ns_per_reception, .. } = &report;
    let Report { node_bytes, node_bytes_max, .. } = &report;
    outln!("{nodes} whole nodes for {seconds} s, fastest of {} on one core:", counted(*runs, "run"))?;
    outln!("  {cpu_seconds:.3} s of processor time, {times_real_time:.0} times as fast as real time")?;
    outln!("  {sent} frames sent, {received} received, {ns_per_reception:.0} ns per reception")?;
    outln!("  {node_bytes} bytes per node, of at most {node_bytes_max}")?;
    if !report.machine.optimised {
        outln!("  (not optimised: build with --release for meaningful numbers)")?;
    }
    Ok(ExitCode::SUCCESS)
}
