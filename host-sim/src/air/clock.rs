//! A node's own clock: it drifts, and it shows whole ticks of 32768 Hz only.

use common::time::Instant;

const TICKS_PER_SECOND: i128 = 32_768;
const MICROS_PER_SECOND: i128 = 1_000_000;
const MILLION: i128 = 1_000_000;

/// A clock that runs fast or slow by so many millionths, and started at some moment of the world's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalClock {
    /// Millionths by which it runs fast; negative for slow.
    pub drift_ppm: i32,
    /// The world's time at which it showed zero, in microseconds.
    pub zero_us: u64,
}

impl LocalClock {
    /// What it shows at a moment of the world's time, as the microseconds of its last tick.
    pub fn show(self, world_us: u64) -> Instant {
        let ticks = self.ticks(world_us);
        let micros = ticks * MICROS_PER_SECOND / TICKS_PER_SECOND;
        Instant::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// The first moment of the world's time at which it shows `local` or later: what a driver must wait for.
    pub fn when(self, local: Instant) -> u64 {
        let micros = i128::from(local.as_micros());
        let ticks = (micros * TICKS_PER_SECOND + MICROS_PER_SECOND - 1) / MICROS_PER_SECOND;
        // Invert ticks(): elapsed · (1 + ppm) · rate ≥ ticks, rounded up.
        let numerator = ticks * MICROS_PER_SECOND * MILLION;
        let denominator = TICKS_PER_SECOND * (MILLION + i128::from(self.drift_ppm));
        let elapsed = (numerator + denominator - 1) / denominator;
        self.zero_us.saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    fn ticks(self, world_us: u64) -> i128 {
        let elapsed = i128::from(world_us.saturating_sub(self.zero_us));
        elapsed * (MILLION + i128::from(self.drift_ppm)) * TICKS_PER_SECOND / (MICROS_PER_SECOND * MILLION)
    }
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;
    use common::time::Instant;

    use super::LocalClock;

    #[test]
    fn it_shows_ticks() {
        let clock = LocalClock { drift_ppm: 0, zero_us: 1_000 };
        assert_eq!(clock.show(1_000), Instant::ZERO);
        assert_eq!(clock.show(1_030), Instant::ZERO, "a tick is 30.5 us long");
        assert_eq!(clock.show(1_031), Instant::from_micros(30));
        assert_eq!(clock.show(1_001_000), Instant::from_micros(1_000_000));
    }

    #[test]
    fn drift_adds_up() {
        let fast = LocalClock { drift_ppm: 20, zero_us: 0 };
        let shown = fast.show(1_000_000_000).as_micros();
        assert!((1_000_019_960..=1_000_020_000).contains(&shown), "{shown}");
    }

    #[test]
    fn a_deadline_is_met_at_its_first_tick_and_not_before() {
        let mut rng = Rng::new(8);
        for _ in 0..5_000 {
            let drift_ppm = i32::try_from(rng.below(40_000)).unwrap() - 20_000;
            let clock = LocalClock { drift_ppm, zero_us: u64::from(rng.below(1_000_000)) };
            let deadline = Instant::from_micros(1 + u64::from(rng.next_u32()));
            let when = clock.when(deadline);
            assert!(
                clock.show(when) >= deadline
                    || clock.show(when).since(Instant::ZERO).as_micros() + 31 > deadline.as_micros()
            );
            assert!(clock.show(when - 1) < deadline, "{clock:?} {deadline:?}");
        }
    }
}
