//! A node's own clock. It drifts, and it only shows whole ticks of 32768 Hz.

use common::time::Instant;

const TICKS_PER_SECOND: u64 = 32_768;
const MICROS_PER_SECOND: u64 = 1_000_000;
const MILLION: i64 = 1_000_000;

/// Parts of a tick: a million microseconds of a clock whose rate is given to one part per million.
const PARTS: u64 = 1_000_000_000_000;

/// How far a clock has counted: whole ticks, and parts of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    ticks: u64,
    parts: u64,
}

/// A clock that runs fast or slow by some parts per million, and that started at some moment of world time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalClock {
    drift_ppm: i32,
    /// The world time, in microseconds, since which the present drift applies.
    since_us: u64,
    /// What it had counted by then.
    base: Count,
}

impl LocalClock {
    /// A clock that shows zero at this world time.
    pub const fn new(drift_ppm: i32, zero_us: u64) -> Self {
        Self { drift_ppm, since_us: zero_us, base: Count { ticks: 0, parts: 0 } }
    }

    /// Parts per million by which it runs fast; negative if it runs slow.
    pub const fn drift_ppm(self) -> i32 {
        self.drift_ppm
    }

    /// Changes the drift from now on. What the clock shows does not jump.
    pub fn set_drift(&mut self, world_us: u64, drift_ppm: i32) {
        *self = Self { drift_ppm, since_us: world_us, base: self.count(world_us) };
    }

    /// What the clock shows at a world time: the microseconds of its last tick.
    pub fn show(self, world_us: u64) -> Instant {
        // The ratio of microseconds to ticks, in lowest terms.
        Instant::from_micros(self.count(world_us).ticks * 15_625 / 512)
    }

    /// The first world time at which the clock shows `local` or later, which is what a driver must wait for.
    pub fn when(self, local: Instant) -> u64 {
        let micros = u128::from(local.as_micros());
        let ticks = (micros * u128::from(TICKS_PER_SECOND)).div_ceil(u128::from(MICROS_PER_SECOND));
        let Count { ticks: base, parts } = self.base;
        // Invert count(): elapsed · rate ≥ what is missing, rounded up.
        let counted = u128::from(base) * u128::from(PARTS) + u128::from(parts);
        let missing = (ticks * u128::from(PARTS)).saturating_sub(counted);
        let elapsed = missing.div_ceil(u128::from(self.rate()));
        self.since_us.saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// Parts of a tick per microsecond of world time.
    fn rate(self) -> u64 {
        u64::try_from(MILLION + i64::from(self.drift_ppm)).unwrap_or(1) * TICKS_PER_SECOND
    }

    /// Seconds and the remainder are multiplied separately, so that both products fit 64 bits. Speed matters: every input to
    /// every station calls this.
    fn count(self, world_us: u64) -> Count {
        let elapsed = world_us.saturating_sub(self.since_us);
        let (seconds, micros) = (elapsed / MICROS_PER_SECOND, elapsed % MICROS_PER_SECOND);
        let whole = seconds * self.rate();
        let parts = whole % MICROS_PER_SECOND * MICROS_PER_SECOND + micros * self.rate() + self.base.parts;
        Count { ticks: self.base.ticks + whole / MICROS_PER_SECOND + parts / PARTS, parts: parts % PARTS }
    }
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;
    use common::time::Instant;

    use super::LocalClock;

    #[test]
    fn it_shows_ticks() {
        let clock = LocalClock::new(0, 1_000);
        assert_eq!(clock.show(1_000), Instant::ZERO);
        assert_eq!(clock.show(1_030), Instant::ZERO, "a tick is 30.5 us long");
        assert_eq!(clock.show(1_031), Instant::from_micros(30));
        assert_eq!(clock.show(1_001_000), Instant::from_micros(1_000_000));
    }

    #[test]
    fn drift_adds_up() {
        let fast = LocalClock::new(20, 0);
        let shown = fast.show(1_000_000_000).as_micros();
        assert!((1_000_019_960..=1_000_020_000).contains(&shown), "{shown}");
    }

    #[test]
    fn a_change_of_drift_is_no_jump() {
        let mut rng = Rng::new(4);
        for _ in 0..1_000 {
            let mut clock = LocalClock::new(i32::try_from(rng.below(1_000)).unwrap(), u64::from(rng.below(50_000)));
            let at = 60_000 + u64::from(rng.next_u32());
            let before = clock.show(at);
            clock.set_drift(at, -20_000);
            assert_eq!(clock.show(at), before);
            // Ten seconds later it has lost a fiftieth of them, give or take a tick.
            let passed = clock.show(at + 10_000_000).since(before).as_micros();
            assert!((9_799_969..=9_800_031).contains(&passed), "{passed}");
        }
    }

    #[test]
    fn a_deadline_is_met_at_its_first_tick_and_not_before() {
        let mut rng = Rng::new(8);
        for _ in 0..5_000 {
            let drift_ppm = i32::try_from(rng.below(40_000)).unwrap() - 20_000;
            let mut clock = LocalClock::new(drift_ppm, u64::from(rng.below(1_000_000)));
            if rng.below(2) == 1 {
                clock.set_drift(2_000_000, drift_ppm / 2);
            }
            let deadline = Instant::from_micros(4_000_000 + u64::from(rng.next_u32()));
            let when = clock.when(deadline);
            assert!(
                clock.show(when) >= deadline
                    || clock.show(when).since(Instant::ZERO).as_micros() + 31 > deadline.as_micros()
            );
            assert!(clock.show(when - 1) < deadline, "{clock:?} {deadline:?}");
        }
    }
}
