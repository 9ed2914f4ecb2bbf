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
use std::rc::Rc;

use common::rng::Rng;

use super::grid::Grid;
use super::oqpsk::ln_good_bit;
use super::power::Power;
use super::propagation::{Place, Propagation, normal};
use super::{BYTE_US, HEADER_BYTES, SYNC_US};

/// Microseconds per bit.
const BIT_US: f64 = 4.0;
const _: () = assert!(BYTE_US == 8 * 4);

/// A frame this much stronger (3 dB) takes over a lock that is still in its preamble, and keeps one against another.
const CAPTURE_RATIO: f64 = 2.0;

/// Signals this far below the noise do not count, not even as interference.
const NEGLIGIBLE_DB: f64 = 10.0;

/// Below this ratio to the noise (-1 dB) no receiver finds the preamble.
const LOCK_RATIO: f64 = 0.794;

/// A mean power from here on is a busy channel.
pub const CCA_BUSY_DBM: f64 = -75.0;

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

#[derive(Clone, Copy, Debug)]
struct Lock {
    on: OnAir,
    since: u64,
    signal: Power,
    /// Logarithm of the probability that all bits so far are right.
    ln_good: f64,
    /// Up to here the bits have been weighed.
    weighed_to: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Assessment {
    energy: u128,
    from: u64,
    weighed_to: u64,
    carrier: bool,
}

/// What every frame in reach touches: one cache line.
#[derive(Clone, Debug)]
struct Receiver {
    /// Everything that arrives on its channel now.
    total: Power,
    lock: Option<Lock>,
    /// Frames among it that it could decode alone: what carrier sense finds.
    carriers: u32,
    channel: u8,
    listening: bool,
    assessing: bool,
}

const _: () = assert!(size_of::<Receiver>() <= 64);

/// A radio that is reached, and with which power.
#[derive(Clone, Copy, Debug)]
struct Reach {
    to: u32,
    power: Power,
}

/// What makes one emission arrive otherwise than the last.
#[derive(Clone, Copy, Debug)]
struct Whims {
    gain_db: f64,
    /// When the present spell of this link ends, and whether it is a bad one.
    spell_end: u64,
    bad: bool,
}

/// All radios that one radio reaches, by index.
#[derive(Clone, Debug)]
struct Audience {
    /// Shared with the emissions that go out to it: most of what a frame costs is walking this list.
    usual: Rc<[Reach]>,
    /// One for each of them; empty where every emission arrives the same.
    whims: Vec<Whims>,
}

#[derive(Clone, Debug)]
struct Emission {
    is_frame: bool,
    channel: u8,
    /// Who is reached and how strongly, as it was when it began.
    reached: Rc<[Reach]>,
}

/// The medium.
#[derive(Clone, Debug)]
pub struct Medium {
    propagation: Propagation,
    noise: Power,
    lockable: Power,
    bursts: Option<Bursts>,
    rng: Rng,
    places: Vec<Place>,
    tunings: Vec<Tuning>,
    receivers: Vec<Receiver>,
    /// Clear channel assessments under way; rare enough to be kept apart.
    assessments: BTreeMap<usize, Assessment>,
    audiences: Vec<Audience>,
    /// Whether the audiences no longer fit the places.
    stale: bool,
    emissions: Vec<Option<Emission>>,
}

impl Medium {
    /// An empty medium. `seed` is that of the radio stream.
    pub fn new(propagation: Propagation, bursts: Option<Bursts>, seed: u64) -> Self {
        let noise = Power::from_dbm(propagation.noise_dbm);
        let lockable = Power::from_dbm(propagation.noise_dbm + 10.0 * LOCK_RATIO.log10());
        Self {
            propagation,
            noise,
            lockable,
            bursts,
            rng: Rng::stream(seed, 0xA1),
            places: Vec::new(),
            tunings: Vec::new(),
            receivers: Vec::new(),
            assessments: BTreeMap::new(),
            audiences: Vec::new(),
            stale: true,
            emissions: Vec::new(),
        }
    }

