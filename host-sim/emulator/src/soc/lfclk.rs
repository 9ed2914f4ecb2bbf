//! The low-frequency clock of 32,768 Hz: one grid of ticks for all counters of a board, which runs fast or slow.

/// Without drift, 8 ticks take 15,625 cycles.
const TICKS: u64 = 8;
const CYCLES: u64 = 15_625;
const MILLION: u64 = 1_000_000;
/// A tick is divided into so many parts that every cycle adds a whole number of them: eight times the rate.
const PARTS: u64 = CYCLES * MILLION;
/// Below these limits, which are hours since the drift last changed, products fit 64 bits.
const CYCLES_FAST: u64 = 1 << 40;
const TICKS_FAST: u64 = 1 << 29;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LfClock {
    /// Ticks of this clock in a million ticks of an exact one.
    rate: u64,
    /// The cycle from which on `rate` holds.
    since: u64,
    /// The count at `since`.
    base: Count,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    ticks: u64,
    /// The parts of the next tick, fewer than [`PARTS`].
    parts: u64,
}

impl Default for LfClock {
    fn default() -> Self {
        Self { rate: MILLION, since: 0, base: Count::default() }
    }
}

impl LfClock {
    /// From now on it runs fast by this many millionths, or slow; at most by a tenth. The count does not jump.
    pub fn set_drift(&mut self, now: u64, ppm: i32) {
        let rate = MILLION.saturating_add_signed(i64::from(ppm.clamp(-100_000, 100_000)));
        *self = Self { rate, since: now, base: self.count(now) };
    }

    /// The tick at a cycle.
    pub fn tick(&self, cycle: u64) -> u64 {
        self.count(cycle).ticks
    }

    /// The first cycle of a tick. For a tick before the drift last changed, it is the cycle of that change.
    pub fn cycle(&self, tick: u64) -> u64 {
        let Count { ticks: base, parts } = self.base;
        let (ahead, rate) = (tick.saturating_sub(base), TICKS * self.rate);
        let elapsed = if ahead < TICKS_FAST {
            (ahead * PARTS).saturating_sub(parts).div_ceil(rate)
        } else {
            let missing = (u128::from(ahead) * u128::from(PARTS)).saturating_sub(u128::from(parts));
            u64::try_from(missing.div_ceil(u128::from(rate))).unwrap_or(u64::MAX)
        };
        self.since.saturating_add(elapsed)
    }

    fn count(&self, cycle: u64) -> Count {
        let Count { ticks: base, parts } = self.base;
        let (elapsed, rate) = (cycle.saturating_sub(self.since), TICKS * self.rate);
        if elapsed < CYCLES_FAST {
            let all = elapsed * rate + parts;
            return Count { ticks: base + all / PARTS, parts: all % PARTS };
        }
        let all = u128::from(elapsed) * u128::from(rate) + u128::from(parts);
        let narrow = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        Count { ticks: base + narrow(all / u128::from(PARTS)), parts: narrow(all % u128::from(PARTS)) }
    }
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;

    use super::LfClock;

    const SECOND: u64 = 64_000_000;

    #[test]
    fn an_exact_clock_ticks_32768_times_a_second_for_ever() {
        let clock = LfClock::default();
        assert_eq!((clock.tick(15_624), clock.tick(15_625)), (7, 8));
        assert_eq!(clock.cycle(1), 1_954, "the first cycle in which 1953.125 have passed");
        for seconds in [1, 3_600, 86_400, 10 * 365 * 86_400] {
            assert_eq!(clock.tick(seconds * SECOND), seconds * 32_768);
            assert_eq!(clock.cycle(seconds * 32_768), seconds * SECOND);
        }
    }

    #[test]
    fn the_first_cycle_of_a_tick_is_found_whatever_the_drift() {
        let mut rng = Rng::new(1);
        for _ in 0..5_000 {
            let mut clock = LfClock::default();
            clock.set_drift(u64::from(rng.next_u32()), i32::try_from(rng.below(100_000)).unwrap() - 50_000);
            clock.set_drift(1 << 33, i32::try_from(rng.below(100_000)).unwrap() - 50_000);
            let tick = clock.tick(1 << 33) + 1 + (rng.next_u64() >> 30);
            assert_eq!(clock.tick(clock.cycle(tick)), tick);
            assert_eq!(clock.tick(clock.cycle(tick) - 1), tick - 1);
        }
    }

    #[test]
    fn drift_adds_up_and_a_change_is_no_jump() {
        let mut clock = LfClock::default();
        clock.set_drift(0, 20);
        assert_eq!(clock.tick(1_000_000 * SECOND), 1_000_020 * 32_768);
        let before = clock.tick(77 * SECOND);
        clock.set_drift(77 * SECOND, -50_000);
        assert_eq!(clock.tick(77 * SECOND), before);
        let passed = clock.tick(87 * SECOND) - before;
        assert!((311_295..=311_297).contains(&passed), "95 % of ten seconds: {passed}");
    }
}
