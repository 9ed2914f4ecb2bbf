//! The shared medium: who hears what, and what is left of it.
//!
//! A frame touches every radio that its signal reaches, when it begins and when it ends, and nobody else: its cost grows with
//! the radios in reach, not with the network. A radio that listens locks on to the first frame that is loud enough. Whenever the
//! interference changes, the stretch since the last change is weighed with the signal-to-interference ratio it had; at the
//! end the frame has survived with the product of those probabilities.
//!
//! Capture: during its preamble a lock gives way to a frame at least 3 dB stronger. After that a stronger frame destroys
//! the one locked on, and is itself not received.

use std::collections::BTreeMap;

use common::rng::Rng;

use super::power::Power;
use super::propagation::{Place, Propagation};
use super::{BYTE_US, HEADER_BYTES, SYNC_US};

mod audience;
mod receiver;

use audience::{Audience, Faint, Loud, Reached, Scene};
use receiver::{Assessment, Hot, Lock, is_found};
pub use receiver::{CCA_BUSY_DBM, Fates, Rules};

/// What a radio is set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// The channel, 11 to 26.
    pub channel: u8,
    /// Transmit power.
    pub tx_dbm: f64,
}

/// A frame or a burst of noise that is on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnAir(u32);

/// What became of a frame at a radio that had locked on to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reception {
    /// The radio.
    pub to: usize,
    /// Received power.
    pub rssi_dbm: f64,
    /// Whether every bit is right; a damaged frame fails its checksum.
    pub intact: bool,
}

/// The frame that a radio is receiving.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Locked {
    /// When its first bit arrived.
    pub since: u64,
    /// Received power.
    pub rssi_dbm: f64,
}

/// What a clear channel assessment found, before anybody judges it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Mean power, noise included.
    pub mean: Power,
    /// Whether a frame was on the channel that the radio could decode alone.
    pub carrier: bool,
}

/// Links that break down for a while and come back (Gilbert and Elliott).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Mean length of a good spell in microseconds.
    pub good_us: u32,
    /// Mean length of a bad spell.
    pub bad_us: u32,
    /// Loss in a bad spell in dB.
    pub loss_db: f64,
}

#[derive(Clone, Debug)]
struct Emission {
    is_frame: bool,
    /// Who is reached and how strongly, as it was when it began.
    reached: Reached,
}

/// The medium.
#[derive(Clone, Debug)]
pub struct Medium {
    propagation: Propagation,
    rules: Rules,
    noise: Power,
    lockable: Power,
    bursts: Option<Bursts>,
    rng: Rng,
    places: Vec<Place>,
    tunings: Vec<Tuning>,
    hot: Vec<Hot>,
    /// What each radio is receiving; without meaning where it is not locked on to anything.
    locks: Vec<Option<Lock>>,
    /// Clear channel assessments under way; rare enough to be kept apart.
    assessments: BTreeMap<usize, Assessment>,
    audiences: Vec<Audience>,
    /// Whether the audiences no longer fit the places.
    stale: bool,
    emissions: Vec<Option<Emission>>,
    fates: Fates,
}

impl Medium {
    /// An empty medium with the usual receivers. `seed` is that of the radio stream.
    pub fn new(propagation: Propagation, bursts: Option<Bursts>, seed: u64) -> Self {
        Self::with_rules(propagation, bursts, seed, Rules::USUAL)
    }

    /// An empty medium whose receivers work by these rules.
    pub fn with_rules(propagation: Propagation, bursts: Option<Bursts>, seed: u64, rules: Rules) -> Self {
        let noise = Power::from_dbm(propagation.noise_dbm);
        let lockable = rules.lockable(propagation.noise_dbm);
        Self {
            propagation,
            rules,
            noise,
            lockable,
            bursts,
            rng: Rng::stream(seed, 0xA1),
            places: Vec::new(),
            tunings: Vec::new(),
            hot: Vec::new(),
            locks: Vec::new(),
            assessments: BTreeMap::new(),
            audiences: Vec::new(),
            stale: true,
            emissions: Vec::new(),
            fates: Fates::default(),
        }
    }

    /// Adds a radio that does not listen yet, and gives its index.
    pub fn add(&mut self, place: Place, tuning: Tuning) -> usize {
        self.places.push(place);
        self.tunings.push(tuning);
        self.hot.push(Hot::default());
        self.locks.push(None);
        self.stale = true;
        self.places.len() - 1
    }

    /// How many radios there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no radios.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Where a radio is.
    pub fn place(&self, radio: usize) -> Place {
        self.places[radio]
    }

