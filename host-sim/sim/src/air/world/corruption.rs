//! Frames that reach a station with wrong bits and a right checksum.

use super::World;
use crate::air::index::NodeIndex;
use crate::air::pcapng::fcs;
use crate::air::station::{Station, Watcher};

/// A corrupted frame has up to this many bits wrong.
const FLIPS_MAX: u32 = 4;

impl<S: Station> World<S> {
    /// By lot, the frame as it reaches a station with wrong bits.
    pub(super) fn perhaps_corrupt(
        &mut self,
        node: NodeIndex,
        psdu: &[u8],
        watcher: &mut impl Watcher<S>,
    ) -> Option<Vec<u8>> {
        if f64::from(self.corrupting.next_u32()) >= self.corruption * 4_294_967_296.0 {
            return None;
        }
        let corrupted = self.corrupt(psdu);
        self.records[node].usage.corrupted += 1;
        watcher.corrupted(self.now_us, node, &corrupted);
        Some(corrupted)
    }

    /// The frame with some bits flipped that its checksum does not notice.
    fn corrupt(&mut self, psdu: &[u8]) -> Vec<u8> {
        let mut bytes = psdu.to_vec();
        let (body, check) = bytes.split_at_mut(psdu.len().saturating_sub(2));
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
