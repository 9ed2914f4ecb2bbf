//! Unslotted CSMA-CA of IEEE 802.15.4: how long to wait before each look at the channel, and when to give up. Also what
//! the physical layer allows a frame to be.

use crate::node::FRAME_MAX;
use crate::rng::Rng;
use crate::time::Duration;

/// One unit of backing off: 20 symbols.
pub const UNIT: Duration = Duration::from_micros(320);

/// Looks at the channel before a frame is given up.
pub const LOOKS_MAX: u8 = 5;

/// Bytes of the checksum that the radio adds and checks.
pub const CHECKSUM: usize = 2;

const EXPONENT_MIN: u8 = 3;
const EXPONENT_MAX: u8 = 5;

/// One frame's way to the air.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    looks: u8,
}

impl Backoff {
    /// For a new frame.
    pub const fn new() -> Self {
        Self { looks: 0 }
    }

    /// How long to wait before the next look; none when all of them found the channel busy.
    pub fn next_wait(&mut self, rng: &mut Rng) -> Option<Duration> {
        if self.looks >= LOOKS_MAX {
            return None;
        }
        let exponent = EXPONENT_MIN.saturating_add(self.looks).min(EXPONENT_MAX);
        self.looks += 1;
        Some(UNIT.times(rng.below(1 << exponent)))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

/// How long a frame of this many bytes, checksum not counted, is on the air: preamble, delimiter and length, then 32 µs a
/// byte.
pub const fn airtime(bytes: usize) -> Duration {
    const AHEAD: u64 = 6;
    Duration::from_micros((AHEAD + bytes as u64 + CHECKSUM as u64) * 32)
}

/// The frame in a buffer that the radio filled: its length, what was received, and where the checksum was. None where the
/// length, which comes from the air, is impossible.
pub fn received(buffer: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = buffer.split_first()?;
    let length = usize::from(length).checked_sub(CHECKSUM)?;
    if length == 0 || length > FRAME_MAX { None } else { rest.get(..length) }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, UNIT, airtime, received};
    use crate::rng::Rng;
    use crate::time::Duration;

    #[test]
    fn windows_grow_to_their_end_and_then_it_is_over() {
        let mut longest = [Duration::ZERO; 5];
        for seed in 0..2_000 {
            let (mut backoff, mut rng) = (Backoff::new(), Rng::new(seed));
            for most in &mut longest {
                *most = backoff.next_wait(&mut rng).expect("five looks").max(*most);
            }
            assert_eq!(backoff.next_wait(&mut rng), None);
        }
        assert_eq!(longest, [7, 15, 31, 31, 31].map(|units| UNIT.times(units)));
    }

    #[test]
    fn airtime_is_the_standards() {
        assert_eq!(airtime(125), Duration::from_micros(4_256));
        assert_eq!(airtime(8), Duration::from_micros(512));
    }

    #[test]
    fn impossible_lengths_are_refused() {
        let mut buffer = [7; 128];
        for length in 0..=u8::MAX {
            buffer[0] = length;
            let expected = if (3..=127).contains(&length) { Some(usize::from(length) - 2) } else { None };
            assert_eq!(received(&buffer).map(<[u8]>::len), expected, "length {length}");
        }
        assert_eq!(received(&[]), None);
        assert_eq!(received(&[10, 1, 2]), None);
    }
}
