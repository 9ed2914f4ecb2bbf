//! The receiving ends of all radios: how a signal affects every radio it reaches, when it begins and when it ends.

use std::collections::BTreeMap;

use common::rng::Rng;

use super::super::index::RadioIndex;
use super::super::power::Power;
use super::reach::{Base, Block, LANES, Loud, Reached};
use super::receiver::{ASSESSED, Assessment, Attention, Fates, Interference, NO_LIMIT, Receiver, Rules};
use super::{Found, OnAir, Reception, chance};
use crate::maths;

#[derive(Clone, Debug)]
pub(super) struct Receivers {
    rules: Rules,
    noise: Power,
    /// The weakest frame that a radio finds on an otherwise silent channel.
    pub lockable: Power,
    by_radio: Vec<Receiver>,
    /// The faint signals, four radios to an entry.
    interference: Vec<Interference>,
    /// The loud power at each radio that it could not decode: noise, and frames too weak to lock on to.
    undecodable: Vec<Power>,
    /// Clear channel assessments under way. They are rare enough for a separate map.
    assessments: BTreeMap<RadioIndex, Assessment>,
    pub fates: Fates,
}

impl Receivers {
    pub fn new(rules: Rules, noise_dbm: f64) -> Self {
        Self {
            rules,
            noise: Power::from_dbm(noise_dbm),
            lockable: rules.lockable(noise_dbm),
            by_radio: Vec::new(),
            interference: Vec::new(),
            undecodable: Vec::new(),
            assessments: BTreeMap::new(),
            fates: Fates::default(),
        }
    }

    /// Adds a receiver that does not listen yet.
    pub fn add(&mut self) {
        self.by_radio.push(Receiver::default());
        self.undecodable.push(Power::NONE);
        self.interference.resize(self.by_radio.len().div_ceil(LANES), Interference::default());
    }

    /// Removes everything that is on the air from this radio's input.
    pub fn silence(&mut self, radio: RadioIndex) {
        let listening = !self.by_radio[radio.0].attention.is_deaf();
        self.listen(radio, false);
        self.by_radio[radio.0] = Receiver::default();
        self.listen(radio, listening);
        self.undecodable[radio.0] = Power::NONE;
        let here = &mut self.interference[radio.0 / LANES];
        (here.sums[radio.0 % LANES], here.limits[radio.0 % LANES]) = (0, NO_LIMIT);
        self.assessments.remove(&radio);
    }

    /// Turns a receiver on or off. Turning it off loses the frame that it was receiving.
    pub fn listen(&mut self, radio: RadioIndex, listening: bool) {
        let receiver = &mut self.by_radio[radio.0];
        if !listening {
            self.fates.abandoned += u64::from(receiver.attention.is_locked());
            receiver.attention = Attention::DEAF;
            self.set_limit(radio);
        } else if receiver.attention.is_deaf() {
            receiver.attention = Attention::LISTENING;
        }
    }

    /// The power of the frame whose preamble ends now, if there is one.
    pub fn found_dbm(&self, now: u64, radio: RadioIndex) -> Option<f64> {
        let receiver = &self.by_radio[radio.0];
        (receiver.attention.is_locked() && receiver.since_weighed(now) == 0).then(|| receiver.signal.dbm())
    }

    pub fn is_locked(&self, radio: RadioIndex) -> bool {
        self.by_radio[radio.0].attention.is_locked()
    }

    /// Everything that arrives at a radio now, noise included.
    pub fn power_at(&self, radio: RadioIndex) -> Power {
        self.by_radio[radio.0].loud + self.interference[radio.0 / LANES].at(radio) + self.noise
    }

    /// Updates how much faint power a radio tolerates, after something else has changed there.
    fn set_limit(&mut self, radio: RadioIndex) {
        let limit = &mut self.interference[radio.0 / LANES].limits[radio.0 % LANES];
        if *limit != ASSESSED {
            *limit = self.by_radio[radio.0].limit(self.noise);
        }
    }

    /// A frame or noise begins to arrive.
    pub fn begin(&mut self, now: u64, on: OnAir, (base, reached): (Base, &Reached), is_frame: bool) {
        self.fates.arrivals += (reached.loud.len() + reached.faint.len()) as u64;
        for block @ Block { powers, .. } in &reached.faint.blocks {
            let four = base.four(block);
            let here = &mut self.interference[four];
            let before = here.sums;
            if here.swell(powers) {
                let after = here.sums;
                self.weigh_faint(now, four, powers, before, after);
            }
        }
        self.count_undecodable(base, reached, is_frame, |undecodable, power| *undecodable += power);
        self.fates.in_range += if is_frame { reached.decodable as u64 } else { 0 };
        let Self { rules, noise, lockable, by_radio: receivers, interference, assessments, fates, .. } = self;
        let (receivers, interference) = (receivers.as_mut_slice(), interference.as_mut_slice());
        for &Loud { to, power, .. } in &reached.loud {
            let radio = base.radio(to);
            let (receiver, here) = (&mut receivers[radio.0], &mut interference[radio.0 / LANES]);
            let (sum, limit) = here.sum_and_limit(radio);
            let total = receiver.loud + Power::from_units(sum.cast_unsigned());
            let decodable = is_frame && power >= *lockable;
            if power.exceeds(sum, *limit) {
                receiver.weigh(now, total, *noise, rules.captures);
                if *limit == ASSESSED {
                    assess(assessments, radio, now, total + *noise, decodable);
                }
            }
            receiver.loud += power;
            if decodable && receiver.finds(now, power, total + *noise, rules, fates) {
                receiver.lock_on(now, on, power);
            }
            if *limit != ASSESSED {
                *limit = receiver.limit(*noise);
            }
        }
    }

