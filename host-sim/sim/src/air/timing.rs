//! How long a radio and its driver take to do things.
//!
//! The core's MAC decides when a frame leaves, as it does on a board. Here is what a board's chip and processor add to that:
//! ramps, the clear channel assessment, and the time until the node has judged what it heard.

use common::rng::Rng;

/// How long a radio and its driver take to do things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioTiming {
    /// Until the receiver is ready.
    pub rx_ramp_us: u64,
    pub cca_us: u64,
    /// Until the transmitter is ready.
    pub tx_ramp_us: u64,
    /// Until it is off again.
    pub disable_us: u64,
    /// Least time to process a received frame, during which the radio hears nothing.
    pub processing_min_us: u32,
    /// The most such time.
    pub processing_max_us: u32,
    /// From the end of a frame until the node has judged it and the driver knows who is to answer: the median of emulated boards
    /// that run the image with the cache on, for frames that they answer, which take longest.
    pub judging_us: u64,
}

impl RadioTiming {
    /// Embassy's driver: slow ramps, and the receiver stays off until the frame has been processed. The times are those of a
    /// published model of the nRF52 radio driven by embassy's `try_send`.
    pub const EMBASSY: Self = Self {
        rx_ramp_us: 129,
        cca_us: 128,
        tx_ramp_us: 129,
        disable_us: 21,
        processing_min_us: 100,
        processing_max_us: 900,
        judging_us: 450,
    };

    /// The firmware's own driver: fast ramps, and the receiver is on again at once.
    pub const FIRMWARE: Self =
        Self { rx_ramp_us: 40, tx_ramp_us: 40, processing_min_us: 0, processing_max_us: 0, ..Self::EMBASSY };

    /// Draws how long processing a frame takes.
    pub fn processing_us(self, rng: &mut Rng) -> u64 {
        let spread = self.processing_max_us.saturating_sub(self.processing_min_us);
        u64::from(self.processing_min_us + if spread == 0 { 0 } else { rng.below(spread) })
    }
}
