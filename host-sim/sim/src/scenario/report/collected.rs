//! What became of the readings of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Latencies below this are told apart by the millisecond, longer ones by a thirty-second of themselves.
const EXACT_MS: u64 = 128;

/// A reading is what a node measured at one moment, of whatever quantities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// Readings that their origins have stored.
    pub stored: u64,
    /// Those that are in a leader's log.
    pub committed: u64,
    /// Those that are twice in one log.
    pub duplicates: u64,
    /// Those that are in no log and no declared gap, although their origin followed a leader for long enough.
    pub lost: u64,
    /// Those that are in no log, and in a gap that their origin declared.
    pub declared: u64,
    /// Those that are in no log yet.
    pub pending: u64,
    /// Those that are in no log, and whose origin's flash was erased before they were.
    #[serde(default)]
    pub destroyed: u64,
    /// Those that are in the logs of several leaders; a reader of the logs keeps one copy.
    #[serde(default)]
    pub copies: u64,
    /// From storing to the first log.
    pub latency_ms: Latency,
    /// The same, of those whose origin followed an agreed leader all along: outside of elections.
    pub quiet_latency_ms: Latency,
    /// Frames that carried readings and commits.
    #[serde(default)]
    pub frames: u64,
    /// Of those, frames that got no answer, and frames that were not taken for want of room.
    #[serde(default)]
    pub missed: u64,
    #[serde(default)]
    pub not_taken: u64,
    /// Blocks that leaders got again although they had logged them.
    #[serde(default)]
    pub repeated: u64,
    /// Frames and commits that relays gave up. Their origins send them again.
    #[serde(default)]
    pub dropped: u64,
    /// Blocks of which the reader's PC was shown a copy, and copies that were dropped on the way.
    #[serde(default)]
    pub shown: u64,
    #[serde(default)]
    pub copies_dropped: u64,
    /// The share of the time in which a node sent such frames, in millionths; the mean over the nodes.
    #[serde(default)]
    pub airtime_ppm: u64,
    /// The charge that a node took for sending them, in nanoampere-hours; the mean over the nodes.
    #[serde(default)]
    pub tx_nah: u64,
}

/// Many durations, and two of their percentiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    pub p50: Option<u64>,
    pub p99: Option<u64>,
    pub max: Option<u64>,
    /// How many there are of each, so that runs can be put together. Long ones are rounded up.
    pub counts: BTreeMap<u64, u64>,
}

impl Latency {
    pub fn add(&mut self, ms: u64, count: u64) {
        let step = if ms < EXACT_MS { 1 } else { 1 << (ms.ilog2() - 5) };
        *self.counts.entry(ms.div_ceil(step) * step).or_default() += count;
    }

    /// Works out the percentiles.
    pub fn close(&mut self) {
        let all: u64 = self.counts.values().sum();
        let rank = |percent: u64| {
            let wanted = (all * percent).div_ceil(100).max(1);
            let mut passed = 0;
            self.counts.iter().find_map(|(&ms, &count)| {
                passed += count;
                (passed >= wanted).then_some(ms)
            })
        };
        (self.p50, self.p99, self.max) = (rank(50), rank(99), rank(100));
    }

    fn merge(&mut self, other: &Self) {
        for (&ms, &count) in &other.counts {
            *self.counts.entry(ms).or_default() += count;
        }
    }
}

impl Collected {
    /// All runs together; none if no run collected anything.
    pub fn of<'c>(runs: impl Iterator<Item = &'c Self>) -> Option<Self> {
        let (mut sum, mut count) = (Self::default(), 0);
        for run in runs {
            count += 1;
            for (mine, more) in [
                (&mut sum.stored, run.stored),
                (&mut sum.committed, run.committed),
                (&mut sum.duplicates, run.duplicates),
                (&mut sum.lost, run.lost),
                (&mut sum.declared, run.declared),
                (&mut sum.pending, run.pending),
                (&mut sum.destroyed, run.destroyed),
                (&mut sum.copies, run.copies),
                (&mut sum.frames, run.frames),
                (&mut sum.missed, run.missed),
                (&mut sum.not_taken, run.not_taken),
                (&mut sum.repeated, run.repeated),
                (&mut sum.dropped, run.dropped),
                (&mut sum.shown, run.shown),
                (&mut sum.copies_dropped, run.copies_dropped),
                (&mut sum.airtime_ppm, run.airtime_ppm),
                (&mut sum.tx_nah, run.tx_nah),
            ] {
                *mine += more;
            }
            sum.latency_ms.merge(&run.latency_ms);
            sum.quiet_latency_ms.merge(&run.quiet_latency_ms);
        }
        sum.latency_ms.close();
        sum.quiet_latency_ms.close();
        sum.airtime_ppm /= count.max(1);
        sum.tx_nah /= count.max(1);
        (count > 0).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::{Collected, Latency};

    #[test]
    fn percentiles_of_runs_put_together_are_those_of_all() {
        let mut latency = Latency::default();
        (1..=100).for_each(|ms| latency.add(ms, 1));
        latency.add(5_000, 1);
        latency.close();
        assert_eq!((latency.p50, latency.p99), (Some(51), Some(100)));
        assert!(latency.max.is_some_and(|max| (5_000..5_200).contains(&max)), "{latency:?}");
        let run = Collected { stored: 101, latency_ms: latency, ..Collected::default() };
        let both = Collected::of([&run, &run].into_iter()).unwrap();
        assert_eq!((both.stored, both.latency_ms.p50), (202, Some(51)));
        assert_eq!(Collected::of([].into_iter()), None);
    }
}
