//! How strong a link is, from how many frames arrive over it and how strong those are.
//!
//! The strength of frames that arrived is biased where noise takes many: the weak ones are missing. Where less than nine
//! tenths arrive, and those are hardly stronger than noise, the share says more, and the simulator's error curve turns it
//! into a strength. Three things stand between the share and the curve, and each is taken from the same recording: frames
//! vary in strength, longer ones are lost sooner, and others on the air take frames whatever their strength.

use std::collections::BTreeMap;

use serde::Serialize;
use sim::air::oqpsk::ln_good_bit;
use sim::air::trace::Event;

use super::check::trace_file::Trace;
use super::links::{Ends, id};

/// Below this share of frames that arrive, their strength is no longer taken for the link's.
const FAITHFUL: f64 = 0.9;

/// The simulator's noise floor, against which its error curve is read.
pub const NOISE_DBM: f64 = -100.5;

/// Frames this much stronger than noise are lost to something else.
const CLEAR_DB: f64 = 5.0;

/// The weakest and the strongest signal, against noise, that a share of frames can stand for.
const RANGE_DB: [f64; 2] = [-12.0, 12.0];

/// Bits of a frame of middling length, where nobody saw one.
const FRAME_BITS: u32 = 50 * 8;

/// Fewer frames than this say nothing about how much they vary, or how many are lost to overlaps.
const FEW: u64 = 20;

/// Radios report whole decibels; this deviation is the rounding's, not the link's.
const ROUNDING_VARIANCE: f64 = 1.0 / 12.0;

/// What became of a link's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub heard: u64,
    pub expected: u64,
    pub sum_dbm: i64,
    pub least_dbm: Option<i16>,
}

impl Tally {
    pub fn add(&mut self, heard: u64, expected: u64, mean_dbm: i16, least_dbm: i16) {
        self.heard += heard;
        self.expected += expected;
        self.sum_dbm += i64::from(mean_dbm) * i64::try_from(heard).unwrap_or(0);
        self.least_dbm = Some(self.least_dbm.map_or(least_dbm, |least| least.min(least_dbm)));
    }

    pub fn merge(&mut self, other: &Self) {
        self.heard += other.heard;
        self.expected += other.expected;
        self.sum_dbm += other.sum_dbm;
        self.least_dbm = self.least_dbm.into_iter().chain(other.least_dbm).min();
    }

    /// Of what arrived; none if nothing did.
    #[expect(clippy::cast_precision_loss, reason = "sums of dBm are far below 2^52")]
    pub fn mean_dbm(&self) -> Option<f64> {
        (self.heard > 0).then(|| self.sum_dbm as f64 / self.heard as f64)
    }

    pub fn share(&self) -> f64 {
        share(self.heard, self.expected.max(self.heard))
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of frames are far below 2^52")]
pub fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

/// What all links of a recording have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Channel {
    /// The deviation of the strength from frame to frame.
    pub jitter_db: f64,
    #[serde(skip)]
    frame_bits: u32,
    /// The share of strong frames that arrives at each node: the others are lost to frames that overlap.
    #[serde(skip)]
    spared: BTreeMap<u16, f64>,
}

impl Channel {
    /// From every frame that was recorded, and what links came to by sender and receiver.
    pub fn of(trace: &Trace, links: &BTreeMap<Ends, Tally>) -> Self {
        let mut shares: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
        for (Ends { to, .. }, tally) in links {
            if tally.expected >= FEW && tally.mean_dbm().is_some_and(|mean| mean > NOISE_DBM + CLEAR_DB) {
                shares.entry(*to).or_default().push(tally.share());
            }
        }
        let spared = shares.into_iter().map(|(to, mut shares)| (to, median(&mut shares))).collect();
        Self { jitter_db: jitter_db(trace, links), frame_bits: frame_bits(trace), spared }
    }

    /// How strongly frames of a link arrive, those that were lost to noise included.
    pub fn strength_dbm(&self, to: u16, tally: &Tally) -> f64 {
        let spared = self.spared.get(&to).copied().unwrap_or(1.0).max(f64::EPSILON);
        let arrived = (tally.share() / spared).min(1.0);
        match tally.mean_dbm() {
            Some(mean) if arrived >= FAITHFUL || mean >= NOISE_DBM + CLEAR_DB => mean,
            // Overlaps take weak frames before strong ones, so the share may blame noise for more than its part. The mean of
            // those that arrived knows nothing of overlaps, but is rough where they are few.
            Some(mean) => self.strength_at(arrived).max(self.strength_of(mean) - self.roughness_db(tally.heard)),
            None => self.strength_at(arrived),
        }
    }

    /// How far off the strength may be that the mean of this many frames tells.
    fn roughness_db(&self, heard: u64) -> f64 {
        0.5 + 2.0 * self.jitter_db * share(1, heard).sqrt()
    }

    /// The strength at which those that arrive have this mean.
    fn strength_of(&self, mean_dbm: f64) -> f64 {
        Self::find(|strength| NOISE_DBM + self.outcome(strength).mean_db < mean_dbm)
    }

    /// The share of frames of a link that noise takes, where their mean strength is this.
    pub fn lost_at(&self, strength_dbm: f64) -> f64 {
        1.0 - self.outcome(strength_dbm - NOISE_DBM).arriving
    }

