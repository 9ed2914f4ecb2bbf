//! What goes wrong at receivers and timers regardless of the radio model: frames that are lost or reach a station with wrong
//! bits and a right checksum, and stations that wake late. Each has a random stream of its own.

use common::mac::phy::{FCS_BYTES, fcs};
use common::rng::Rng;

/// A corrupted frame has up to this many bits wrong.
const FLIPS_MAX: u32 = 4;

#[derive(Clone, Debug)]
pub(super) struct Disturbances {
    /// The share of receptions that are lost.
    pub loss: f64,
    losing: Rng,
    /// The share of received frames whose bits are wrong although their checksum is right.
    pub corruption: f64,
    corrupting: Rng,
    /// How late stations wake on average.
    pub wake_jitter_us: u32,
    waking: Rng,
}

impl Disturbances {
    pub fn new(seed: u64) -> Self {
        Self {
            loss: 0.0,
            losing: Rng::stream(seed, 0x105E),
            corruption: 0.0,
            corrupting: Rng::stream(seed, 0xC0DE),
            wake_jitter_us: 0,
            waking: Rng::stream(seed, 0x3A4E),
        }
    }

    /// Draws whether the next reception is lost.
    #[inline]
    pub fn loses(&mut self) -> bool {
        self.loss > 0.0 && is_within(self.loss, &mut self.losing)
    }

    /// Draws whether the next frame reaches its station with wrong bits, and if so, with which.
    pub fn corrupt(&mut self, psdu: &[u8]) -> Option<Vec<u8>> {
        is_within(self.corruption, &mut self.corrupting).then(|| self.flip_bits(psdu))
    }

    /// How much later than it asked for a station wakes this time.
    pub fn wake_delay_us(&mut self) -> u64 {
        match self.wake_jitter_us {
            0 => 0,
            mean_us => u64::from(mean_us / 2 + self.waking.below(mean_us + 1)),
        }
    }

    /// The frame with some bits flipped that its checksum does not notice.
    fn flip_bits(&mut self, psdu: &[u8]) -> Vec<u8> {
        let mut bytes = psdu.to_vec();
        let (body, check) = bytes.split_at_mut(psdu.len().saturating_sub(FCS_BYTES));
        for _ in 0..=self.corrupting.below(FLIPS_MAX) {
            let bit = self.corrupting.below(u32::try_from(body.len() * 8).unwrap_or(0)) as usize;
            if let Some(byte) = body.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
        }
        check.copy_from_slice(&fcs(body).to_le_bytes());
        bytes
    }
}

/// Draws whether something happens that happens this often.
fn is_within(share: f64, rng: &mut Rng) -> bool {
    f64::from(rng.next_u32()) < share * 4_294_967_296.0
}
