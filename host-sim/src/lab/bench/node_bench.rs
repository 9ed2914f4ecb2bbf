//! `ringleader bench nodes`: how fast whole nodes are simulated.
//!
//! Everything that a board runs is on: discovery, links, authentication of every frame, election by heights. They stand on a
//! grid with the usual radio, and most of them hear each other.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use common::layout::{NODE, NODE_MAX};
use serde::Serialize;
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read;
use sim::scenario::report::outcome::{Outcome, Verdict};
use sim::scenario::run::drive;

use super::machine::{Machine, processor_seconds};
use crate::cli::output;
use crate::outln;

/// Arguments of `bench nodes`.
#[derive(Debug, clap::Args)]
pub struct NodesArgs {
    /// Nodes on the grid, 20 m apart
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(2..=1_000))]
    pub nodes: u16,
    /// Seconds to simulate
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(60..=86_400))]
    pub seconds: u32,
    /// The root seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How often it is run; the fastest counts, since whatever else the machine does only makes it slower
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub runs: u32,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// What it came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
    /// Nodes.
    pub nodes: u16,
    /// Seconds simulated.
    pub seconds: u32,
    /// How often.
    pub runs: u32,
    /// Seconds that the processor spent on the fastest run, setting up included.
    pub cpu_seconds: f64,
    /// How many times faster than real time that is.
    pub times_real_time: f64,
    /// Frames sent.
    pub sent: u64,
    /// Frames received intact, over all nodes.
    pub received: u64,
    /// The processor's time for each of those, all of the rest included.
    pub ns_per_reception: f64,
    /// Bytes of one node.
    pub node_bytes: usize,
    /// The most that it may take.
    pub node_bytes_max: usize,
    /// The fingerprint of all frames.
    pub digest: String,
}

/// The scenario that is measured.
pub fn scenario(nodes: u16, seconds: u32) -> anyhow::Result<Scenario> {
    let text = format!(
        "name = \"nodes\"\nduration = \"{seconds} s\"\n[topology]\nkind = \"grid\"\nnodes = {nodes}\nspacing = \"20 m\"\n[radio]\nmodel = \"usual\"\n[protocol]\n[expect]\nagreement_within = \"30 s\"\n"
    );
    read("bench nodes", &text).map_err(|problem| anyhow::anyhow!("{problem}"))
}

/// Runs the measurement; `progress` is told how many runs are over.
pub fn measure(args: &NodesArgs, mut progress: impl FnMut(u32)) -> anyhow::Result<Report> {
    let scenario = scenario(args.nodes, args.seconds)?;
    let mut fastest: Option<(f64, Outcome)> = None;
    for run in 0..args.runs {
        progress(run);
        let clock =
            || processor_seconds().context("this system does not tell how long a processor worked for a thread");
        let before = clock()?;
        let outcome = drive::run(&scenario, args.seed);
        let took = clock()? - before;
        if outcome.verdict != Verdict::Ok {
            bail!(
                "{} nodes found no lasting agreement with seed {}, so this measures nothing; try another --seed",
                args.nodes,
                args.seed
            );
        }
        if fastest.as_ref().is_none_or(|(least, _)| took < *least) {
            fastest = Some((took, outcome));
        }
    }
    let (cpu_seconds, outcome) = fastest.context("--runs must be at least 1")?;
    #[expect(clippy::cast_precision_loss, reason = "receptions are far fewer than 2^53")]
    let received = outcome.received.max(1) as f64;
    Ok(Report {
        machine: Machine::this(),
        nodes: args.nodes,
        seconds: args.seconds,
        runs: args.runs,
        cpu_seconds,
        times_real_time: f64::from(args.seconds) / cpu_seconds,
        sent: outcome.sent,
        received: outcome.received,
        ns_per_reception: cpu_seconds * 1e9 / received,
        node_bytes: NODE,
        node_bytes_max: NODE_MAX,
        digest: outcome.digest,
    })
}

/// Runs the command.
pub fn run(args: &NodesArgs) -> anyhow::Result<ExitCode> {
    let report = measure(args, |run| output::progress(&format!("run {} of {} ...", run + 1, args.runs)))?;
    output::clear_progress();
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Report { nodes, seconds, runs, cpu_seconds, times_real_time, sent, received, ns_per_reception, .. } = &report;
    outln!("{nodes} whole nodes for {seconds} s, the fastest of {runs} runs on one core:")?;
    outln!("  {cpu_seconds:.3} s of the processor, {times_real_time:.0} times as fast as real time")?;
    outln!("  {sent} frames sent, {received} received, {ns_per_reception:.0} ns for each of the latter")?;
    outln!("  {NODE} bytes for each node, of {NODE_MAX} that it may take")?;
    if !report.machine.optimised {
        outln!("  (not optimised: build with --release to learn anything from this)")?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::{NodesArgs, measure};

    #[test]
    fn what_is_measured_is_what_the_scenario_does() {
        let args = NodesArgs { nodes: 6, seconds: 60, seed: 1, runs: 2, json: false };
        let mut told = Vec::new();
        let report = measure(&args, |run| told.push(run)).unwrap();
        assert_eq!(told, [0, 1]);
        // Everybody hears everybody: each frame is received by up to five others.
        assert!(report.sent > 60 && report.received > 3 * report.sent && report.received <= 5 * report.sent);
        assert_eq!(report.digest, measure(&args, |_| ()).unwrap().digest);
    }
}
