//! The shared medium: who hears what, and what is left of it.
//!
//! A frame touches the radios that its signal reaches, once when it begins and once when it ends, so its cost grows with the
//! radios in reach and not with the network. A listening radio locks on to the first frame that is loud enough. Whenever the
//! interference changes, the stretch since the last change is weighed with the signal-to-interference ratio it had; at the
//! end the frame has survived with the product of those probabilities.
//!
//! Capture: during its preamble a lock gives way to a frame at least 3 dB stronger. After that a stronger frame destroys
//! the one locked on, and is itself not received.

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
    /// The channel, 11 to 26.
    pub channel: u8,
    pub tx_dbm: f64,
}

/// A frame or a burst of noise that is on the air: its slot among the emissions, counted from one.
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
    /// Whether every bit is right; a damaged frame fails its checksum.
    pub intact: bool,
}

/// What a clear channel assessment found, before anybody judges it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Mean power, noise included.
    pub mean: Power,
    /// Whether a frame was on the channel that the radio could decode alone.
    pub carrier: bool,
}

/// Links that fade for a while and come back: the two states of Gilbert and Elliott.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Mean time between two fades.
    pub good_us: u32,
    /// Mean length of a fade.
    pub bad_us: u32,
    /// What a fade takes.
    pub loss_db: f64,
}

#[derive(Clone, Debug)]
struct Emission {
    is_frame: bool,
    /// Who is reached and how strongly, as it was when it began.
    reached: Rc<Reached>,
    /// Where the numbers in there are counted from.
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
    reaches: PerRadio<Reach>,
    /// Something has moved or changed since the reaches were computed.
    stale: bool,
    emissions: Vec<Option<Emission>>,
    /// Free slots among the emissions.
    vacant: Vec<OnAir>,
    /// Lists of emissions that are over.
    spare: Vec<Rc<Reached>>,
}

impl Medium {
    /// An empty medium with the usual receivers. `seed` is that of the radio stream.
    pub fn new(propagation: Propagation, bursts: Option<Bursts>, seed: u64) -> Self {
        Self::with_rules(propagation, bursts, seed, Rules::USUAL)
    }

    /// An empty medium whose receivers work by these rules.
    pub fn with_rules(propagation: Propagation, bursts: Option<Bursts>, seed: u64, rules: Rules) -> Self {
        Self {
            receivers: Receivers::new(rules, propagation.noise_dbm),
            propagation,
            bursts,
            rng: Rng::stream(seed, 0xA1),
            positions: PerRadio::default(),
            tunings: PerRadio::default(),
            reaches: PerRadio::default(),
            stale: true,
            emissions: Vec::new(),
            vacant: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Adds a radio that does not listen yet, and gives its index.
    pub fn add(&mut self, position: Point, tuning: Tuning) -> RadioIndex {
        self.positions.push(position);
        self.tunings.push(tuning);
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

    /// Moves a radio. Frames that are on the air keep the strength they began with.
    pub fn set_position(&mut self, radio: RadioIndex, position: Point) {
        self.positions[radio] = position;
        self.stale = true;
    }

    /// Changes walls and whatever else decides how waves spread.
    pub fn change_propagation(&mut self, change: impl FnOnce(&mut Propagation)) {
        change(&mut self.propagation);
        self.stale = true;
    }

    pub fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// What became of the frames that were strong enough, until now.
    pub fn fates(&self) -> Fates {
        self.receivers.fates
    }

    /// The mean received power of one radio at another in dBm, before jitter and bursts; none where nothing arrives, as
    /// between radios on different channels.
    pub fn mean_dbm(&self, from: RadioIndex, to: RadioIndex) -> Option<f64> {
        if self.tunings[from].channel != self.tunings[to].channel {
            return None;
        }
        let ends = ((from, self.positions[from]), (to, self.positions[to]));
        Some(self.propagation.gain_db(ends.0, ends.1)? + self.tunings[from].tx_dbm)
    }

    /// When the fade that a link is in ends, as far as frames have shown; none where it is in none.
    pub fn fade_end(&self, from: RadioIndex, to: RadioIndex) -> Option<u64> {
        self.reaches.get(from)?.fade_end(to)
    }

    /// Sets a radio to another channel or power. It no longer hears anything that is on the air already.
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

    /// Turns a receiver on or off. One that is turned off loses the frame it was receiving.
    pub fn listen(&mut self, radio: RadioIndex, listening: bool) {
        self.receivers.listen(radio, listening);
    }

    /// Whether a radio is receiving a frame.
    pub fn is_locked(&self, radio: RadioIndex) -> bool {
        self.receivers.is_locked(radio)
    }

    /// The received power, in dBm, of the frame that a radio is receiving and whose preamble ends now; none otherwise.
    pub fn found_dbm(&self, now: u64, radio: RadioIndex) -> Option<f64> {
        self.receivers.found_dbm(now, radio)
    }

    /// Begins a frame: its first preamble bit leaves the antenna now.
    pub fn begin_frame(&mut self, now: u64, from: RadioIndex) -> OnAir {
        self.begin(now, from, true)
    }

    /// Begins noise that nobody can decode.
    pub fn begin_noise(&mut self, now: u64, from: RadioIndex) -> OnAir {
        self.begin(now, from, false)
    }

    /// Ends a frame or noise, and tells every radio that was locked on to it.
    pub fn end(&mut self, now: u64, on: OnAir, tell: impl FnMut(Reception)) {
        let Some(Emission { is_frame, reached, base }) = self.emissions[on.index()].take() else { return };
        self.vacant.push(on);
        self.receivers.end(now, on, (base, &reached), is_frame, &mut self.rng, tell);
        // Those that only this emission had are filled anew for the next one.
        if Rc::strong_count(&reached) == 1 && self.spare.len() < self.emissions.len() {
            self.spare.push(reached);
        }
    }

    pub fn begin_cca(&mut self, now: u64, radio: RadioIndex) {
        self.receivers.begin_cca(now, radio);
    }

    /// Ends a clear channel assessment; true where the channel is busy: mean power at the threshold, or a carrier.
    pub fn end_cca(&mut self, now: u64, radio: RadioIndex) -> bool {
        self.take_cca(now, radio).is_some_and(|found| self.receivers.is_busy(found))
    }

    /// Ends a clear channel assessment for a radio that judges for itself; none where none was under way.
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

    /// Computes who reaches whom after radios have moved or walls have changed. The next emission would do it anyway.
    pub fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let scene = Scene {
            propagation: &self.propagation,
            positions: &self.positions,
            tunings: &self.tunings,
            lockable: self.receivers.lockable,
            bursts: self.bursts,
        };
        self.reaches = scene.reaches(&self.reaches);
    }
}

fn chance(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

/// Bits of a frame that noise can damage: its length byte and its payload.
pub const fn weighed_bits(psdu: usize) -> u64 {
    (airtime_us(psdu) - SYNC_US) / BYTE_US * 8
}

#[cfg(test)]
mod tests;
