//! The results of one scenario over many seeds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::collected::Collected;
use super::commands::Commands;
use super::fleet::Fleet;
use super::outcome::{Change, Failure, Outcome, Steadiness, Verdict};
use super::shard::{Seeds, Shard};
use super::spread::Spread;
use crate::fnv;
use crate::scenario::input::plan::Scenario;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub seed: u64,
    pub verdict: Verdict,
    pub failure: Option<Failure>,
    pub changes: Vec<Change>,
    /// Agreements that were lost although nothing had changed.
    pub relapses: u64,
    /// How often nodes let go of a leader, and how often while nothing changed.
    #[serde(default)]
    pub steadiness: Steadiness,
    pub sent: u64,
    /// The share of the time spent sending, in millionths; the mean over the nodes.
    pub airtime_ppm: u64,
    /// The charge taken from the battery, in nanoampere-hours; the mean over the nodes.
    pub charge_nah: u64,
    /// How often ends of links went up or down.
    #[serde(default)]
    pub link_changes: u64,
    /// What became of readings, where the scenario collects any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collect: Option<Collected>,
    /// What became of the scenario's commands, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
    /// What became of questions to all nodes, where the scenario asks any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// A fingerprint of all frames.
    pub digest: String,
}

impl From<Outcome> for Row {
    fn from(outcome: Outcome) -> Self {
        let Outcome {
            seed,
            verdict,
            failure,
            changes,
            relapses,
            steadiness,
            sent,
            digest,
            nodes,
            link_changes,
            collect,
            commands,
            fleet,
            ..
        } = outcome;
        let count = nodes.len().max(1) as u64;
        let airtime_ppm = nodes.iter().map(|node| node.airtime_ppm).sum::<u64>() / count;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a battery holds far less")]
        let charge_nah = nodes.iter().map(|node| (node.charge_uah * 1e3).round() as u64).sum::<u64>() / count;
        Self {
            seed,
            verdict,
            failure,
            changes,
            relapses,
            steadiness,
            sent,
            airtime_ppm,
            charge_nah,
            link_changes,
            collect,
            commands,
            fleet,
            digest,
        }
    }
}

/// What was swept, and with which version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The version of the program. Another version may behave differently for the same seed.
    pub version: String,
    /// The scenario's name, or the full path of its file.
    pub scenario: String,
    /// A fingerprint of the scenario's contents. Shards with different fingerprints cannot be merged.
    pub fingerprint: String,
    /// The seeds of the whole sweep, over all shards.
    pub seeds: Seeds,
    /// The shard of those seeds that this file holds.
    pub shard: Shard,
}

impl Origin {
    /// The origin of a sweep that this version of the program runs.
    pub fn new(name: String, scenario: &Scenario, seeds: Seeds, shard: Shard) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { version, scenario: name, fingerprint: fingerprint(scenario), seeds, shard }
    }
}

/// A whole sweep, or one shard of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    #[serde(flatten)]
    pub origin: Origin,
    /// The time from the start to the first agreement.
    pub started_ms: Option<Spread>,
    /// The time from a later change until the first node noticed it.
    pub detected_ms: Option<Spread>,
    /// The time from that notice to agreement.
    pub elected_ms: Option<Spread>,
    /// The time from the first node that let go of its leader to agreement.
    #[serde(default)]
    pub wave_ms: Option<Spread>,
    /// The total time from a later change to agreement.
    pub agreed_ms: Option<Spread>,
    /// How often nodes let go of a leader in a run.
    #[serde(default)]
    pub leader_changes: Option<Spread>,
    /// How often while nothing changed.
    #[serde(default)]
    pub spontaneous: Option<Spread>,
    /// Frames sent in a run.
    pub sent: Option<Spread>,
    /// The share of the time in which a node was sending, in millionths.
    pub airtime_ppm: Option<Spread>,
    /// The charge a node took from its battery, in nanoampere-hours.
    pub charge_nah: Option<Spread>,
    /// How often ends of links went up or down in a run.
    #[serde(default)]
    pub link_changes: Option<Spread>,
    /// What became of the readings of all runs, where the scenario collects any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collect: Option<Collected>,
    /// What became of all commands, if the scenario has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
    /// What became of questions to all nodes, where the scenario asks any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// The seeds whose runs failed.
    pub failed: Vec<u64>,
    /// The result of each seed, in ascending order.
    pub rows: Vec<Row>,
}