    /// Adds a radio that does not listen yet, and gives its index.
    pub fn add(&mut self, place: Place, tuning: Tuning) -> usize {
        self.places.push(place);
        self.tunings.push(tuning);
        self.receivers.push(Receiver::new(tuning.channel));
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

    /// The mean received power of one radio at another in dBm, before jitter and bursts.
    pub fn mean_dbm(&self, from: usize, to: usize) -> Option<f64> {
        let ends = ((from, self.places[from]), (to, self.places[to]));
        Some(self.propagation.gain_db(ends.0, ends.1)? + self.tunings[from].tx_dbm)
    }

    /// Sets a radio to another channel or power. Of what is on the air already it hears nothing more.
    pub fn retune(&mut self, radio: usize, tuning: Tuning) {
        for emission in self.emissions.iter_mut().flatten() {
            emission.reached = emission.reached.iter().copied().filter(|reach| reach.to as usize != radio).collect();
        }
        let listening = self.receivers[radio].listening;
        self.tunings[radio] = tuning;
        self.receivers[radio] = Receiver { listening, ..Receiver::new(tuning.channel) };
        self.assessments.remove(&radio);
        self.stale = true;
    }

    /// What a radio is set to.
    pub fn tuning(&self, radio: usize) -> Tuning {
        self.tunings[radio]
    }

    /// Turns a receiver on or off. One that is turned off loses the frame it was receiving.
    pub fn listen(&mut self, radio: usize, listening: bool) {
        let receiver = &mut self.receivers[radio];
        receiver.listening = listening;
        if !listening {
            receiver.lock = None;
        }
    }

    /// Whether a radio is receiving a frame.
    pub fn is_locked(&self, radio: usize) -> bool {
        self.receivers[radio].lock.is_some()
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
        let Some(Emission { is_frame, channel, reached }) = self.emissions[on.0 as usize].take() else { return };
        for &Reach { to, power } in &*reached {
            let radio = to as usize;
            let receiver = &mut self.receivers[radio];
            if receiver.channel != channel {
                continue;
            }
            receiver.weigh(now, self.noise);
            if receiver.assessing {
                assess(&mut self.assessments, now, radio, receiver.total + self.noise);
            }
            receiver.total -= power;
            if is_frame && power >= self.lockable {
                receiver.carriers -= 1;
            }
            if let Some(lock) = receiver.lock.take_if(|lock| lock.on == on) {
                // Certain survival and certain loss need no chance.
                let intact =
                    lock.ln_good > -1e-9 || (lock.ln_good > -50.0 && chance(&mut self.rng) < lock.ln_good.exp());
                tell(Reception { to: radio, rssi_dbm: lock.signal.dbm(), intact });
            }
        }
    }

    /// Begins a clear channel assessment.
    pub fn begin_cca(&mut self, now: u64, radio: usize) {
        let receiver = &mut self.receivers[radio];
        receiver.assessing = true;
        let fresh = Assessment { energy: 0, from: now, weighed_to: now, carrier: receiver.carriers > 0 };
        self.assessments.insert(radio, fresh);
    }

    /// Ends a clear channel assessment; true where the channel is busy: mean power at the threshold, or a carrier.
    pub fn end_cca(&mut self, now: u64, radio: usize) -> bool {
        let receiver = &mut self.receivers[radio];
        receiver.assessing = false;
        assess(&mut self.assessments, now, radio, receiver.total + self.noise);
        let Some(done) = self.assessments.remove(&radio) else { return false };
        done.carrier || Power::mean(done.energy, now - done.from) >= Power::from_dbm(CCA_BUSY_DBM)
    }

    /// Everything that arrives at a radio now, noise included.
    pub fn power_at(&self, radio: usize) -> Power {
        self.receivers[radio].total + self.noise
    }

    fn begin(&mut self, now: u64, from: usize, is_frame: bool) -> OnAir {
        self.refresh();
        let slot = self.emissions.iter().position(Option::is_none).unwrap_or_else(|| {
            self.emissions.push(None);
            self.emissions.len() - 1
        });
        let on = OnAir(u32::try_from(slot).unwrap_or(u32::MAX));
        let channel = self.tunings[from].channel;
        let reached = self.arriving(now, from);
        for &Reach { to, power } in &*reached {
            let receiver = &mut self.receivers[to as usize];
            if receiver.channel != channel {
                continue;
            }
            let decodable = is_frame && power >= self.lockable;
            if receiver.assessing {
                assess(&mut self.assessments, now, to as usize, receiver.total + self.noise);
                if let Some(assessment) = self.assessments.get_mut(&(to as usize)) {
                    assessment.carrier |= decodable;
                }
            }
            receiver.begin(now, on, power, decodable, self.noise);
        }
        self.emissions[slot] = Some(Emission { is_frame, channel, reached });
        on
    }

    /// The powers with which this one emission arrives: jitter and the links' spells included.
    fn arriving(&mut self, now: u64, from: usize) -> Rc<[Reach]> {
        let Audience { usual, whims } = &mut self.audiences[from];
        if whims.is_empty() {
            return Rc::clone(usual);
        }
        let (tx_dbm, jitter_db) = (self.tunings[from].tx_dbm, self.propagation.jitter_db);
        let mut arrive = |reach: &Reach, whims: &mut Whims| {
            let mut db = whims.gain_db + tx_dbm + jitter_db * normal(&mut self.rng).0;
            if let Some(bursts) = self.bursts {
                while whims.spell_end <= now {
                    whims.bad = !whims.bad;
                    let mean = if whims.bad { bursts.bad_us } else { bursts.good_us };
                    whims.spell_end += exponential(&mut self.rng, mean);
                }
                if whims.bad {
                    db -= bursts.loss_db;
                }
            }
            Reach { to: reach.to, power: Power::from_dbm(db) }
        };
        usual.iter().zip(whims).map(|(reach, whims)| arrive(reach, whims)).collect()
    }

    /// Finds out anew who reaches whom, after radios have moved or walls have changed.
    fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let old = std::mem::take(&mut self.audiences);
        let least = self.propagation.noise_dbm - NEGLIGIBLE_DB;
        let strongest = self.tunings.iter().map(|tuning| tuning.tx_dbm).fold(f64::NEG_INFINITY, f64::max);
        let index = Grid::new(&self.places, self.propagation.reach(strongest, least));
        self.audiences = (0..self.len()).map(|from| self.audience(from, least, &index, old.get(from))).collect();
    }

