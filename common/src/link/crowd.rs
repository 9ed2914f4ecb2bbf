//! How many nodes can be heard, linked or not: the more there are, the rarer the hellos.
//!
//! A node that hears a hundred others cannot keep a list of them. It keeps a set of [`BITS`] bits instead, in which every
//! sender of this network sets the one that its id hashes to (linear counting, Whang et al. 1990), for the present stretch of
//! time and the one before. Lost frames hardly matter to it: one frame of each sender in a stretch is enough.

use crate::bits::Bits;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// Bits of a set. Twice as many nodes leave a seventh of it free; larger crowds need not be told apart.
const BITS: u32 = 128;

/// How many bits 40, 80, 160 and 320 nodes set: 128 · (1 − e^(−n / 128)). From each of these counts on, hellos are half
/// as frequent.
/// Forty nodes that each send a hello of 2.2 ms each second take less than a tenth of the channel.
const CROWDED: [u32; 4] = [34, 60, 91, 118];

/// The most that hellos are slowed down, in doublings.
pub const SLOWER_MAX: u8 = 4;

const _: () = assert!(CROWDED.len() == SLOWER_MAX as usize);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Who was heard in the present stretch and in the one before.
    heard: [Bits; 2],
    /// When the present stretch ends.
    ends: Instant,
    /// The length of a stretch where nobody is slowed down.
    stretch: Duration,
}

impl Crowd {
    /// With the longest time between hellos where there is no crowd.
    pub const fn new(hello_max: Duration) -> Self {
        Self { heard: [Bits::NONE; 2], ends: Instant::ZERO, stretch: hello_max }
    }

    /// A frame of this network came from a node.
    pub fn hear(&mut self, now: Instant, from: NodeId) {
        if self.ends <= now {
            let [present, _] = self.heard;
            self.heard = [Bits::NONE, present];
            // Everybody's hello comes within one and a half of the longest interval.
            self.ends = now + self.stretch.times(2 << u32::from(self.slower()));
        }
        let [present, _] = &mut self.heard;
        present.insert(usize::try_from(hash(from) % BITS).unwrap_or(0));
    }

    /// Begins another stretch where none can end as late as this one.
    pub fn audit(&mut self, now: Instant) {
        if self.ends > now + self.stretch.times(2 << u32::from(SLOWER_MAX)) {
            self.ends = now;
        }
    }

    /// By how many doublings hellos are to be slowed down. It rises at once and falls a stretch later.
    pub fn slower(&self) -> u8 {
        let most = self.heard.iter().map(|heard| heard.number().count_ones()).max().unwrap_or(0);
        u8::try_from(CROWDED.iter().filter(|&&bits| most >= bits).count()).unwrap_or(SLOWER_MAX)
    }
}

/// Spreads ids, which often follow each other, as if they were random.
fn hash(id: NodeId) -> u32 {
    let mixed = u32::from(id.0).wrapping_add(1).wrapping_mul(0x85EB_CA6B);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xC2B2_AE35);
    (mixed ^ mixed >> 16) >> 9
}

#[cfg(test)]
mod tests {
    use super::{Crowd, SLOWER_MAX};
    use crate::time::{Duration, Instant};
    use crate::types::NodeId;

    /// What a node makes of this many others with ids from one on, or strewn.
    fn slower(nodes: u16, step: u16) -> u8 {
        let mut crowd = Crowd::new(Duration::from_millis(1_024));
        (0..nodes).for_each(|node| crowd.hear(Instant::ZERO, NodeId((node + 1).wrapping_mul(step))));
        crowd.slower()
    }

    #[test]
    fn every_doubling_of_the_crowd_halves_the_hellos() {
        for step in [1, 7, 257, 40_503] {
            for (nodes, least, most) in [(28, 0, 0), (57, 1, 1), (113, 2, 2), (226, 3, 3), (600, 4, SLOWER_MAX)] {
                let found = slower(nodes, step);
                assert!((least..=most).contains(&found), "{nodes} nodes in steps of {step}: {found}");
            }
        }
    }

    #[test]
    fn a_crowd_is_noticed_at_once_and_forgotten_after_two_stretches() {
        let mut crowd = Crowd::new(Duration::from_millis(1_024));
        (0..200).for_each(|node| crowd.hear(Instant::ZERO, NodeId(node)));
        assert_eq!(crowd.slower(), 3);
        let mut now = Instant::ZERO;
        let mut lasted = Vec::new();
        while now < Instant::from_millis(60_000) {
            now = now + Duration::from_millis(100);
            crowd.hear(now, NodeId(1));
            lasted.push(crowd.slower());
        }
        let kept = lasted.iter().position(|&slower| slower == 0).unwrap_or(0) / 10;
        assert!((2..40).contains(&kept), "{kept} s: as long as hellos may be apart, and not much longer");
    }

    use std::vec::Vec;
}