impl Sweep {
    pub fn new(origin: Origin, rows: BTreeMap<u64, Row>) -> Self {
        let rows: Vec<Row> = rows.into_values().collect();
        let spread = |of: fn(&Change) -> Option<u64>| {
            // A change that did not disturb the agreement caused no election, so there is nothing to measure.
            let later = rows.iter().flat_map(|row| row.changes.iter().skip(1));
            let disturbing = later.filter(|change| change.agreed_after_ms != Some(0));
            Spread::of(disturbing.filter_map(of).collect())
        };
        let starts = rows.iter().filter_map(|row| row.changes.first()?.agreed_after_ms);
        Self {
            origin,
            started_ms: Spread::of(starts.collect()),
            detected_ms: spread(|change| change.detected_after_ms),
            elected_ms: spread(Change::elected_after_ms),
            wave_ms: spread(Change::wave_ms),
            agreed_ms: spread(|change| change.agreed_after_ms),
            leader_changes: Spread::of(rows.iter().map(|row| row.steadiness.leader_changes).collect()),
            spontaneous: Spread::of(rows.iter().map(|row| row.steadiness.spontaneous).collect()),
            sent: Spread::of(rows.iter().map(|row| row.sent).collect()),
            airtime_ppm: Spread::of(rows.iter().map(|row| row.airtime_ppm).collect()),
            charge_nah: Spread::of(rows.iter().map(|row| row.charge_nah).collect()),
            link_changes: Spread::of(rows.iter().map(|row| row.link_changes).collect()),
            collect: Collected::of(rows.iter().filter_map(|row| row.collect.as_ref())),
            commands: Commands::of_all(rows.iter().filter_map(|row| row.commands.as_ref())),
            fleet: Fleet::of_all(rows.iter().filter_map(|row| row.fleet.as_ref())),
            failed: rows.iter().filter(|row| row.verdict != Verdict::Ok).map(|row| row.seed).collect(),
            rows,
        }
    }

    /// Adds the replay command to every failed run. The command uses the scenario's name from the origin, so that
    /// merged shards report the same as the whole sweep.
    pub fn set_replays(&mut self, command: impl Fn(&str, u64) -> String) {
        for Row { seed, failure, .. } in &mut self.rows {
            if let Some(failure) = failure {
                failure.replay = Some(command(&self.origin.scenario, *seed));
            }
        }
    }

    /// The verdict of the worst run.
    pub fn worst(&self) -> Verdict {
        let has = |verdict| self.rows.iter().any(|row| row.verdict == verdict);
        let worst = [Verdict::Safety, Verdict::Liveness].into_iter().find(|&verdict| has(verdict));
        worst.unwrap_or(Verdict::Ok)
    }
}

/// A hash of the scenario's contents.
fn fingerprint(scenario: &Scenario) -> String {
    format!("{:016x}", fnv::extend(fnv::EMPTY, format!("{scenario:?}").bytes()))
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::{Origin, Row, Spread, Sweep};
    use crate::scenario::report::outcome::{Change, Steadiness, Verdict};
    use crate::scenario::report::shard::{Seeds, Shard};

    /// A made-up shard for tests.
    pub(in crate::scenario) fn part(fingerprint: &str, seeds: Seeds, shard: Shard) -> Sweep {
        let row = |seed: u64| {
            let (detected_after_ms, agreed_after_ms) = (Some(10 * seed), Some(30 * seed));
            let start = Change {
                at_ms: 0,
                what: "start".to_owned(),
                detected_after_ms: None,
                called_after_ms: None,
                agreed_after_ms: Some(7),
            };
            let called_after_ms = Some(20 * seed);
            let what = "crash".to_owned();
            let crash = Change { at_ms: 9, what, detected_after_ms, called_after_ms, agreed_after_ms };
            let changes = vec![start, crash];
            let verdict = if seed == 5 { Verdict::Liveness } else { Verdict::Ok };
            let (sent, airtime_ppm, charge_nah) = (9 * seed, 100 * seed, 1_000 * seed);
            let digest = seed.to_string();
            let steadiness = Steadiness { leader_changes: seed, ..Steadiness::default() };
            Row {
                seed,
                verdict,
                failure: None,
                changes,
                relapses: 0,
                steadiness,
                sent,
                airtime_ppm,
                charge_nah,
                link_changes: 0,
                collect: None,
                commands: None,
                fleet: None,
                digest,
            }
        };
        let rows: BTreeMap<u64, Row> = seeds.of(shard).map(|seed| (seed, row(seed))).collect();
        let (version, scenario) = ("1.2.3".to_owned(), "mesh25".to_owned());
        Sweep::new(Origin { version, scenario, fingerprint: fingerprint.to_owned(), seeds, shard }, rows)
    }

    #[test]
    fn rows_make_a_sweep() {
        let whole = part("a", Seeds { from: 1, to: 9 }, Shard::WHOLE);
        assert_eq!(whole.failed, [5]);
        assert_eq!(whole.started_ms, Some(Spread { count: 8, p50: 7, p90: 7, p99: 7, max: 7 }));
        assert_eq!(whole.elected_ms, Some(Spread { count: 8, p50: 80, p90: 160, p99: 160, max: 160 }));
        assert_eq!(whole.sent, Some(Spread { count: 8, p50: 36, p90: 72, p99: 72, max: 72 }));
        assert_eq!(whole.charge_nah, Some(Spread { count: 8, p50: 4_000, p90: 8_000, p99: 8_000, max: 8_000 }));
    }
}
