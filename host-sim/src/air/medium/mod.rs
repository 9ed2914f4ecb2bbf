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
use std::num::NonZeroU32;
use std::rc::Rc;

use common::rng::Rng;

use super::power::Power;
use super::propagation::{Place, Propagation};
use super::{BYTE_US, HEADER_BYTES, SYNC_US};

mod audience;
mod receiver;

use audience::{Audience, Block, LANES, Loud, Reached, Scene};
use receiver::{Assessment, Hum, NO_LIMIT, Receiver, is_found};
pub use receiver::{CCA_BUSY_DBM, Fates, Rules};

/// What a radio is set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// The channel, 11 to 26.
    pub channel: u8,
    /// Transmit power.
    pub tx_dbm: f64,
}

/// A frame or a burst of noise that is on the air: its place among the emissions, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnAir(NonZeroU32);

impl OnAir {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

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
    /// When its preamble is over; after that, a later time.
    pub found_at: u64,
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
    reached: Rc<Reached>,
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
    receivers: Vec<Receiver>,
    /// The faint signals at every four radios.
    hums: Vec<Hum>,
    /// Clear channel assessments under way; rare enough to be kept apart.
    assessments: BTreeMap<usize, Assessment>,
    audiences: Vec<Audience>,
    /// Whether the audiences no longer fit the places.
    stale: bool,
    emissions: Vec<Option<Emission>>,
    /// Places among the emissions that are free.
    vacant: Vec<OnAir>,
    /// Lists of emissions that are over.
    spare: Vec<Rc<Reached>>,
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
            receivers: Vec::new(),
            hums: Vec::new(),
            assessments: BTreeMap::new(),
            audiences: Vec::new(),
            stale: true,
            emissions: Vec::new(),
            vacant: Vec::new(),
            spare: Vec::new(),
            fates: Fates::default(),
        }
    }

    /// Adds a radio that does not listen yet, and gives its index.
    pub fn add(&mut self, place: Place, tuning: Tuning) -> usize {
        self.places.push(place);
        self.tunings.push(tuning);
        self.receivers.push(Receiver::default());
        self.hums.resize(self.receivers.len().div_ceil(LANES), Hum::default());
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
            Rc::make_mut(&mut emission.reached).leave_out(radio);
        }
        self.tunings[radio] = tuning;
        let receiver = &mut self.receivers[radio];
        self.fates.abandoned += u64::from(receiver.lock.is_some());
        *receiver = Receiver { listening: receiver.listening, ..Receiver::default() };
        let hum = &mut self.hums[radio / LANES];
        (hum.sums[radio % LANES], hum.limits[radio % LANES]) = (0, NO_LIMIT);
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
        if !listening && receiver.lock.take().is_some() {
            self.fates.abandoned += 1;
            self.set_limit(radio);
        }
    }

    /// Whether a radio is receiving a frame.
    pub fn is_locked(&self, radio: usize) -> bool {
        self.receivers[radio].lock.is_some()
    }

    /// The frame that a radio is receiving, or none.
    pub fn locked(&self, radio: usize) -> Option<Locked> {
        let receiver = &self.receivers[radio];
        receiver.lock.map(|_| Locked { found_at: receiver.weighed_to, rssi_dbm: receiver.signal.dbm() })
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
        let Some(Emission { is_frame, reached }) = self.emissions[on.index()].take() else { return };
        self.vacant.push(on);
        for Block { four, powers } in &reached.faint.blocks {
            let hum = &mut self.hums[*four as usize];
            let before = hum.sums;
            if hum.fade(powers) {
                self.weigh_faint(now, *four, powers, before, before);
            }
        }
        if is_frame {
            // All are touched before any is dealt with: what has to come from far memory comes at once.
            for &Loud { to, power, .. } in &reached.loud {
                self.receivers[to as usize].carriers -= u16::from(power >= self.lockable);
            }
        }
        for &Loud { to, power, dbm } in &reached.loud {
            let radio = to as usize;
            let total = self.total_at(radio);
            let receiver = &self.receivers[radio];
            let minds = receiver.minds();
            if minds && total > receiver.carefree(self.noise) {
                self.weigh(now, radio, total);
            }
            let receiver = &mut self.receivers[radio];
            receiver.loud -= power;
            if receiver.lock == Some(on) {
                receiver.lock = None;
                let intact = survives(receiver.ln_good, &mut self.rng);
                self.fates.intact += u64::from(intact);
                self.fates.damaged += u64::from(!intact);
                tell(Reception { to: radio, rssi_dbm: f64::from(dbm), intact });
            }
            if minds {
                self.set_limit(radio);
            }
        }
        // Those that only this emission had are filled anew for the next one.
        if Rc::strong_count(&reached) == 1 && self.spare.len() < self.emissions.len() {
            self.spare.push(reached);
        }
    }

    /// Begins a clear channel assessment.
    pub fn begin_cca(&mut self, now: u64, radio: usize) {
        let receiver = &mut self.receivers[radio];
        receiver.assessing = true;
        self.assessments.insert(radio, Assessment::begin(now, receiver.carriers > 0));
        self.set_limit(radio);
    }

    /// Ends a clear channel assessment; true where the channel is busy: mean power at the threshold, or a carrier.
    pub fn end_cca(&mut self, now: u64, radio: usize) -> bool {
        let Some(Found { mean, carrier }) = self.take_cca(now, radio) else { return false };
        (carrier && self.rules.carrier_sense) || mean >= Power::from_dbm(self.rules.cca_dbm)
    }

    /// Ends a clear channel assessment for a radio that judges for itself; none where none was under way.
    pub fn take_cca(&mut self, now: u64, radio: usize) -> Option<Found> {
        let power = self.power_at(radio);
        let mut done = self.stop_assessing(radio)?;
        done.weigh(now, power);
        Some(Found { mean: Power::mean(done.energy, now - done.from), carrier: done.carrier })
    }

    /// Breaks a clear channel assessment off.
    pub fn abort_cca(&mut self, radio: usize) {
        self.stop_assessing(radio);
    }

    fn stop_assessing(&mut self, radio: usize) -> Option<Assessment> {
        let receiver = &mut self.receivers[radio];
        receiver.assessing = false;
        self.set_limit(radio);
        self.assessments.remove(&radio)
    }

    /// Everything that arrives at a radio now, noise included.
    pub fn power_at(&self, radio: usize) -> Power {
        self.total_at(radio) + self.noise
    }

    /// All that is faint there.
    fn hum_at(&self, radio: usize) -> Power {
        Power::from_units(self.hums[radio / LANES].sums[radio % LANES])
    }

    /// Notes up to which sum of faint signals nobody minds at a radio, after something else has changed there.
    fn set_limit(&mut self, radio: usize) {
        self.hums[radio / LANES].limits[radio % LANES] = self.receivers[radio].limit(self.noise);
    }

    /// The same without the noise.
    fn total_at(&self, radio: usize) -> Power {
        self.receivers[radio].loud + self.hum_at(radio)
    }

    fn begin(&mut self, now: u64, from: usize, is_frame: bool) -> OnAir {
        self.refresh();
        let on = self.vacant.pop().unwrap_or_else(|| {
            self.emissions.push(None);
            OnAir(NonZeroU32::new(u32::try_from(self.emissions.len()).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MAX))
        });
        let (jitter_db, rng, spare) = (self.propagation.jitter_db, &mut self.rng, &mut self.spare);
        let reached = self.audiences[from].arriving(now, jitter_db, self.bursts, self.lockable, rng, spare);
        self.fates.arrivals += (reached.loud.len() + reached.faint.len()) as u64;
        for Block { four, powers } in &reached.faint.blocks {
            let hum = &mut self.hums[*four as usize];
            let before = hum.sums;
            if hum.swell(powers) {
                let after = hum.sums;
                self.weigh_faint(now, *four, powers, before, after);
            }
        }
        if is_frame {
            // As when it ends, all are touched before any is dealt with.
            let mut in_range = 0;
            for &Loud { to, power, .. } in &reached.loud {
                let decodable = u16::from(power >= self.lockable);
                self.receivers[to as usize].carriers += decodable;
                in_range += u64::from(decodable);
            }
            self.fates.in_range += in_range;
        }
        for &Loud { to, power, .. } in &reached.loud {
            self.arrive(now, on, to as usize, power, is_frame && power >= self.lockable);
        }
        self.emissions[on.index()] = Some(Emission { is_frame, reached });
        on
    }

    /// Weighs, at those of four radios that are reached and mind, the stretch during which the faint signals came to these
    /// sums. Whether they mind depends on the greater ones, before or after.
    fn weigh_faint(&mut self, now: u64, four: u32, powers: &[i32; LANES], sums: [i32; LANES], greater: [i32; LANES]) {
        for lane in 0..LANES {
            if powers[lane] > 0 && greater[lane] > self.hums[four as usize].limits[lane] {
                let radio = four as usize * LANES + lane;
                self.weigh(now, radio, self.receivers[radio].loud + Power::from_units(sums[lane]));
            }
        }
    }

    /// A signal begins to arrive at a radio that might decode it.
    fn arrive(&mut self, now: u64, on: OnAir, radio: usize, power: Power, decodable: bool) {
        let total = self.total_at(radio);
        let receiver = &mut self.receivers[radio];
        if receiver.minds() && total + power > receiver.carefree(self.noise) {
            self.weigh(now, radio, total);
            if decodable && let Some(assessment) = self.assessments.get_mut(&radio) {
                assessment.carrier = true;
            }
        }
        let receiver = &mut self.receivers[radio];
        receiver.loud += power;
        let locks = decodable && self.locks(now, radio, power, total + self.noise);
        let receiver = &mut self.receivers[radio];
        if locks {
            receiver.lock_on(now, on, power);
        }
        if receiver.minds() {
            self.set_limit(radio);
        }
    }

    /// Whether a radio locks on to a frame that begins, given everything else that arrives there.
    fn locks(&mut self, now: u64, radio: usize, power: Power, others: Power) -> bool {
        let receiver = &self.receivers[radio];
        let fate = match receiver.lock {
            _ if !receiver.listening => &mut self.fates.not_listening,
            None if is_found(power, others, &self.rules) => return true,
            None => &mut self.fates.buried,
            Some(_) if receiver.gives_way(now, power, &self.rules) => {
                self.fates.overtaken += 1;
                return true;
            }
            Some(_) => &mut self.fates.occupied,
        };
        *fate += 1;
        false
    }

    /// Weighs the stretch since the last change at a radio for which it matters, before something changes; `total` is what
    /// arrived there until now.
    fn weigh(&mut self, now: u64, radio: usize, total: Power) {
        let receiver = &mut self.receivers[radio];
        if receiver.lock.is_some() {
            receiver.weigh(now, total, self.noise, self.rules.captures);
        }
        if receiver.assessing
            && let Some(assessment) = self.assessments.get_mut(&radio)
        {
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

/// Whether a frame survives, given the logarithm of its probability. Certain survival and certain loss need no chance. Nor
/// do most of the others need an exponential, which is never below its tangent.
fn survives(ln_good: f64, rng: &mut Rng) -> bool {
    if ln_good > -1e-9 {
        return true;
    }
    if ln_good <= -50.0 {
        return false;
    }
    let drawn = chance(rng);
    drawn < 1.0 + ln_good || drawn < ln_good.exp()
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