    /// The strength at which this share of frames arrives.
    fn strength_at(&self, arrived: f64) -> f64 {
        Self::find(|strength| self.outcome(strength).arriving < arrived)
    }

    /// The greatest strength at which a condition holds that holds for all weaker ones.
    fn find(is_so: impl Fn(f64) -> bool) -> f64 {
        let [mut low, mut high] = RANGE_DB;
        // To a ten-thousandth of a decibel.
        for _ in 0..18 {
            let middle = f64::midpoint(low, high);
            if is_so(middle) { low = middle } else { high = middle }
        }
        NOISE_DBM + high
    }

    /// What becomes of frames with this mean strength against noise.
    fn outcome(&self, mean_db: f64) -> Arrivals {
        let (mut arriving, mut sum_db, mut weights) = (0.0, 0.0, 0.0);
        for eighth in -24..=24_i32 {
            let deviations = f64::from(eighth) / 8.0;
            let weight = (-0.5 * deviations * deviations).exp();
            let strength_db = mean_db + deviations * self.jitter_db;
            let arrives = weight * (f64::from(self.frame_bits) * ln_good_bit(10_f64.powf(strength_db / 10.0))).exp();
            arriving += arrives;
            sum_db += arrives * strength_db;
            weights += weight;
        }
        // Where nothing arrives, the strongest would be the first.
        let mean_db = if arriving > 0.0 { sum_db / arriving } else { mean_db };
        Arrivals { arriving: arriving / weights, mean_db }
    }
}

/// What becomes of frames.
struct Arrivals {
    /// The share that arrives.
    arriving: f64,
    /// The mean strength of those, against noise.
    mean_db: f64,
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(1.0)
}

/// From one frame to the next, so that a link that changes slowly does not count as one that varies.
fn jitter_db(trace: &Trace, links: &BTreeMap<Ends, Tally>) -> f64 {
    let (mut last, mut squares, mut count) = (BTreeMap::new(), 0.0, 0_u32);
    for record in &trace.records {
        let (Event::Received { from, rssi_dbm }, Some(node)) = (&record.event, record.node) else { continue };
        let link = Ends { from: id(trace, *from), to: id(trace, node) };
        if links.get(&link).is_none_or(|tally| tally.heard < FEW || tally.share() < FAITHFUL) {
            continue;
        }
        if let Some(before) = last.insert(link, *rssi_dbm) {
            squares += f64::from(rssi_dbm - before).powi(2);
            count += 1;
        }
    }
    (squares / 2.0 / f64::from(count.max(1)) - ROUNDING_VARIANCE).max(0.0).sqrt()
}

fn frame_bits(trace: &Trace) -> u32 {
    let mut lengths: Vec<usize> = trace
        .records
        .iter()
        .filter_map(|record| if let Event::Frame { psdu } = &record.event { Some(psdu.len()) } else { None })
        .collect();
    lengths.sort_unstable();
    let middle = lengths.get(lengths.len() / 2).and_then(|&bytes| u32::try_from(bytes * 8).ok());
    middle.unwrap_or(FRAME_BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Channel, FRAME_BITS, Tally};

    fn channel(jitter_db: f64, spared: f64) -> Channel {
        Channel { jitter_db, frame_bits: FRAME_BITS, spared: BTreeMap::from([(2, spared)]) }
    }

    fn tally(heard: u64, dbm: i16) -> Tally {
        let mut tally = Tally::default();
        tally.add(heard, 100, dbm, dbm);
        tally
    }

    #[test]
    fn where_few_frames_arrive_their_strength_is_not_believed() {
        let still = channel(0.0, 1.0);
        assert!((still.strength_dbm(2, &tally(95, -98)) + 98.0).abs() < 1e-9);
        let weak = channel(4.0, 1.0).strength_dbm(2, &tally(30, -98));
        assert!((-103.0..-100.0).contains(&weak), "{weak}");
        let disturbed = still.strength_dbm(2, &tally(30, -70));
        assert!((disturbed + 70.0).abs() < 1e-9, "others on the air take strong frames");
        assert!(still.strength_at(0.5) > still.strength_at(0.1));
    }

    #[test]
    fn a_share_turned_into_a_strength_gives_the_share_again() {
        for jitter_db in [0.0, 1.5, 4.0] {
            let channel = channel(jitter_db, 1.0);
            for percent in [5, 30, 50, 85] {
                let share = f64::from(percent) / 100.0;
                let found = 1.0 - channel.lost_at(channel.strength_at(share));
                assert!((found - share).abs() < 1e-3, "{jitter_db} dB: {share} became {found}");
            }
        }
    }

    #[test]
    fn what_overlaps_took_is_not_blamed_on_noise() {
        // Of strong frames four fifths arrive here, so a link with 60 of 100 loses a quarter to noise.
        let (alone, crowded) = (channel(1.5, 1.0), channel(1.5, 0.8));
        let found = crowded.strength_dbm(2, &tally(60, -101));
        assert!((found - alone.strength_at(0.75)).abs() < 1e-9);
        assert!(found > alone.strength_dbm(2, &tally(60, -101)));
    }
}