    /// Whom a radio reaches. Links that were there before keep their spells.
    fn audience(&self, from: usize, least: f64, index: &Grid, before: Option<&Audience>) -> Audience {
        let tx_dbm = self.tunings[from].tx_dbm;
        let mut gains: Vec<(u32, f64)> = Vec::new();
        index.near(self.places[from], |to| {
            if to != from
                && let Some(gain_db) = self.propagation.gain_db((from, self.places[from]), (to, self.places[to]))
                && gain_db + tx_dbm >= least
            {
                gains.push((u32::try_from(to).unwrap_or(u32::MAX), gain_db));
            }
        });
        gains.sort_unstable_by_key(|&(to, _)| to);
        let usual = gains.iter().map(|&(to, gain_db)| Reach { to, power: Power::from_dbm(gain_db + tx_dbm) }).collect();
        let steady = self.propagation.jitter_db == 0.0 && self.bursts.is_none();
        let whims = |&(to, gain_db): &(u32, f64)| {
            let known = before.and_then(|audience| {
                let at = audience.usual.binary_search_by_key(&to, |reach| reach.to).ok()?;
                audience.whims.get(at)
            });
            // The first spell to begin is a good one.
            let fresh = Whims { gain_db, spell_end: 0, bad: true };
            known.map_or(fresh, |known| Whims { gain_db, ..*known })
        };
        Audience { usual, whims: if steady { Vec::new() } else { gains.iter().map(whims).collect() } }
    }
}

impl Receiver {
    fn new(channel: u8) -> Self {
        Self { total: Power::NONE, lock: None, carriers: 0, channel, listening: false, assessing: false }
    }

    /// A signal begins to arrive.
    fn begin(&mut self, now: u64, on: OnAir, power: Power, decodable: bool, noise: Power) {
        self.weigh(now, noise);
        let others = self.total + noise;
        self.total += power;
        if !decodable {
            return;
        }
        self.carriers += 1;
        if !self.listening {
            return;
        }
        let takes_over = match self.lock {
            None => power.ratio(others) >= LOCK_RATIO,
            Some(lock) => now < lock.since + SYNC_US && power.ratio(lock.signal) >= CAPTURE_RATIO,
        };
        if takes_over {
            // Bits count from the length byte on; what comes before is for finding the frame.
            let weighed_to = now + SYNC_US;
            self.lock = Some(Lock { on, since: now, signal: power, ln_good: 0.0, weighed_to });
        }
    }

    /// Weighs the stretch since the last change, before something changes.
    fn weigh(&mut self, now: u64, noise: Power) {
        if let Some(lock) = &mut self.lock
            && now > lock.weighed_to
        {
            let others = self.total.without(lock.signal);
            #[expect(clippy::cast_precision_loss, reason = "a frame is a few thousand microseconds")]
            let bits = (now - lock.weighed_to) as f64 / BIT_US;
            // Other signals are no noise that averages out: within 3 dB of the frame, its bits are anybody's guess.
            let drowned = others > Power::NONE && lock.signal.ratio(others) < CAPTURE_RATIO;
            let ln_good =
                if drowned { -std::f64::consts::LN_2 } else { ln_good_bit(lock.signal.ratio(others + noise)) };
            lock.ln_good += bits * ln_good;
            lock.weighed_to = now;
        }
    }
}

/// Adds the power since the last change to an assessment, before something changes.
fn assess(assessments: &mut BTreeMap<usize, Assessment>, now: u64, radio: usize, power: Power) {
    if let Some(assessment) = assessments.get_mut(&radio) {
        assessment.energy += power.energy(now - assessment.weighed_to);
        assessment.weighed_to = now;
    }
}

/// A number between 0 and 1.
fn chance(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

/// A length with this mean, memoryless; at least one microsecond.
fn exponential(rng: &mut Rng, mean_us: u32) -> u64 {
    let length = -(1.0 - chance(rng)).ln() * f64::from(mean_us);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and far below 2^64")]
    let whole = length as u64;
    whole.max(1)
}

/// Bits of a frame that noise can damage: its length byte and its payload.
pub const fn weighed_bits(psdu: usize) -> u64 {
    (HEADER_BYTES - SYNC_US / BYTE_US + psdu as u64) * 8
}

#[cfg(test)]
mod tests;
