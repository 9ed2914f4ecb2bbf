//! One radio's receiving end: what arrives there, and what the radio makes of it.

use super::super::SYNC_US;
use super::super::index::RadioIndex;
use super::super::oqpsk::{SURE, ln_good_bit};
use super::super::power::Power;
use super::OnAir;
use super::reach::LANES;
use crate::maths;

#[expect(clippy::cast_precision_loss, reason = "a few microseconds")]
const BIT_US: f64 = super::super::BYTE_US as f64 / 8.0;

/// A frame this many times as strong (3 dB) takes over a lock that is still in its preamble. A lock survives other
/// signals only if it is this many times as strong.
const CAPTURE_RATIO: u32 = 2;

/// The channel is busy from this mean power on.
pub const CCA_BUSY_DBM: f64 = -75.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Below this ratio to everything else, noise included, no receiver finds a frame's preamble.
    pub lock_ratio: f64,
    /// Whether other signals within 3 dB of a frame drown it, and a stronger frame takes over during its preamble. If
    /// not, interference is like any other noise, and the first frame keeps the receiver.
    pub captures: bool,
    /// In a clear channel assessment, the channel is busy from this mean power on.
    pub cca_dbm: f64,
    /// Whether the assessment also detects weaker carriers.
    pub carrier_sense: bool,
}

impl Rules {
    /// The nRF52's radio, as the rest of the project assumes it. It finds preambles down to -1 dB.
    pub const USUAL: Self = Self { lock_ratio: 0.794, captures: true, cca_dbm: CCA_BUSY_DBM, carrier_sense: true };

    /// The receivers of ns-3's lr-wpan, read from its `lr-wpan-phy.cc` of July 2026. They receive anything above -5 dB,
    /// first come, first served. The channel is busy from 10 dB above the sensitivity of -106.58 dBm. (ns-3 takes the
    /// peak power during the assessment, this model the mean.)
    pub const NS3: Self = Self { lock_ratio: 0.316_228, captures: false, cca_dbm: -96.58, carrier_sense: false };

    /// The weakest frame that a radio finds on an otherwise silent channel.
    pub fn lockable(&self, noise_dbm: f64) -> Power {
        Power::from_dbm(noise_dbm + 10.0 * maths::log10(self.lock_ratio))
    }
}

/// What became of the frames that were strong enough to be received, counted once for each frame and radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Signals that arrived at a radio, including those too weak to be anything but interference.
    pub arrivals: u64,
    /// Frames that were strong enough. The fields below say what became of them.
    pub in_range: u64,
    /// The radio was not listening when the frame began: it was sending, assessing the channel, or processing another
    /// frame.
    pub not_listening: u64,
    /// The radio was receiving another frame and stayed with it.
    pub occupied: u64,
    /// Too much else was on the air to find the preamble.
    pub buried: u64,
    /// The radio had locked on, but a stronger frame took over.
    pub overtaken: u64,
    /// The radio had locked on, but stopped listening.
    pub abandoned: u64,
    /// Received to the end, with wrong bits.
    pub damaged: u64,
    /// Received to the end, with every bit right.
    pub intact: u64,
}

/// What a receiver attends to, packed into one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attention(u32);

impl Attention {
    /// The receiver is off, or its radio is doing something else.
    pub const DEAF: Self = Self(0);
    /// It listens, and has not found a frame yet.
    pub const LISTENING: Self = Self(u32::MAX);

    /// It receives this frame.
    pub fn to(on: OnAir) -> Self {
        Self(on.0.get())
    }

    pub fn is_deaf(self) -> bool {
        self == Self::DEAF
    }

    pub fn is_locked(self) -> bool {
        !self.is_deaf() && self != Self::LISTENING
    }
}

/// A radio's receiving end, touched only by signals it might decode. Fainter ones are summed up elsewhere. It fits half
/// a cache line, because every frame has to load this for each radio in range.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(super) struct Receiver {
    /// What the radio attends to. Unless it receives a frame, `weighed_to`, `signal` and `ln_good` have no meaning.
    pub attention: Attention,
    /// The bits are weighed up to this time. During the preamble it is the time at which the preamble ends. Only the
    /// low 32 bits are kept, because no frame takes an hour.
    weighed_to: u32,
    /// Everything on the channel that arrives now and is not faint.
    pub loud: Power,
    pub signal: Power,
    /// The logarithm of the probability that all bits so far are right.
    pub ln_good: f64,
}

const _: () = assert!(size_of::<Receiver>() == 32);

/// No sum of faint signals ever reaches this.
pub(super) const NO_LIMIT: i32 = i32::MAX;

/// Less than any sum, so that every change matters to the frame being received.
const ALWAYS: i32 = -1;

/// Likewise less than any sum: every change matters to the clear channel assessment under way.
pub(super) const ASSESSED: i32 = -2;

/// What every signal in reach touches, however faint, for consecutive radios. It is small enough for a sender's
/// surroundings to stay in the cache, however many radios there are elsewhere.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Interference {
    /// The sum of the faint signals at each radio, in the smallest units of power.
    pub sums: [i32; LANES],
    /// How great that sum may become before it matters to the radio.
    pub limits: [i32; LANES],
}

