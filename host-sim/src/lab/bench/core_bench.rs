//! The election core: runs the measurements and gathers them into one report.

use std::time::{Duration, Instant};

use anyhow::ensure;
use common::layout::{LAYOUT, Row};
use serde::Serialize;

use super::big_ring::{BigRing, Tally, random_uids};
use super::growth::{Growth, SCENARIOS};
use super::machine::{Machine, peak_memory, processor_seconds};
use super::speed::{self, Speed};
use super::text;
use crate::note;

/// How many nodes the largest election has unless told otherwise.
pub const NODES: u32 = 1_000_000;

/// The time in which that election is to be over.
pub const SECONDS_MAX: f64 = 10.0;

/// The memory in which it is to fit.
pub const BYTES_MAX: u64 = 1 << 30;

/// How long to be silent.
const PATIENCE: Duration = Duration::from_secs(2);

/// The largest election.
#[derive(Clone, Debug, Serialize)]
pub struct BigRingReport {
    /// How many nodes took part.
    pub nodes: u32,
    /// The uid that won, which is the largest.
    pub leader: u32,
    /// All messages.
    pub messages: u64,
    /// The messages by kind.
    pub tally: Tally,
    /// Seconds from the first start to the last delivery.
    pub seconds: f64,
    /// What of that the processor spent on it; none where the system does not tell.
    pub processor_seconds: Option<f64>,
    /// The whole time divided by the messages; none where there were none.
    pub ns_per_message: Option<f64>,
    /// Seconds to lay out the ring before.
    pub setup_seconds: f64,
    /// The most memory that the process had held by then, in bytes; none where the system does not tell.
    pub peak_bytes: Option<u64>,
}

/// Everything that `bench core` has measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where all chance came from.
    pub seed: u64,
    /// Where it was measured.
    pub machine: Machine,
    /// The largest election.
    pub big_ring: BigRingReport,
    /// The time per message of each algorithm.
    pub speed: Vec<Speed>,
    /// The growth of messages with nodes.
    pub growth: Vec<Growth>,
    /// The bytes of each algorithm, asserted while the core was compiled.
    pub layout: &'static [Row],
}

/// Measures everything; says on the way what it is at.
pub fn measure(nodes: u32, seed: u64) -> anyhow::Result<Report> {
    // First, so that the peak of memory is this one's.
    let big_ring = elect(nodes, seed)?;
    let candidates = speed::candidates(seed);
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
    let tally = ring.elect(|delivered| {
        if last_told.elapsed() > PATIENCE {
            last_told = Instant::now();
            note!("  {} messages so far ...", text::grouped(delivered));
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    let spent = processor_seconds().zip(processor_begin).map(|(end, begin)| end - begin);
    let peak_bytes = peak_memory();
    let leader = nodes - 1;
    ensure!(ring.leader() == Some(leader), "the core is broken: not everybody follows the largest uid");
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
