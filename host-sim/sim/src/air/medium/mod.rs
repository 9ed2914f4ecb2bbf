//! The shared medium: who hears what, and what is left of it.
//!
//! A frame touches the radios that its signal reaches, once when it begins and once when it ends. Its cost therefore
//! grows with the number of radios in reach, not with the network. A listening radio locks on to the first frame that
//! is loud enough. Whenever the interference changes, the stretch since the last change is weighed with its
//! signal-to-interference ratio. The product of those probabilities decides at the end whether the frame has survived.
//!
//! Capture: during its preamble a lock gives way to a frame at least 3 dB stronger. After that a stronger frame
//! destroys the one locked on to, and is not received either.

use std::num::NonZeroU32;
use std::rc::Rc;

use common::rng::Rng;

use super::index::{PerRadio, RadioIndex};
use super::power::Power;
use super::propagation::{Point, Propagation};
use super::{BYTE_US, SYNC_US, airtime_us};

mod reach;
mod receiver;
mod receivers;

use reach::{Base, Reach, Reached, Scene};
pub use receiver::{CCA_BUSY_DBM, Fates, Rules};
use receivers::Receivers;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// From 11 to 26.
    pub channel: u8,
    pub tx_dbm: f64,
}

/// A frame or a burst of noise on the air: its slot among the emissions, counted from one.
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
    pub to: RadioIndex,
    pub rssi_dbm: f64,
    /// Whether every bit is right. A damaged frame fails its checksum.
    pub intact: bool,
}

/// The raw result of a clear channel assessment, before anybody judges it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The mean power, noise included.
    pub mean: Power,
    /// Whether the channel carried a frame that the radio could have decoded on its own.
    pub carrier: bool,
}

/// Links that fade for a while and recover: the two-state model of Gilbert and Elliott.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// The mean time between two fades.
    pub good_us: u32,
    /// The mean length of a fade.
    pub bad_us: u32,
    /// The additional loss during a fade.
    pub loss_db: f64,
}

#[derive(Clone, Debug)]
struct Emission {
    is_frame: bool,
    /// Who is reached, and how strongly, as of the beginning of the emission.
    reached: Rc<Reached>,
    /// The base of the list's numbers.
    base: Base,
}

#[derive(Clone, Debug)]
pub struct Medium {
    propagation: Propagation,
    receivers: Receivers,
    bursts: Option<Bursts>,
    rng: Rng,
    positions: PerRadio<Point>,
    tunings: PerRadio<Tuning>,
    /// Whether each radio ever listens; sources of noise do not.
    hearing: PerRadio<bool>,
    reaches: PerRadio<Reach>,
    /// Whether anything has moved or changed since the reaches were computed.
    stale: bool,
    emissions: Vec<Option<Emission>>,
    /// Free slots among the emissions.
    vacant: Vec<OnAir>,
    /// Lists of finished emissions, kept for reuse.
    spare: Vec<Rc<Reached>>,
}

impl Medium {
    /// An empty medium with the usual receivers. `seed` is that of the radio stream.
    pub fn new(propagation: Propagation, bursts: Option<Bursts>, seed: u64) -> Self {
        Self::with_rules(propagation, bursts, seed, Rules::USUAL)
    }

