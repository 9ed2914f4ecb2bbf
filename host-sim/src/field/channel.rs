//! How strong a link is, from how many frames arrive over it and how strong those are.
//!
//! The strength of frames that arrived is biased where noise takes many: the weak ones are missing. So a link that is hardly
//! stronger than noise has the strength that best explains both, the share that arrived and the mean of those that did, by
//! the simulator's error curve. Three things stand between frames and the curve, and each is taken from the same recording:
//! frames vary in strength, longer ones are lost sooner, and others on the air take frames whatever their strength.

use std::collections::BTreeMap;

use serde::Serialize;
use sim::air::oqpsk::ln_good_bit;
use sim::air::trace::Event;

use super::calibrate::{Estimate, SURE};
use super::check::trace_file::Trace;
use super::links::{Ends, id};

/// Only where at least this share of frames arrives, they vary as the link does.
const FAITHFUL: f64 = 0.9;

/// The simulator's noise floor, against which its error curve is read.
pub const NOISE_DBM: f64 = -100.5;

/// Frames this much stronger than noise are lost to something else.
const CLEAR_DB: f64 = 5.0;

/// The weakest and the strongest signal, against noise, that a share of frames can stand for.
const RANGE_DB: [i32; 2] = [-12, 12];

/// Steps of a decibel in which the strength of a weak link is sought.
const STEPS_PER_DB: i32 = 25;

/// Bits of a frame of middling length, where nobody saw one.
const FRAME_BITS: u32 = 50 * 8;

/// Fewer frames than this say nothing about how much they vary, or how many are lost to overlaps.
const FEW: u64 = 20;

/// Radios report whole decibels; this deviation is the rounding's, not the link's.
const ROUNDING_VARIANCE: f64 = 1.0 / 12.0;

/// Frames that vary by this deviation are rounded now up and now down.
const ROUGH_DB: f64 = 0.5;

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

pub fn share(part: u64, all: u64) -> f64 {
    whole(part) / whole(all.max(1))
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
    /// What becomes of frames of every strength that is hardly more than noise.
    #[serde(skip)]
    curve: Vec<Arrivals>,
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
        Self::new(jitter_db(trace, links), frame_bits(trace), spared)
    }

    fn new(jitter_db: f64, frame_bits: u32, spared: BTreeMap<u16, f64>) -> Self {
        let mut channel = Self { jitter_db, frame_bits, spared, curve: Vec::new() };
        let [low, high] = RANGE_DB.map(|db| db * STEPS_PER_DB);
        channel.curve = (low..=high).map(|step| channel.outcome(f64::from(step) / f64::from(STEPS_PER_DB))).collect();
        channel
    }

    /// How strongly frames of a link arrive, those that were lost to noise included.
    pub fn strength(&self, to: u16, tally: &Tally) -> Estimate {
        let Some(mean_dbm) = tally.mean_dbm() else {
            return Estimate { value: NOISE_DBM + f64::from(RANGE_DB[0]), within: f64::INFINITY };
        };
        let frames = whole(tally.heard);
        if mean_dbm >= NOISE_DBM + CLEAR_DB {
            let variance = self.jitter_db.powi(2) / frames + self.rounding_variance(frames);
            return Estimate { value: mean_dbm, within: SURE * variance.sqrt() };
        }
        let likelihoods = self.curve.iter().map(|outcome| (outcome, self.ln_likelihood(to, tally, mean_dbm, outcome)));
        let likelihoods: Vec<(f64, f64)> = likelihoods.map(|(outcome, likely)| (outcome.strength_db, likely)).collect();
        let best = likelihoods.iter().map(|(_, likely)| *likely).fold(f64::NEG_INFINITY, f64::max);
        let [mut sum, mut first, mut second] = [0.0; 3];
        for (strength_db, likely) in likelihoods {
            let weight = (likely - best).exp();
            sum += weight;
            first += weight * strength_db;
            second += weight * strength_db * strength_db;
        }
        let value = first / sum;
        Estimate { value: NOISE_DBM + value, within: SURE * (second / sum - value * value).max(0.0).sqrt() }
    }

    /// Of the mean of so many frames. Where they hardly vary, rounding errs the same way every time.
    fn rounding_variance(&self, frames: f64) -> f64 {
        if self.jitter_db < ROUGH_DB { ROUNDING_VARIANCE } else { ROUNDING_VARIANCE / frames }
    }

    /// How well a strength explains what became of a link's frames.
    fn ln_likelihood(&self, to: u16, tally: &Tally, mean_dbm: f64, outcome: &Arrivals) -> f64 {
        let spared = self.spared.get(&to).copied().unwrap_or(1.0);
        let sent = whole(tally.expected.max(tally.heard));
        let share = (outcome.arriving * spared).clamp(f64::EPSILON, 1.0 - f64::EPSILON);
        // Overlaps take weak frames before strong ones: how many is known to within what they take of strong ones.
        let share_variance =
            (share * (1.0 - share)).max(0.25 / sent) / sent + (outcome.arriving * (1.0 - spared)).powi(2);
        let frames = whole(tally.heard);
        let mean_variance = outcome.variance / frames + self.rounding_variance(frames);
        let off = (tally.share() - share).powi(2) / share_variance
            + (mean_dbm - NOISE_DBM - outcome.mean_db).powi(2) / mean_variance;
        -0.5 * (off + share_variance.ln() + mean_variance.ln())
    }

    /// The share of frames of a link that noise takes, where its strength is this.
    pub fn lost_at(&self, strength_dbm: f64) -> f64 {
        1.0 - self.outcome(strength_dbm - NOISE_DBM).arriving
    }

    /// What becomes of frames with this mean strength against noise.
    fn outcome(&self, strength_db: f64) -> Arrivals {
        let [mut arriving, mut first, mut second, mut weights] = [0.0; 4];
        for eighth in -24..=24_i32 {
            let deviations = f64::from(eighth) / 8.0;
            let weight = (-0.5 * deviations * deviations).exp();
            let one_db = strength_db + deviations * self.jitter_db;
            let arrives = weight * (f64::from(self.frame_bits) * ln_good_bit(10_f64.powf(one_db / 10.0))).exp();
            arriving += arrives;
            first += arrives * one_db;
            second += arrives * one_db * one_db;
            weights += weight;
        }
        // Where nothing arrives, the strongest would be the first.
        let mean_db = if arriving > 0.0 { first / arriving } else { strength_db };
        let variance = if arriving > 0.0 { (second / arriving - mean_db * mean_db).max(0.0) } else { 0.0 };
        Arrivals { strength_db, arriving: arriving / weights, mean_db, variance }
    }
}