    /// Moves a radio. Frames that are on the air keep the strength they began with.
    pub fn set_place(&mut self, radio: usize, place: Place) {
        self.places[radio] = place;
        self.stale = true;
    }

    /// Changes walls and whatever else decides how waves spread.
    pub fn change_propagation(&mut self, change: impl FnOnce(&mut Propagation)) {
        change(&mut self.propagation);
        self.stale = true;
    }

    /// How waves spread.
    pub fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// What became of the frames that were strong enough, until now.
    pub fn fates(&self) -> Fates {
        self.fates
    }

    /// The mean received power of one radio at another in dBm, before jitter and bursts; none where nothing arrives, as
    /// between radios on different channels.
    pub fn mean_dbm(&self, from: usize, to: usize) -> Option<f64> {
        if self.tunings[from].channel != self.tunings[to].channel {
            return None;
        }
        let ends = ((from, self.places[from]), (to, self.places[to]));
        Some(self.propagation.gain_db(ends.0, ends.1)? + self.tunings[from].tx_dbm)
    }

    /// Sets a radio to another channel or power. Of what is on the air already it hears nothing more.
    pub fn retune(&mut self, radio: usize, tuning: Tuning) {
        for emission in self.emissions.iter_mut().flatten() {
            emission.reached.leave_out(radio);
        }
        self.tunings[radio] = tuning;
        self.hot[radio] = Hot { listening: self.hot[radio].listening, ..Hot::default() };
        self.fates.abandoned += u64::from(self.locks[radio].take().is_some());
        self.assessments.remove(&radio);
        self.stale = true;
    }

    /// What a radio is set to.
    pub fn tuning(&self, radio: usize) -> Tuning {
        self.tunings[radio]
    }

    /// Turns a receiver on or off. One that is turned off loses the frame it was receiving.
    pub fn listen(&mut self, radio: usize, listening: bool) {
        let hot = &mut self.hot[radio];
        hot.listening = listening;
        if !listening && std::mem::take(&mut hot.locked) {
            self.locks[radio] = None;
            self.fates.abandoned += 1;
        }
    }

    /// Whether a radio is receiving a frame.
    pub fn is_locked(&self, radio: usize) -> bool {
        self.hot[radio].locked
    }

    /// The frame that a radio is receiving, or none.
    pub fn locked(&self, radio: usize) -> Option<Locked> {
        let lock = self.locks[radio].as_ref()?;
        Some(Locked { since: lock.since, rssi_dbm: lock.signal.dbm() })
    }

    /// Begins a frame: its first preamble bit leaves the antenna now.
    pub fn begin_frame(&mut self, now: u64, from: usize) -> OnAir {
        self.begin(now, from, true)
    }

    /// Begins noise that nobody can decode.
    pub fn begin_noise(&mut self, now: u64, from: usize) -> OnAir {
        self.begin(now, from, false)
    }

    /// Ends a frame or noise, and tells every radio that was locked on to it.
    pub fn end(&mut self, now: u64, on: OnAir, mut tell: impl FnMut(Reception)) {
        let Some(Emission { is_frame, reached }) = self.emissions[on.0 as usize].take() else { return };
        for &Faint { to, power } in &*reached.faint {
            if self.hot[to as usize].is_sensitive() {
                self.weigh(now, to as usize);
            }
            self.hot[to as usize].total -= Power::from_units(power);
        }
        for &Loud { to, power } in &*reached.loud {
            let radio = to as usize;
            if self.hot[radio].is_sensitive() {
                self.weigh(now, radio);
            }
            let hot = &mut self.hot[radio];
            hot.total -= power;
            if is_frame && power >= self.lockable {
                hot.carriers -= 1;
            }
            if hot.locked
                && let Some(lock) = self.locks[radio].take_if(|lock| lock.on == on)
            {
                hot.locked = false;
                // Certain survival and certain loss need no chance.
                let intact =
                    lock.ln_good > -1e-9 || (lock.ln_good > -50.0 && chance(&mut self.rng) < lock.ln_good.exp());
                self.fates.intact += u64::from(intact);
                self.fates.damaged += u64::from(!intact);
                tell(Reception { to: radio, rssi_dbm: lock.signal.dbm(), intact });
            }
        }
    }

    /// Begins a clear channel assessment.
    pub fn begin_cca(&mut self, now: u64, radio: usize) {
        let hot = &mut self.hot[radio];
        hot.assessing = true;
        self.assessments.insert(radio, Assessment::begin(now, hot.carriers > 0));
    }