    /// A frame or noise ceases to arrive. Tells every radio that was locked on to it what became of it.
    pub fn end(
        &mut self,
        now: u64,
        on: OnAir,
        (base, reached): (Base, &Reached),
        is_frame: bool,
        rng: &mut Rng,
        mut tell: impl FnMut(Reception),
    ) {
        for block @ Block { powers, .. } in &reached.faint.blocks {
            let four = base.four(block);
            let here = &mut self.interference[four];
            let before = here.sums;
            if here.fade(powers) {
                self.weigh_faint(now, four, powers, before, before);
            }
        }
        self.count_undecodable(base, reached, is_frame, |undecodable, power| *undecodable -= power);
        let Self { rules, noise, by_radio: receivers, interference, assessments, fates, .. } = self;
        let (receivers, interference) = (receivers.as_mut_slice(), interference.as_mut_slice());
        for &Loud { to, power, dbm } in &reached.loud {
            let radio = base.radio(to);
            let (receiver, here) = (&mut receivers[radio.0], &mut interference[radio.0 / LANES]);
            let (sum, limit) = here.sum_and_limit(radio);
            if sum > *limit {
                let total = receiver.loud + Power::from_units(sum.cast_unsigned());
                receiver.weigh(now, total, *noise, rules.captures);
                if *limit == ASSESSED {
                    assess(assessments, radio, now, total + *noise, false);
                }
            }
            receiver.loud -= power;
            if receiver.attention == Attention::to(on) {
                receiver.attention = Attention::LISTENING;
                let intact = survives(receiver.ln_good, rng);
                fates.intact += u64::from(intact);
                fates.damaged += u64::from(!intact);
                tell(Reception { to: radio, rssi_dbm: f64::from(dbm), intact });
            }
            if *limit != ASSESSED {
                *limit = receiver.limit(*noise);
            }
        }
    }

    /// Updates the loud power that cannot be decoded at each radio reached. Most signals contribute nothing and return
    /// early.
    fn count_undecodable(&mut self, base: Base, reached: &Reached, is_frame: bool, count: impl Fn(&mut Power, Power)) {
        if is_frame && reached.decodable == reached.loud.len() {
            return;
        }
        for &Loud { to, power, .. } in &reached.loud {
            if !is_frame || power < self.lockable {
                count(&mut self.undecodable[base.radio(to).0], power);
            }
        }
    }

    /// Weighs the stretch during which the faint signals added up to `sums`, at each of the four radios that the signal
    /// reaches and that is sensitive to it. Sensitivity depends on the greater of the sums before and after the change.
    fn weigh_faint(&mut self, now: u64, four: usize, powers: &[i32; LANES], sums: [i32; LANES], greater: [i32; LANES]) {
        let limits = self.interference[four].limits;
        let minds = |lane: usize| u32::from(powers[lane] > 0) & u32::from(greater[lane] > limits[lane]);
        let mut minding = (0..LANES).fold(0, |bits, lane| bits | minds(lane) << lane);
        while minding > 0 {
            let lane = minding.trailing_zeros() as usize % LANES;
            minding &= minding - 1;
            let radio = RadioIndex(four * LANES + lane);
            let receiver = &mut self.by_radio[radio.0];
            let total = receiver.loud + Power::from_units(sums[lane].cast_unsigned());
            receiver.weigh(now, total, self.noise, self.rules.captures);
            if limits[lane] == ASSESSED {
                assess(&mut self.assessments, radio, now, total + self.noise, false);
            }
        }
    }

    pub fn begin_cca(&mut self, now: u64, radio: RadioIndex) {
        let carrier = self.by_radio[radio.0].loud > self.undecodable[radio.0];
        self.assessments.insert(radio, Assessment::begin(now, carrier));
        self.interference[radio.0 / LANES].limits[radio.0 % LANES] = ASSESSED;
    }

    /// Ends a clear channel assessment; `None` if none was under way.
    pub fn take_cca(&mut self, now: u64, radio: RadioIndex) -> Option<Found> {
        let power = self.power_at(radio);
        let mut done = self.abort_cca(radio)?;
        done.weigh(now, power);
        Some(Found { mean: Power::mean(done.energy, now - done.from), carrier: done.carrier })
    }

    pub fn abort_cca(&mut self, radio: RadioIndex) -> Option<Assessment> {
        self.interference[radio.0 / LANES].limits[radio.0 % LANES] = NO_LIMIT;
        self.set_limit(radio);
        self.assessments.remove(&radio)
    }

    /// Whether the result means that the channel is busy: the mean power reaches the threshold, or there is a carrier.
    pub fn is_busy(&self, found: Found) -> bool {
        (found.carrier && self.rules.carrier_sense) || found.mean >= Power::from_dbm(self.rules.cca_dbm)
    }
}

/// Adds what a clear channel assessment sees up to a change, and whether the change is a frame that could be decoded.
fn assess(
    assessments: &mut BTreeMap<RadioIndex, Assessment>,
    radio: RadioIndex,
    now: u64,
    power: Power,
    is_carrier: bool,
) {
    if let Some(assessment) = assessments.get_mut(&radio) {
        assessment.weigh(now, power);
        assessment.carrier |= is_carrier;
    }
}

/// Whether a frame survives, given the logarithm of its probability. Certain survival and certain loss need no random
/// number. Most other cases need no exponential, since it never lies below its tangent.
fn survives(ln_good: f64, rng: &mut Rng) -> bool {
    if ln_good > -1e-9 {
        return true;
    }
    if ln_good <= -50.0 {
        return false;
    }
    let drawn = chance(rng);
    drawn < 1.0 + ln_good || drawn < maths::exp(ln_good)
}