    /// An empty medium whose receivers follow these rules.
    pub fn with_rules(propagation: Propagation, bursts: Option<Bursts>, seed: u64, rules: Rules) -> Self {
        Self {
            receivers: Receivers::new(rules, propagation.noise_dbm),
            propagation,
            bursts,
            rng: Rng::stream(seed, 0xA1),
            positions: PerRadio::default(),
            tunings: PerRadio::default(),
            hearing: PerRadio::default(),
            reaches: PerRadio::default(),
            stale: true,
            emissions: Vec::new(),
            vacant: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Adds a radio that does not listen yet, and returns its index.
    pub fn add(&mut self, position: Point, tuning: Tuning) -> RadioIndex {
        self.add_radio(position, tuning, true)
    }

    /// Adds a source of noise. Until it sends, everything happens as if it were not there.
    pub fn add_source(&mut self, position: Point, tuning: Tuning) -> RadioIndex {
        self.add_radio(position, tuning, false)
    }

    fn add_radio(&mut self, position: Point, tuning: Tuning, hears: bool) -> RadioIndex {
        self.positions.push(position);
        self.tunings.push(tuning);
        self.hearing.push(hears);
        self.receivers.add();
        self.stale = true;
        RadioIndex(self.positions.len() - 1)
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.positions.len() == 0
    }

    pub fn position(&self, radio: RadioIndex) -> Point {
        self.positions[radio]
    }

    /// Moves a radio. Frames on the air keep the strength they began with.
    pub fn set_position(&mut self, radio: RadioIndex, position: Point) {
        self.positions[radio] = position;
        self.stale = true;
    }

    /// Changes walls, or anything else that affects propagation.
    pub fn change_propagation(&mut self, change: impl FnOnce(&mut Propagation)) {
        change(&mut self.propagation);
        self.stale = true;
    }

    pub fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// What has become so far of all frames that were strong enough.
    pub fn fates(&self) -> Fates {
        self.receivers.fates
    }

    /// The mean power of one radio at another in dBm, before jitter and bursts. `None` if nothing arrives, for instance
    /// between radios on different channels.
    pub fn mean_dbm(&self, from: RadioIndex, to: RadioIndex) -> Option<f64> {
        if self.tunings[from].channel != self.tunings[to].channel {
            return None;
        }
        let ends = ((from, self.positions[from]), (to, self.positions[to]));
        Some(self.propagation.gain_db(ends.0, ends.1)? + self.tunings[from].tx_dbm)
    }

    /// When a link's present fade ends, as far as frames have revealed it; `None` if the link is not in a fade.
    pub fn fade_end(&self, from: RadioIndex, to: RadioIndex) -> Option<u64> {
        self.reaches.get(from)?.fade_end(to)
    }

    /// Changes a radio's channel or power. It no longer hears anything that is already on the air.
    pub fn retune(&mut self, radio: RadioIndex, tuning: Tuning) {
        for emission in self.emissions.iter_mut().flatten() {
            Rc::make_mut(&mut emission.reached).leave_out(emission.base, radio, self.receivers.lockable);
        }
        self.tunings[radio] = tuning;
        self.receivers.silence(radio);
        self.stale = true;
    }

    pub fn tuning(&self, radio: RadioIndex) -> Tuning {
        self.tunings[radio]
    }

    /// Turns a receiver on or off. Turning it off loses the frame that it was receiving.
    pub fn listen(&mut self, radio: RadioIndex, listening: bool) {
        self.receivers.listen(radio, listening);
    }

    pub fn is_locked(&self, radio: RadioIndex) -> bool {
        self.receivers.is_locked(radio)
    }

    /// The power, in dBm, of the frame that a radio is receiving, if the frame's preamble ends now.
    pub fn found_dbm(&self, now: u64, radio: RadioIndex) -> Option<f64> {
        self.receivers.found_dbm(now, radio)
    }

    /// Begins a frame: its first preamble bit leaves the antenna now.
    pub fn begin_frame(&mut self, now: u64, from: RadioIndex) -> OnAir {
        self.begin(now, from, true)
    }

    /// Begins noise, which nobody can decode.
    pub fn begin_noise(&mut self, now: u64, from: RadioIndex) -> OnAir {
        self.begin(now, from, false)
    }

    /// Ends a frame or noise, and tells every radio that was locked on to it.
    pub fn end(&mut self, now: u64, on: OnAir, tell: impl FnMut(Reception)) {
        let Some(Emission { is_frame, reached, base }) = self.emissions[on.index()].take() else { return };
        self.vacant.push(on);
        self.receivers.end(now, on, (base, &reached), is_frame, &mut self.rng, tell);
        // A list that nobody else shares is reused for a later emission.
        if Rc::strong_count(&reached) == 1 && self.spare.len() < self.emissions.len() {
            self.spare.push(reached);
        }
    }

    pub fn begin_cca(&mut self, now: u64, radio: RadioIndex) {
        self.receivers.begin_cca(now, radio);
    }

    /// Ends a clear channel assessment. Returns true if the channel is busy: the mean power reaches the threshold, or
    /// there is a carrier.
    pub fn end_cca(&mut self, now: u64, radio: RadioIndex) -> bool {
        self.take_cca(now, radio).is_some_and(|found| self.receivers.is_busy(found))
    }

    /// Ends a clear channel assessment for a radio that judges for itself; `None` if none was under way.
    pub fn take_cca(&mut self, now: u64, radio: RadioIndex) -> Option<Found> {
        self.receivers.take_cca(now, radio)
    }

    pub fn abort_cca(&mut self, radio: RadioIndex) {
        self.receivers.abort_cca(radio);
    }

    /// Everything that arrives at a radio now, noise included.
    pub fn power_at(&self, radio: RadioIndex) -> Power {
        self.receivers.power_at(radio)
    }

    fn begin(&mut self, now: u64, from: RadioIndex, is_frame: bool) -> OnAir {
        self.refresh();
        let on = self.vacant.pop().unwrap_or_else(|| {
            self.emissions.push(None);
            OnAir(NonZeroU32::new(u32::try_from(self.emissions.len()).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MAX))
        });
        let (jitter_db, rng, spare) = (self.propagation.jitter_db, &mut self.rng, &mut self.spare);
        let (base, reached) =
            self.reaches[from].arriving(now, jitter_db, self.bursts, self.receivers.lockable, rng, spare);
        self.receivers.begin(now, on, (base, &reached), is_frame);
        self.emissions[on.index()] = Some(Emission { is_frame, reached, base });
        on
    }

    /// Recomputes who reaches whom after radios have moved or walls have changed. Otherwise the next emission does
    /// this.
    pub fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let scene = Scene {
            propagation: &self.propagation,
            positions: &self.positions,
            tunings: &self.tunings,
            hearing: &self.hearing,
            lockable: self.receivers.lockable,
            bursts: self.bursts,
        };
        self.reaches = scene.reaches(&self.reaches);
    }
}

fn chance(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

/// The bits of a frame that noise can damage: its length byte and its payload.
pub const fn weighed_bits(psdu: usize) -> u64 {
    (airtime_us(psdu) - SYNC_US) / BYTE_US * 8
}

#[cfg(test)]
mod tests;
