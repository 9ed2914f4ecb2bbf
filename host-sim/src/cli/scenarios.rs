//! `ringleader scenarios`: lists the built-in scenarios.

use std::process::ExitCode;

use serde::Serialize;
use sim::scenario::input::catalogue::BUILT_IN;
use sim::scenario::input::read::read;

use crate::outln;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Catalogue {
    scenarios: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    summary: String,
    nodes: usize,
    duration_ms: u64,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut scenarios = Vec::new();
    for (name, text) in BUILT_IN {
        let scenario = read(name, text)?;
        let (nodes, duration_ms) = (scenario.topology.nodes(), scenario.duration_us / 1_000);
        scenarios.push(Entry { name, summary: scenario.summary, nodes, duration_ms });
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&Catalogue { scenarios })?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for Entry { name, summary, .. } in scenarios {
        outln!("{name:<22} {summary}")?;
    }
    Ok(ExitCode::SUCCESS)
}
