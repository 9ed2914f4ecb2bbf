//! Runs put together: means and maxima for every graph, change, size, clock and schedule.

use common::causal_clock::ClockKind;
use ideal::graph::Kind;
use serde::{Serialize, Serializer};

use super::as_f64;
use super::change::{Change, Schedule};
use super::runner::Outcome;

/// What identifies a group of runs that differ only in their seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    #[serde(serialize_with = "kind_name")]
    pub graph: Kind,
    pub change: Change,
    pub nodes: usize,
    #[serde(serialize_with = "clock_name")]
    pub clock: ClockKind,
    /// The order of deliveries.
    pub schedule: Schedule,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn kind_name<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.short_name())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn clock_name<S: Serializer>(clock: &ClockKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match clock {
        ClockKind::Lamport => "lamport",
        ClockKind::Perfect => "perfect",
    })
}

/// One run: its graph's measures and what it took.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The links before the change.
    pub links: usize,
    /// The diameter after the change: of the widest component.
    pub diameter: usize,
    /// The components after the change.
    pub parts: usize,
    /// What the run took.
    pub outcome: Outcome,
}

/// All runs of a case.
#[derive(Clone, Debug)]
pub struct Group {
    pub case: Case,
    /// The runs, by seed.
    pub samples: Vec<Sample>,
}

/// Mean and maximum of a number over all runs of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanAndMax {
    pub mean: f64,
    pub max: u64,
}

/// A case with the statistics of its runs: what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    #[serde(flatten)]
    pub case: Case,
    pub runs: usize,
    /// Links before the change.
    pub links: MeanAndMax,
    /// Diameter after the change.
    pub diameter: MeanAndMax,
    /// Components after the change.
    pub parts: MeanAndMax,
    pub messages: MeanAndMax,
    pub rounds: Option<MeanAndMax>,
    pub elected: Option<MeanAndMax>,
    pub agreed: Option<MeanAndMax>,
    pub elections: MeanAndMax,
    pub alone: MeanAndMax,
    pub unnecessary: MeanAndMax,
    /// Runs with at least one unnecessary election.
    pub runs_with_unnecessary: usize,
    pub turns: MeanAndMax,
}

impl Group {
    pub fn cell(&self) -> Cell {
        let over = |number: &dyn Fn(&Sample) -> u64| MeanAndMax::of(self.samples.iter().map(number));
        let timed = |number: &dyn Fn(&Outcome) -> Option<u64>| {
            let values: Option<Vec<u64>> = self.samples.iter().map(|sample| number(&sample.outcome)).collect();
            values.map(|values| MeanAndMax::of(values.into_iter()))
        };
        Cell {
            case: self.case,
            runs: self.samples.len(),
            links: over(&|sample| sample.links as u64),
            diameter: over(&|sample| sample.diameter as u64),
            parts: over(&|sample| sample.parts as u64),
            messages: over(&|sample| sample.outcome.messages),
            rounds: timed(&|outcome| outcome.rounds),
            elected: timed(&|outcome| outcome.elected),
            agreed: timed(&|outcome| outcome.agreed),
            elections: over(&|sample| sample.outcome.elections),
            alone: over(&|sample| sample.outcome.alone),
            unnecessary: over(&|sample| sample.outcome.unnecessary),
            runs_with_unnecessary: self.samples.iter().filter(|sample| sample.outcome.unnecessary > 0).count(),
            turns: over(&|sample| sample.outcome.turns),
        }
    }
}

impl MeanAndMax {
    /// Mean and maximum of these numbers; zero if there are none.
    pub fn of(values: impl Iterator<Item = u64>) -> Self {
        let (sum, max, count) =
            values.fold((0, 0, 0_u64), |(sum, max, count), value| (sum + value, value.max(max), count + 1));
        Self { mean: as_f64(sum) / as_f64(count.max(1)), max }
    }
}
