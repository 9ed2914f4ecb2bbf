//! How fast whole nodes are simulated.
//!
//! Everything that a board runs is on: discovery, links, authentication of every frame, election by heights. The nodes form
//! a grid with the usual radio, and most of them hear each other.

use anyhow::{Context as _, bail};
use common::layout::{NODE, NODE_MAX};
use serde::Serialize;
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read;
use sim::scenario::report::outcome::{Outcome, Verdict};
use sim::scenario::run::drive;

use super::machine::{Machine, processor_seconds};

#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Nodes on the grid, 20 m apart.
    pub nodes: u16,
    /// Seconds to simulate.
    pub seconds: u32,
    pub seed: u64,
    pub runs: u32,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub machine: Machine,
    pub nodes: u16,
    pub seconds: u32,
    pub runs: u32,
    /// Seconds that the processor spent on the fastest run, setting up included.
    pub cpu_seconds: f64,
    /// How many times faster than real time that is.
    pub times_real_time: f64,
    pub sent: u64,
    /// Frames received intact, over all nodes.
    pub received: u64,
    /// The processor's time for each of those, all of the rest included.
    pub ns_per_reception: f64,
    pub node_bytes: usize,
    /// The most that it may take.
    pub node_bytes_max: usize,
    /// The fingerprint of all frames.
    pub digest: String,
}

pub fn scenario(nodes: u16, seconds: u32) -> anyhow::Result<Scenario> {
    let text = format!(
        "name = \"nodes\"\nduration = \"{seconds} s\"\n[topology]\nkind = \"grid\"\nnodes = {nodes}\nspacing = \"20 m\"\n[radio]\nmodel = \"usual\"\n[protocol]\n[expect]\nagreement_within = \"30 s\"\n"
    );
    read("bench nodes", &text).map_err(|problem| anyhow::anyhow!("{problem}"))
}

/// Runs the measurement; `progress` gets the number of finished runs.
pub fn measure(request: Request, mut progress: impl FnMut(u32)) -> anyhow::Result<Report> {
    let scenario = scenario(request.nodes, request.seconds)?;
    let mut fastest: Option<(f64, Outcome)> = None;
    for run in 0..request.runs {
        progress(run);
        let clock = || processor_seconds().context("this system does not report the processor time of a thread");
        let before = clock()?;
        let outcome = drive::run(&scenario, request.seed);
        let took = clock()? - before;
        if outcome.verdict != Verdict::Ok {
            bail!(
                "{} nodes reached no lasting agreement with seed {}, so there is nothing to measure; try another --seed",
                request.nodes,
                request.seed
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
        nodes: request.nodes,
        seconds: request.seconds,
        runs: request.runs,
        cpu_seconds,
        times_real_time: f64::from(request.seconds) / cpu_seconds,
        sent: outcome.sent,
        received: outcome.received,
        ns_per_reception: cpu_seconds * 1e9 / received,
        node_bytes: NODE,
        node_bytes_max: NODE_MAX,
        digest: outcome.digest,
    })
}

#[cfg(test)]
mod tests {
    use super::{Request, measure};

    #[test]
    fn what_is_measured_is_what_the_scenario_does() {
        let request = Request { nodes: 6, seconds: 60, seed: 1, runs: 2 };
        let mut told = Vec::new();
        let report = measure(request, |run| told.push(run)).unwrap();
        assert_eq!(told, [0, 1]);
        // All nodes hear each other: each frame is received by up to five others.
        assert!(report.sent > 60 && report.received > 3 * report.sent && report.received <= 5 * report.sent);
        assert_eq!(report.digest, measure(request, |_| ()).unwrap().digest);
    }
}