impl Default for Interference {
    fn default() -> Self {
        Self { sums: [0; LANES], limits: [NO_LIMIT; LANES] }
    }
}

impl Interference {
    /// The sum at one of the four radios.
    pub fn at(&self, radio: RadioIndex) -> Power {
        Power::from_units(self.sums[radio.0 % LANES].cast_unsigned())
    }

    /// The sum in the smallest units, and its limit.
    pub fn sum_and_limit(&mut self, radio: RadioIndex) -> (i32, &mut i32) {
        (self.sums[radio.0 % LANES], &mut self.limits[radio.0 % LANES])
    }

    /// A signal begins to arrive. Returns whether it matters to any radio it reaches.
    pub fn swell(&mut self, powers: &[i32; LANES]) -> bool {
        for (sum, power) in self.sums.iter_mut().zip(powers) {
            *sum = sum.wrapping_add(*power);
        }
        self.stirs(&self.sums, powers)
    }

    /// A signal ceases to arrive. Returns whether it mattered to any radio it reached.
    pub fn fade(&mut self, powers: &[i32; LANES]) -> bool {
        let before = self.sums;
        for (sum, power) in self.sums.iter_mut().zip(powers) {
            *sum = sum.wrapping_sub(*power);
        }
        self.stirs(&before, powers)
    }

    /// Whether these sums matter to any radio that these powers reach. It has no branches, so that the compiler can
    /// test all lanes at once.
    fn stirs(&self, sums: &[i32; LANES], powers: &[i32; LANES]) -> bool {
        let minds = |lane: usize| -i32::from(sums[lane] > self.limits[lane]) & -i32::from(powers[lane] > 0);
        (0..LANES).fold(0, |any, lane| any | minds(lane)) != 0
    }
}

impl Receiver {
    /// Locks on to a frame that begins now. Bits count from the length byte on; everything before only serves to find
    /// the frame.
    pub fn lock_on(&mut self, now: u64, on: OnAir, signal: Power) {
        self.attention = Attention::to(on);
        self.signal = signal;
        self.ln_good = 0.0;
        self.weighed_to = low_bits(now + SYNC_US);
    }

    /// The time since the last change; negative until the preamble is over.
    pub fn since_weighed(&self, now: u64) -> i32 {
        low_bits(now).wrapping_sub(self.weighed_to).cast_signed()
    }

    /// Whether the receiver locks on to a frame that begins now, given everything else that arrives, noise included. If
    /// it does not, the reason is counted.
    pub fn finds(&self, now: u64, power: Power, others: Power, rules: &Rules, fates: &mut Fates) -> bool {
        let reason = match self.attention {
            Attention::LISTENING if power.is_at_least(rules.lock_ratio, others) => return true,
            Attention::LISTENING => &mut fates.buried,
            Attention::DEAF => &mut fates.not_listening,
            _ if self.gives_way(now, power, rules) => {
                fates.overtaken += 1;
                return true;
            }
            _ => &mut fates.occupied,
        };
        *reason += 1;
        false
    }

    /// Whether a frame that begins now takes over from the one being received.
    fn gives_way(&self, now: u64, power: Power, rules: &Rules) -> bool {
        rules.captures && self.since_weighed(now) < 0 && power >= self.signal.times(CAPTURE_RATIO)
    }

    /// The total power up to which the frame being received is safe. Most stretches of most frames only need a
    /// comparison with this.
    pub fn carefree(&self, noise: Power) -> Power {
        let bearable = self.signal.part(SURE);
        // Avoid a branch: about half of all signals would take each side, so none could be predicted.
        (self.signal + bearable.without(noise)).only_if(bearable >= noise)
    }

    /// The sum of faint signals below which changes need not be weighed, provided that no channel assessment is under
    /// way.
    pub fn limit(&self, noise: Power) -> i32 {
        if !self.attention.is_locked() {
            return NO_LIMIT;
        }
        self.carefree(noise).above(self.loud, ALWAYS, NO_LIMIT)
    }

    /// If a frame is being received, weighs the stretch since the last change. Call this before anything changes.
    /// `total` is everything that arrives.
    pub fn weigh(&mut self, now: u64, total: Power, noise: Power, captures: bool) {
        let elapsed = self.since_weighed(now);
        if !self.attention.is_locked() || elapsed <= 0 {
            return;
        }
        self.weighed_to = low_bits(now);
        let others = total.without(self.signal);
        let all = others + noise;
        // Even of the stretches that get this far, many are beyond doubt.
        if self.signal.part(SURE) >= all {
            return;
        }
        // Other signals do not average out as noise does. Within 3 dB of the frame, they reduce its bits to guesses.
        let drowned = captures && others > self.signal.part(CAPTURE_RATIO);
        let ln_good = if drowned { -std::f64::consts::LN_2 } else { ln_good_bit(self.signal.ratio(all)) };
        self.ln_good += f64::from(elapsed) / BIT_US * ln_good;
    }
}

/// The low 32 bits of a time.
#[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
const fn low_bits(time: u64) -> u32 {
    time as u32
}

/// What a clear channel assessment has seen so far.
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

    /// Adds the power since the last change. Call this before anything changes.
    pub fn weigh(&mut self, now: u64, power: Power) {
        self.energy += power.energy(now - self.weighed_to);
        self.weighed_to = now;
    }
}
