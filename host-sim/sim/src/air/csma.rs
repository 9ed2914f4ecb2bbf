//! Unslotted CSMA-CA, and how long the radio's driver takes for each step of it.
//!
//! Back off for a random number of units, look whether the channel is clear, send; up to five looks with a growing
//! back-off. Between reception and transmission the radio ramps up, and it is deaf meanwhile. The times are those of a
//! published model of the nRF52 radio driven by embassy's `try_send`.

use common::rng::Rng;

/// How long a radio takes for things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioTiming {
    /// Until the receiver is ready.
    pub rx_ramp_us: u64,
    /// The clear channel assessment.
    pub cca_us: u64,
    /// Until the transmitter is ready.
    pub tx_ramp_us: u64,
    /// Until it is off again.
    pub disable_us: u64,
    /// Shortest time to deal with a received frame, during which nothing is heard.
    pub processing_min_us: u32,
    /// Longest such time.
    pub processing_max_us: u32,
}

impl RadioTiming {
    /// Embassy's driver: slow ramps, and the frame is dealt with before the receiver is on again.
    pub const EMBASSY: Self = Self {
        rx_ramp_us: 129,
        cca_us: 128,
        tx_ramp_us: 129,
        disable_us: 21,
        processing_min_us: 100,
        processing_max_us: 900,
    };

    /// A driver of one's own: fast ramps, the receiver on again at once.
    pub const FAST: Self =
        Self { rx_ramp_us: 40, tx_ramp_us: 40, processing_min_us: 0, processing_max_us: 0, ..Self::EMBASSY };

    /// How long this frame is dealt with.
    pub fn processing_us(self, rng: &mut Rng) -> u64 {
        let spread = self.processing_max_us.saturating_sub(self.processing_min_us);
        u64::from(self.processing_min_us + if spread == 0 { 0 } else { rng.below(spread) })
    }
}

const UNIT_US: u64 = 320;
const EXPONENT_MIN: u32 = 3;
const EXPONENT_MAX: u32 = 5;
const LOOKS_MAX: u32 = 5;

/// The back-off of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    looks: u32,
    exponent: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { looks: 0, exponent: EXPONENT_MIN }
    }
}

impl Backoff {
    /// How long to wait before the next look.
    pub fn wait_us(self, rng: &mut Rng) -> u64 {
        u64::from(rng.below(1 << self.exponent)) * UNIT_US
    }

    /// The back-off after a look that found the channel busy; none where that was the last one.
    pub fn busy(self) -> Option<Self> {
        let looks = self.looks + 1;
        (looks < LOOKS_MAX).then_some(Self { looks, exponent: (self.exponent + 1).min(EXPONENT_MAX) })
    }
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;

    use super::Backoff;

    #[test]
    fn five_looks_with_growing_waits() {
        let mut rng = Rng::new(1);
        let mut backoff = Some(Backoff::default());
        let mut longest = Vec::new();
        while let Some(now) = backoff {
            longest.push((0..2_000).map(|_| now.wait_us(&mut rng)).max().unwrap());
            backoff = now.busy();
        }
        assert_eq!(longest, [7 * 320, 15 * 320, 31 * 320, 31 * 320, 31 * 320]);
    }
}
