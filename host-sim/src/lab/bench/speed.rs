//! Nanoseconds per handled message, for every algorithm.

use std::time::Duration as WallTime;

use ideal::candidates::{Candidate, Carry, NoAgreement, Sample};
use serde::Serialize;

/// How often each algorithm is measured; the medians are reported.
pub const REPETITIONS: usize = 5;

/// How long one repetition runs its workload over and over.
pub const REPETITION: WallTime = WallTime::from_millis(100);

/// The fastest and the slowest repetition, in nanoseconds; in JSON a list of the two.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(into = "[f64; 2]")]
pub struct Range {
    pub fastest: f64,
    pub slowest: f64,
}

impl From<Range> for [f64; 2] {
    fn from(Range { fastest, slowest }: Range) -> Self {
        [fastest, slowest]
    }
}

impl Range {
    fn of(sorted: &[f64]) -> Self {
        Self { fastest: sorted[0], slowest: sorted[sorted.len() - 1] }
    }
}

/// The speed of one algorithm: medians of [`REPETITIONS`].
#[derive(Clone, Debug, Serialize)]
pub struct Speed {
    pub name: &'static str,
    pub workload: &'static str,
    /// How many messages one run of the workload takes.
    pub messages: u64,
    /// Nanoseconds per message that is not encoded.
    pub decoded_ns: f64,
    pub decoded_range_ns: Range,
    /// Nanoseconds per message that is encoded and decoded.
    pub encoded_ns: f64,
    pub encoded_range_ns: Range,
    /// Time per message that is not encoded, as a multiple of what HS took in the same repetition.
    pub to_hs: f64,
}

/// Runs a workload over and over for the time of one repetition; the time per message.
fn repeat(candidate: &Candidate, carry: Carry) -> Result<f64, NoAgreement> {
    let mut all = Sample { time: WallTime::ZERO, messages: 0 };
    while all.time < REPETITION {
        let sample = candidate.once(carry)?;
        all = Sample { time: all.time + sample.time, messages: all.messages + sample.messages };
    }
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    Ok(all.time.as_secs_f64() * 1e9 / all.messages as f64)
}

/// Measures every candidate. Each repetition goes through all of them once, so that a machine that slows down for a
/// while slows them all. `watch` is called before each repetition.
pub fn measure(candidates: &[Candidate], mut watch: impl FnMut(usize)) -> Result<Vec<Speed>, NoAgreement> {
    let mut decoded = vec![Vec::new(); candidates.len()];
    let mut encoded = vec![Vec::new(); candidates.len()];
    let mut ratios = vec![Vec::new(); candidates.len()];
    for repetition in 0..REPETITIONS {
        watch(repetition);
        for (at, candidate) in candidates.iter().enumerate() {
            let nanos = repeat(candidate, Carry::Decoded)?;
            decoded[at].push(nanos);
            // HS is the first of all.
            ratios[at].push(nanos / decoded[0][repetition]);
            encoded[at].push(repeat(candidate, Carry::Encoded)?);
        }
    }
    let rows = candidates.iter().zip(decoded.iter_mut().zip(&mut encoded).zip(&mut ratios));
    rows.map(|(candidate, ((decoded, encoded), ratios))| {
        Ok(Speed {
            name: candidate.name,
            workload: candidate.workload,
            messages: candidate.once(Carry::Decoded)?.messages,
            decoded_ns: median(decoded),
            decoded_range_ns: Range::of(decoded),
            encoded_ns: median(encoded),
            encoded_range_ns: Range::of(encoded),
            to_hs: median(ratios),
        })
    })
    .collect()
}

/// Sorts the values and returns the middle one.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
