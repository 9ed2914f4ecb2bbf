//! Measures the election core and gathers the results into one report.

use std::time::{Duration, Instant};

use anyhow::ensure;
use common::layout::{LAYOUT, Row};
use serde::Serialize;

use super::growth::{Growth, SCENARIOS};
use super::machine::{Machine, peak_memory, processor_seconds};
use super::speed::{self, Speed};
use super::text;
use crate::note;
use ideal::big_ring::{BigRing, Tally, random_uids};

/// The default number of nodes of the largest election.
pub const NODES: u32 = 1_000_000;

/// The time that election may take.
pub const SECONDS_MAX: f64 = 10.0;

/// The memory it may take.
pub const BYTES_MAX: u64 = 1 << 30;

/// How often to report progress.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Serialize)]
pub struct BigRingReport {
    pub nodes: u32,
    /// The uid that won, which is the largest.
    pub leader: u32,
    pub messages: u64,
    /// The messages by kind.
    pub tally: Tally,
    /// Seconds from the first start to the last delivery.
    pub seconds: f64,
    /// The processor time of that; none if the system does not report it.
    pub processor_seconds: Option<f64>,
    /// The whole time divided by the messages; none if there were none.
    pub ns_per_message: Option<f64>,
    /// Seconds to lay out the ring before.
    pub setup_seconds: f64,
    /// The most memory that the process had held by then, in bytes; none if the system does not report it.
    pub peak_bytes: Option<u64>,
}

/// Everything that `bench core` has measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub seed: u64,
    pub machine: Machine,
    pub big_ring: BigRingReport,
    /// The time per message of each algorithm.
    pub speed: Vec<Speed>,
    /// The growth of messages with nodes.
    pub growth: Vec<Growth>,
    /// The bytes of each algorithm, asserted while the core was compiled.
    pub layout: &'static [Row],
}

/// Measures everything, noting progress on standard error.
pub fn measure(nodes: u32, seed: u64) -> anyhow::Result<Report> {
    // First, so that the peak memory is that of this election.
    let big_ring = elect(nodes, seed)?;
    let candidates = ideal::candidates::candidates(seed);
    let measured = speed::measure(&candidates, |repetition| {
        note!("time per message: repetition {} of {} ...", repetition + 1, speed::REPETITIONS);
    })?;
    note!("growth of messages with n ...");
    let growth = SCENARIOS.iter().map(|scenario| scenario.measure(seed)).collect::<anyhow::Result<_>>()?;
    Ok(Report { seed, machine: Machine::this(), big_ring, speed: measured, growth, layout: LAYOUT })
}

fn elect(nodes: u32, seed: u64) -> anyhow::Result<BigRingReport> {
    note!("HS on a ring of {} nodes ...", text::grouped(u64::from(nodes)));
    let begin = Instant::now();
    let mut ring = BigRing::new(&random_uids(nodes, seed));
    let setup_seconds = begin.elapsed().as_secs_f64();
    let (begin, processor_begin) = (Instant::now(), processor_seconds());
    let mut last_told = begin;
    let tally = ring.elect(&mut |delivered| {
        if last_told.elapsed() > PATIENCE {
            last_told = Instant::now();
            note!("  {} messages so far ...", text::grouped(delivered));
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    let spent = processor_seconds().zip(processor_begin).map(|(end, begin)| end - begin);
    let peak_bytes = peak_memory();
    let leader = nodes - 1;
    ensure!(ring.leader() == Some(leader), "defect in the core: not all nodes follow the largest uid");
    let messages = tally.total();
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 messages")]
    let ns_per_message = (messages > 0).then(|| seconds * 1e9 / messages as f64);
    Ok(BigRingReport {
        nodes,
        leader,
        messages,
        tally,
        seconds,
        processor_seconds: spent,
        ns_per_message,
        setup_seconds,
        peak_bytes,
    })
}
