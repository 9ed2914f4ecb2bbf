//! The shared medium: who hears what, and what is left of it.
//!
//! A frame touches every radio that its signal reaches, when it begins and when it ends, and nobody else: its cost grows with
//! the radios in reach, not with the network. A radio that listens locks on to the first frame that is loud enough. Whenever the
//! interference changes, the stretch since the last change is weighed with the signal-to-interference ratio it had; at the
//! end the frame has survived with the product of those probabilities.
//!
//! Capture: during its preamble a lock gives way to a frame at least 3 dB stronger. After that a stronger frame destroys
//! the one locked on, and is itself not received.

use common::rng::Rng;

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
pub struct OnAir(usize);

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

#[derive(Clone, Debug)]
struct Receiver {
    tuning: Tuning,
    listening: bool,
    /// Everything that arrives on its channel now.
    total: Power,
    /// Frames among it that it could decode alone: what carrier sense finds.
    carriers: u32,
    lock: Option<Lock>,
    assessing: Option<Assessment>,
}

/// How one radio reaches another.
#[derive(Clone, Copy, Debug)]
struct Reach {
    to: u32,
    gain_db: f32,
    /// Received power at the sender's present transmit power.
    power: Power,
    /// When the present spell of this link ends, and whether it is a bad one.
    spell_end: u64,
    bad: bool,
}

#[derive(Clone, Debug, Default)]
struct Emission {
    is_frame: bool,
    /// Who is reached and how strongly, as it was when it began.
    reached: Vec<(u32, Power)>,
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
    receivers: Vec<Receiver>,
    reaches: Vec<Vec<Reach>>,
    /// Whether the reaches no longer fit the places.
    stale: bool,
    emissions: Vec<Emission>,
    free: Vec<usize>,
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
            receivers: Vec::new(),
            reaches: Vec::new(),
            stale: true,
            emissions: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a radio that does not listen yet, and gives its index.
    pub fn add(&mut self, place: Place, tuning: Tuning) -> usize {
        self.places.push(place);
        self.receivers.push(Receiver::new(tuning));
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
        Some(self.propagation.gain_db(ends.0, ends.1)? + self.receivers[from].tuning.tx_dbm)
    }

    /// Sets a radio to another channel or power. Of what is on the air already it hears nothing more.
    pub fn retune(&mut self, radio: usize, tuning: Tuning) {
        for emission in &mut self.emissions {
            emission.reached.retain(|&(to, _)| to as usize != radio);
        }
        let listening = self.receivers[radio].listening;
        self.receivers[radio] = Receiver { listening, ..Receiver::new(tuning) };
        self.stale = true;
    }

    /// What a radio is set to.
    pub fn tuning(&self, radio: usize) -> Tuning {
        self.receivers[radio].tuning
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
        let emission = std::mem::take(&mut self.emissions[on.0]);
        for &(radio, power) in &emission.reached {
            let to = radio as usize;
            let receiver = &mut self.receivers[to];
            receiver.weigh(now, self.noise);
            receiver.total -= power;
            if emission.is_frame && power >= self.lockable {
                receiver.carriers -= 1;
            }
            if let Some(lock) = receiver.lock.take_if(|lock| lock.on == on) {
                // Certain survival and certain loss need no chance.
                let intact =
                    lock.ln_good > -1e-9 || (lock.ln_good > -50.0 && chance(&mut self.rng) < lock.ln_good.exp());
                tell(Reception { to, rssi_dbm: lock.signal.dbm(), intact });
            }
        }
        self.free.push(on.0);
        let mut reached = emission.reached;
        reached.clear();
        self.emissions[on.0].reached = reached;
    }

    /// Begins a clear channel assessment.
    pub fn begin_cca(&mut self, now: u64, radio: usize) {
        let carrier = self.receivers[radio].carriers > 0;
        let fresh = Assessment { energy: 0, from: now, weighed_to: now, carrier };
        self.receivers[radio].assessing = Some(fresh);
    }

    /// Ends a clear channel assessment; true where the channel is busy: mean power at the threshold, or a carrier.
    pub fn end_cca(&mut self, now: u64, radio: usize) -> bool {
        let noise = self.noise;
        let receiver = &mut self.receivers[radio];
        receiver.weigh(now, noise);
        let Some(done) = receiver.assessing.take() else { return false };
        let mean = Power::mean(done.energy, now - done.from);
        done.carrier || mean >= Power::from_dbm(CCA_BUSY_DBM)
    }

