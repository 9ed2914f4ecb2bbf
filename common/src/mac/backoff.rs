//! Unslotted CSMA-CA of IEEE 802.15.4: how long to wait before each assessment of the channel, and when to give up.

use crate::rng::Rng;
use crate::time::Duration;

/// One unit of backing off: 20 symbols.
pub const UNIT: Duration = Duration::from_micros(320);

/// Assessments of the channel before a frame is given up.
pub const ATTEMPTS_MAX: u8 = 5;

const EXPONENT_MIN: u8 = 3;
const EXPONENT_MAX: u8 = 5;

/// The waits of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    attempts: u8,
}

impl Backoff {
    pub const fn new() -> Self {
        Self { attempts: 0 }
    }

    /// How long to wait before the next assessment; none when all of them found the channel busy.
    pub fn next_wait(&mut self, rng: &mut Rng) -> Option<Duration> {
        if self.attempts >= ATTEMPTS_MAX {
            return None;
        }
        let exponent = EXPONENT_MIN.saturating_add(self.attempts).min(EXPONENT_MAX);
        self.attempts += 1;
        Some(UNIT.times(rng.below(1 << exponent)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, UNIT};
    use crate::rng::Rng;
    use crate::time::Duration;

    #[test]
    fn windows_grow_to_their_end_and_then_it_is_over() {
        let mut longest = [Duration::ZERO; 5];
        for seed in 0..2_000 {
            let (mut backoff, mut rng) = (Backoff::new(), Rng::new(seed));
            for most in &mut longest {
                *most = backoff.next_wait(&mut rng).expect("five attempts").max(*most);
            }
            assert_eq!(backoff.next_wait(&mut rng), None);
        }
        assert_eq!(longest, [7, 15, 31, 31, 31].map(|units| UNIT.times(units)));
    }
}