    /// Ends a clear channel assessment; true where the channel is busy: mean power at the threshold, or a carrier.
    pub fn end_cca(&mut self, now: u64, radio: usize) -> bool {
        let Some(Found { mean, carrier }) = self.take_cca(now, radio) else { return false };
        (carrier && self.rules.carrier_sense) || mean >= Power::from_dbm(self.rules.cca_dbm)
    }

    /// Ends a clear channel assessment for a radio that judges for itself; none where none was under way.
    pub fn take_cca(&mut self, now: u64, radio: usize) -> Option<Found> {
        let hot = &mut self.hot[radio];
        hot.assessing = false;
        let power = hot.total + self.noise;
        let mut done = self.assessments.remove(&radio)?;
        done.weigh(now, power);
        Some(Found { mean: Power::mean(done.energy, now - done.from), carrier: done.carrier })
    }

    /// Breaks a clear channel assessment off.
    pub fn abort_cca(&mut self, radio: usize) {
        self.hot[radio].assessing = false;
        self.assessments.remove(&radio);
    }

    /// Everything that arrives at a radio now, noise included.
    pub fn power_at(&self, radio: usize) -> Power {
        self.hot[radio].total + self.noise
    }

    fn begin(&mut self, now: u64, from: usize, is_frame: bool) -> OnAir {
        self.refresh();
        let slot = self.emissions.iter().position(Option::is_none).unwrap_or_else(|| {
            self.emissions.push(None);
            self.emissions.len() - 1
        });
        let on = OnAir(u32::try_from(slot).unwrap_or(u32::MAX));
        let (tx_dbm, jitter_db) = (self.tunings[from].tx_dbm, self.propagation.jitter_db);
        let reached = self.audiences[from].arriving(now, tx_dbm, jitter_db, self.bursts, self.lockable, &mut self.rng);
        self.fates.arrivals += (reached.loud.len() + reached.faint.len()) as u64;
        for &Faint { to, power } in &*reached.faint {
            if self.hot[to as usize].is_sensitive() {
                self.weigh(now, to as usize);
            }
            self.hot[to as usize].total += Power::from_units(power);
        }
        for &Loud { to, power } in &*reached.loud {
            self.arrive(now, on, to as usize, power, is_frame && power >= self.lockable);
        }
        self.emissions[slot] = Some(Emission { is_frame, reached });
        on
    }

    /// A signal begins to arrive at a radio that might decode it.
    fn arrive(&mut self, now: u64, on: OnAir, radio: usize, power: Power, decodable: bool) {
        if self.hot[radio].is_sensitive() {
            self.weigh(now, radio);
            if decodable && let Some(assessment) = self.assessments.get_mut(&radio) {
                assessment.carrier = true;
            }
        }
        let hot = &mut self.hot[radio];
        let others = hot.total + self.noise;
        hot.total += power;
        if !decodable {
            return;
        }
        hot.carriers += 1;
        self.fates.in_range += 1;
        if !hot.listening {
            self.fates.not_listening += 1;
            return;
        }
        match &self.locks[radio] {
            None if !is_found(power, others, &self.rules) => {
                self.fates.buried += 1;
                return;
            }
            None => {}
            Some(lock) if lock.gives_way(now, power, &self.rules) => self.fates.overtaken += 1,
            Some(_) => {
                self.fates.occupied += 1;
                return;
            }
        }
        hot.locked = true;
        self.locks[radio] = Some(Lock::begin(now, on, power));
    }

    /// Weighs the stretch since the last change at a radio for which it matters, before something changes.
    fn weigh(&mut self, now: u64, radio: usize) {
        let Hot { total, assessing, .. } = self.hot[radio];
        if let Some(lock) = &mut self.locks[radio] {
            lock.weigh(now, total, self.noise, self.rules.captures);
        }
        if assessing && let Some(assessment) = self.assessments.get_mut(&radio) {
            assessment.weigh(now, total + self.noise);
        }
    }

    /// Finds out anew who reaches whom, after radios have moved or walls have changed; the next emission would do it too.
    pub fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let scene = Scene {
            propagation: &self.propagation,
            places: &self.places,
            tunings: &self.tunings,
            lockable: self.lockable,
            bursts: self.bursts,
        };
        self.audiences = scene.audiences(&self.audiences);
    }
}

/// A number between 0 and 1.
fn chance(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

/// Bits of a frame that noise can damage: its length byte and its payload.
pub const fn weighed_bits(psdu: usize) -> u64 {
    (HEADER_BYTES - SYNC_US / BYTE_US + psdu as u64) * 8
}

#[cfg(test)]
mod tests;