    /// Everything that arrives at a radio now, noise included.
    pub fn power_at(&self, radio: usize) -> Power {
        self.receivers[radio].total + self.noise
    }

    fn begin(&mut self, now: u64, from: usize, is_frame: bool) -> OnAir {
        self.refresh();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.emissions.push(Emission::default());
            self.emissions.len() - 1
        });
        let on = OnAir(slot);
        let channel = self.receivers[from].tuning.channel;
        let mut reached = std::mem::take(&mut self.emissions[slot].reached);
        for at in 0..self.reaches[from].len() {
            let to = self.reaches[from][at].to as usize;
            if self.receivers[to].tuning.channel != channel {
                continue;
            }
            let power = self.arriving(now, from, at);
            reached.push((self.reaches[from][at].to, power));
            let decodable = is_frame && power >= self.lockable;
            self.receivers[to].begin(now, on, power, decodable, self.noise);
        }
        self.emissions[slot] = Emission { is_frame, reached };
        on
    }

    /// The power with which this one emission arrives: jitter and the link's spells included.
    fn arriving(&mut self, now: u64, from: usize, at: usize) -> Power {
        let jitter_db = self.propagation.jitter_db;
        if jitter_db == 0.0 && self.bursts.is_none() {
            return self.reaches[from][at].power;
        }
        let mut db = f64::from(self.reaches[from][at].gain_db) + self.receivers[from].tuning.tx_dbm;
        if jitter_db > 0.0 {
            db += jitter_db * normal(&mut self.rng).0;
        }
        if let Some(bursts) = self.bursts {
            let reach = &mut self.reaches[from][at];
            while reach.spell_end <= now {
                reach.bad = !reach.bad;
                let mean = if reach.bad { bursts.bad_us } else { bursts.good_us };
                reach.spell_end += exponential(&mut self.rng, mean);
            }
            if reach.bad {
                db -= bursts.loss_db;
            }
        }
        Power::from_dbm(db)
    }

    /// Finds out anew who reaches whom, after radios have moved or walls have changed.
    fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let old = std::mem::take(&mut self.reaches);
        let least = self.propagation.noise_dbm - NEGLIGIBLE_DB;
        let strongest = self.receivers.iter().map(|r| r.tuning.tx_dbm).fold(f64::NEG_INFINITY, f64::max);
        let index = super::grid::Grid::new(&self.places, self.propagation.reach(strongest, least));
        for from in 0..self.len() {
            let tx_dbm = self.receivers[from].tuning.tx_dbm;
            let mut reaches = Vec::new();
            index.near(self.places[from], |to| {
                if to == from {
                    return;
                }
                let gain = self.propagation.gain_db((from, self.places[from]), (to, self.places[to]));
                let Some(gain_db) = gain.filter(|gain| gain + tx_dbm >= least) else { return };
                let before = old.get(from).and_then(|list: &Vec<Reach>| {
                    list.binary_search_by_key(&to, |reach| reach.to as usize).ok().map(|at| &list[at])
                });
                reaches.push(Reach {
                    to: u32::try_from(to).unwrap_or(u32::MAX),
                    #[expect(clippy::cast_possible_truncation, reason = "a gain needs no more than seven digits")]
                    gain_db: gain_db as f32,
                    power: Power::from_dbm(gain_db + tx_dbm),
                    spell_end: before.map_or(0, |reach| reach.spell_end),
                    // The first spell to begin is a good one.
                    bad: before.is_none_or(|reach| reach.bad),
                });
            });
            reaches.sort_unstable_by_key(|reach| reach.to);
            self.reaches.push(reaches);
        }
    }
}

impl Receiver {
    fn new(tuning: Tuning) -> Self {
        Self { tuning, listening: false, total: Power::NONE, carriers: 0, lock: None, assessing: None }
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
        if let Some(assessing) = &mut self.assessing {
            assessing.carrier = true;
        }
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
        if let Some(assessing) = &mut self.assessing
            && now > assessing.weighed_to
        {
            assessing.energy += (self.total + noise).energy(now - assessing.weighed_to);
            assessing.weighed_to = now;
        }
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
