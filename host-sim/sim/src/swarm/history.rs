//! What befalls a stranger: blows of the kinds that it has, some of them left alone until the network must have agreed, others
//! following each other closely.

use super::lot::Lot;
use super::stranger::{Blow, Event, Feature, Position, Stranger, Target};
use crate::air::index::NodeIndex;

/// The simulated time of a run is bounded by this many seconds over all nodes, so that many seeds can be run.
const NODE_SECONDS: u64 = 12_000;

/// The same where hours and days are simulated.
const LONG_NODE_SECONDS: u64 = 1_000_000;

/// At least the start and one blow are left alone, however large the network is.
const EVENTS_MAX: usize = 12;

/// The shortest blow.
const SHORTEST_MS: u64 = 1_000;

/// Nodes come and go for at most this long.
const CHURN_MAX_MS: u64 = 60_000;

/// Long enough for an agreement to count.
const HOLD_MS: u64 = 3_000;

/// Blows that come from time to time.
const KINDS: [Feature; 10] = [
    Feature::SingleLoss,
    Feature::JointLoss,
    Feature::Partition,
    Feature::Churn,
    Feature::Drift,
    Feature::CorruptFrames,
    Feature::CorruptState,
    Feature::Attack,
    Feature::Noise,
    Feature::Lies,
];

impl Stranger {
    /// Draws everything that befalls it; agreement has been bounded before.
    pub(super) fn draw_history(&mut self, lot: &mut Lot) {
        let kinds: Vec<Feature> = KINDS.into_iter().filter(|kind| self.features.contains(kind)).collect();
        let is_long = self.features.contains(&Feature::Long);
        let budget = if is_long { LONG_NODE_SECONDS } else { NODE_SECONDS };
        let most_ms = budget * 1_000 / self.positions.len() as u64;
        let settled_ms = self.within_ms + HOLD_MS;
        self.quiet_ms = HOLD_MS + lot.magnitude(5_000, 60_000.min(most_ms).max(5_000));
        let mut now_ms = self.walking.map_or(0, |walking| walking.until_ms) + lot.one_of(&[500, 3_000, settled_ms]);
        let mut noisy_until_ms = 0;
        while !kinds.is_empty() && self.events.len() < EVENTS_MAX {
            let left_ms = most_ms.saturating_sub(now_ms + settled_ms + self.quiet_ms);
            if left_ms < SHORTEST_MS && !self.events.is_empty() {
                break;
            }
            let long_ms = if is_long { left_ms } else { left_ms.min(120_000) };
            let for_ms = lot.magnitude(SHORTEST_MS, long_ms.max(SHORTEST_MS));
            let kind = lot.one_of(&kinds);
            // Noise keeps nodes from sending that would hear each other well, which no component shows. So it is never left
            // alone for long enough to be agreed on; its end is.
            let for_ms = match kind {
                // Nor are two of them that meet.
                Feature::Noise if now_ms < noisy_until_ms => for_ms.min(noisy_until_ms - now_ms),
                Feature::Noise => for_ms.min(self.within_ms - 1_000),
                Feature::Churn => for_ms.min(CHURN_MAX_MS),
                _ => for_ms,
            };
            if kind == Feature::Noise {
                noisy_until_ms = noisy_until_ms.max(now_ms + for_ms);
            }
            let blow = self.draw_blow(kind, for_ms, lot);
            let event = Event { at_ms: now_ms, for_ms, blow };
            // Most are left alone; some meet the next one, and are not over when it comes.
            now_ms = match lot.index(5) {
                0 => now_ms + lot.between(100, for_ms.max(200)),
                1 => event.ends_ms() + lot.between(200, settled_ms),
                _ => event.ends_ms() + settled_ms,
            };
            self.events.push(event);
        }
    }

    fn draw_blow(&self, kind: Feature, for_ms: u64, lot: &mut Lot) -> Blow {
        let count = self.positions.len();
        let flash =
            if self.features.contains(&Feature::Flash) { lot.one_of(&["kept", "erased", "torn"]) } else { "kept" };
        match kind {
            Feature::JointLoss => Blow::Crash { who: Target::Nodes(some(count, lot)), flash },
            Feature::Partition => Blow::Partition { nodes: some(count, lot) },
            Feature::Churn => {
                let every_ms = lot.magnitude(500, 10_000);
                Blow::Churn { every_ms, off_ms: lot.magnitude(SHORTEST_MS, 20_000.max(for_ms / 4)) }
            }
            Feature::Drift => {
                let ppm = lot.one_of(&[-20_000, -1_000, 1_000, 20_000]);
                Blow::Drift { nodes: some(count, lot), ppm }
            }
            // A node that gets more wrong than this has no channel, so as long as it lasts it counts as loss.
            Feature::CorruptFrames => Blow::CorruptFrames { percent: lot.one_of(&[1, 5, 10]) },
            Feature::CorruptState => Blow::CorruptState { who: self.victim(lot) },
            Feature::Lies => Blow::Lie { who: self.victim(lot) },
            Feature::Attack => Blow::Attack { at: self.somewhere(lot), interval_ms: lot.magnitude(40, 500) },
            Feature::Noise => Blow::Noise { at: self.somewhere(lot), dbm: lot.one_of(&[-30, -10, 0, 10]) },
            _ => Blow::Crash { who: self.victim(lot), flash },
        }
    }

    fn victim(&self, lot: &mut Lot) -> Target {
        match lot.index(3) {
            0 => Target::Leader,
            1 => Target::Random,
            _ => Target::Nodes(vec![NodeIndex(lot.index(self.positions.len()))]),
        }
    }

    /// A position beside one of the nodes.
    fn somewhere(&self, lot: &mut Lot) -> Position {
        let Position { x_dm, y_dm } = self.positions[lot.index(self.positions.len())];
        Position { x_dm: x_dm + 20, y_dm: y_dm + 20 }
    }
}

/// Several nodes: any, those with neighbouring ids (one fuse), a half, or all.
fn some(count: usize, lot: &mut Lot) -> Vec<NodeIndex> {
    match lot.index(5) {
        0 => NodeIndex::first(count).collect(),
        1 => NodeIndex::first(count.div_ceil(2)).collect(),
        2 | 3 => {
            let (first, wide) = (lot.index(count), 2 + lot.index(3));
            (first..count.min(first + wide)).map(NodeIndex).collect()
        }
        _ => {
            let wanted = 1 + lot.index(count.min(8));
            lot.some_of(count, wanted)
        }
    }
}