/// What becomes of frames.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Arrivals {
    /// Their mean strength against noise.
    strength_db: f64,
    /// The share that arrives.
    arriving: f64,
    /// The mean strength of those, against noise.
    mean_db: f64,
    /// And how it varies.
    variance: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts of frames are far below 2^52")]
fn whole(count: u64) -> f64 {
    count as f64
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
        Channel::new(jitter_db, FRAME_BITS, BTreeMap::from([(2, spared)]))
    }

    fn tally(heard: u64, dbm: i16) -> Tally {
        let mut tally = Tally::default();
        tally.add(heard, 100, dbm, dbm);
        tally
    }

    #[test]
    fn where_few_frames_arrive_their_strength_is_not_believed() {
        let weak = channel(4.0, 1.0).strength(2, &tally(30, -98)).value;
        assert!((-104.0..-101.0).contains(&weak), "{weak}");
        let disturbed = channel(0.0, 1.0).strength(2, &tally(30, -70)).value;
        assert!((disturbed + 70.0).abs() < 1e-9, "others on the air take strong frames");
        let none = channel(4.0, 1.0).strength(2, &tally(0, -98));
        assert!(none.value < -110.0 && none.within.is_infinite(), "{none:?}");
    }

    #[test]
    fn what_a_link_of_some_strength_does_tells_its_strength() {
        for (jitter_db, strength_db) in [(0.0, 0.4), (1.5, -1.0), (1.5, 0.0), (1.5, 3.0), (4.0, -3.0), (4.0, 2.0)] {
            let channel = channel(jitter_db, 1.0);
            let true_one = channel.outcome(strength_db);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they are positive and few")]
            let heard = (true_one.arriving * 10_000.0) as u64;
            #[expect(clippy::cast_possible_truncation, reason = "a hundred times ten thousand")]
            let sum_dbm = ((super::NOISE_DBM + true_one.mean_db) * super::whole(heard)) as i64;
            let found = channel.strength(2, &Tally { heard, expected: 10_000, sum_dbm, least_dbm: None });
            let is_it = (found.value - super::NOISE_DBM - strength_db).abs() < 0.1 && found.within < 0.2;
            assert!(is_it, "{jitter_db} dB: {strength_db} became {found:?}");
        }
    }

    #[test]
    fn more_frames_make_a_strength_surer() {
        let channel = channel(1.5, 1.0);
        let within = |times: u64| {
            let mut all = Tally::default();
            (0..times).for_each(|_| all.merge(&tally(60, -101)));
            channel.strength(2, &all).within
        };
        assert!(within(1) < 1.0 && within(9) < 0.5 * within(1), "{} and {}", within(1), within(9));
    }

    #[test]
    fn what_overlaps_took_is_not_blamed_on_noise() {
        // Of strong frames four fifths arrive here.
        let (alone, crowded) = (channel(1.5, 1.0), channel(1.5, 0.8));
        let lost = |channel: &Channel| channel.lost_at(channel.strength(2, &tally(60, -100)).value);
        assert!(lost(&crowded) + 0.05 < lost(&alone), "{} and {}", lost(&crowded), lost(&alone));
    }
}
