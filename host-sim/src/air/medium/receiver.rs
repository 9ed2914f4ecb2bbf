//! One radio's receiving end: what arrives at it, and what it makes of that.

use super::super::SYNC_US;
use super::super::oqpsk::{SURE, ln_good_bit};
use super::super::power::Power;
use super::OnAir;

/// Microseconds per bit.
const BIT_US: f64 = 4.0;
const _: () = assert!(super::super::BYTE_US == 8 * 4);

/// A frame this many times as strong (3 dB) takes over a lock that is still in its preamble, and keeps one against another.
const CAPTURE_RATIO: u32 = 2;

/// Below this ratio to the noise (-1 dB) no receiver finds the preamble.
const LOCK_RATIO: f64 = 0.794;

/// A mean power from here on is a busy channel.
pub const CCA_BUSY_DBM: f64 = -75.0;

/// How receivers work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The weakest frame that a receiver finds; 1 dB below the noise where none is given.
    pub sensitivity_dbm: Option<f64>,
    /// Whether other signals within 3 dB of a frame drown it, and a stronger one takes over during its preamble. Without,
    /// interference is noise like any other, and whoever was first keeps the receiver.
    pub captures: bool,
    /// Clear channel assessment: a mean power from here on is busy.
    pub cca_dbm: f64,
    /// Whether it also finds carriers below that.
    pub carrier_sense: bool,
}

impl Rules {
    /// The nRF52's radio, as the rest of the project assumes it.
    pub const USUAL: Self = Self { sensitivity_dbm: None, captures: true, cca_dbm: CCA_BUSY_DBM, carrier_sense: true };

    /// The receivers of ns-3's lr-wpan: a fixed sensitivity, and energy detection 10 dB above it.
    pub const NS3: Self =
        Self { sensitivity_dbm: Some(-106.58), captures: false, cca_dbm: -96.58, carrier_sense: false };

    /// The weakest frame that is found.
    pub fn lockable(&self, noise_dbm: f64) -> Power {
        Power::from_dbm(self.sensitivity_dbm.unwrap_or(noise_dbm + 10.0 * LOCK_RATIO.log10()))
    }
}

/// What became of the frames that were strong enough to be received, one for each frame and radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Signals that arrived at a radio, also those that are too weak to be anything but interference.
    pub arrivals: u64,
    /// Those that were strong enough; the next ones say what became of them.
    pub in_range: u64,
    /// The radio was not listening when it began: sending, looking whether it may, or dealing with another frame.
    pub not_listening: u64,
    /// The radio was receiving another frame, and kept to it.
    pub occupied: u64,
    /// Too much else was on the air to find its preamble.
    pub buried: u64,
    /// The radio had locked on, but a stronger frame took over.
    pub overtaken: u64,
    /// The radio had locked on, but stopped listening.
    pub abandoned: u64,
    /// Received to the end, with bits wrong.
    pub damaged: u64,
    /// Received to the end, and every bit is right.
    pub intact: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lock {
    pub on: OnAir,
    pub since: u64,
    pub signal: Power,
    /// Logarithm of the probability that all bits so far are right.
    pub ln_good: f64,
    /// Up to here the bits have been weighed.
    weighed_to: u64,
}

impl Lock {
    /// A lock on a frame that begins now. Bits count from the length byte on; what comes before is for finding the frame.
    pub fn begin(now: u64, on: OnAir, signal: Power) -> Self {
        Self { on, since: now, signal, ln_good: 0.0, weighed_to: now + SYNC_US }
    }

    /// Whether a frame that begins now takes the receiver over.
    pub fn gives_way(&self, now: u64, power: Power, rules: &Rules) -> bool {
        rules.captures && now < self.since + SYNC_US && power >= self.signal.times(CAPTURE_RATIO)
    }

    /// Weighs the stretch since the last change, before something changes. `total` is everything that arrives.
    pub fn weigh(&mut self, now: u64, total: Power, noise: Power, captures: bool) {
        if now <= self.weighed_to {
            return;
        }
        let elapsed = now - self.weighed_to;
        self.weighed_to = now;
        let others = total.without(self.signal);
        // Most stretches are beyond doubt, and need no floating-point arithmetic to say so.
        if self.signal >= (others + noise).times(SURE) {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a frame is a few thousand microseconds")]
        let bits = elapsed as f64 / BIT_US;
        // Other signals are no noise that averages out: within 3 dB of the frame, its bits are anybody's guess.
        let drowned = captures && others > Power::NONE && self.signal < others.times(CAPTURE_RATIO);
        self.ln_good +=
            bits * if drowned { -std::f64::consts::LN_2 } else { ln_good_bit(self.signal.ratio(others + noise)) };
    }
}

/// Whether a frame can be found among everything else.
pub(super) fn is_found(power: Power, others: Power, rules: &Rules) -> bool {
    !rules.captures || power.ratio(others) >= LOCK_RATIO
}

/// What every signal in reach touches: a quarter of a cache line, so that the radios around a sender stay in the cache
/// however many there are elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hot {
    /// Everything that arrives on its channel now.
    pub total: Power,
    /// Frames among it that it could decode alone: what carrier sense finds.
    pub carriers: u32,
    pub listening: bool,
    pub locked: bool,
    pub assessing: bool,
}

const _: () = assert!(size_of::<Hot>() == 16);

impl Hot {
    /// Whether a change of the interference matters to somebody.
    pub fn is_sensitive(self) -> bool {
        self.locked || self.assessing
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Assessment {
    pub energy: u128,
    pub from: u64,
    weighed_to: u64,
    pub carrier: bool,
}

impl Assessment {
    pub fn begin(now: u64, carrier: bool) -> Self {
        Self { energy: 0, from: now, weighed_to: now, carrier }
    }

    /// Adds the power since the last change, before something changes.
    pub fn weigh(&mut self, now: u64, power: Power) {
        self.energy += power.energy(now - self.weighed_to);
        self.weighed_to = now;
    }
}
