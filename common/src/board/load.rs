//! How loaded a board is: shares over a window, from counters that only rise.
//!
//! The meter is read every few seconds. Each reading takes the shares since the last one and averages them with what was
//! known before, so that one busy moment does not unseat a leader.

use crate::coefficient::{Load, Share, WHOLE};

/// What a reading weighs against what was known before: a quarter.
const FRESH: u32 = 1;
const WHOLE_WEIGHT: u32 = 4;

/// Counters of a board at one moment. They may wrap; only differences count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Meters {
    pub now_us: u32,
    /// How long the processor has slept, in microseconds.
    pub asleep_us: u32,
    /// How long the radio has been sending, in microseconds.
    pub on_air_us: u32,
}

/// Turns counters into shares.
#[derive(Clone, Debug)]
pub struct LoadMeter {
    before: Meters,
    /// The mixed shares, in ten-thousandths.
    cpu: Option<u16>,
    bandwidth: u16,
}

/// How full the message pool has been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUse {
    pub high_water: u32,
    pub capacity: u32,
}

impl LoadMeter {
    /// A meter that begins now.
    pub const fn new(now: Meters) -> Self {
        Self { before: now, cpu: None, bandwidth: 0 }
    }

    pub fn read(&mut self, now: Meters, pool: PoolUse) -> Load {
        let window = now.now_us.wrapping_sub(self.before.now_us);
        let asleep = now.asleep_us.wrapping_sub(self.before.asleep_us);
        let on_air = now.on_air_us.wrapping_sub(self.before.on_air_us);
        self.before = now;
        let awake = Share::of(u64::from(window.saturating_sub(asleep)), u64::from(window)).get();
        let sending = Share::of(u64::from(on_air), u64::from(window)).get();
        self.bandwidth = self.cpu.map_or(sending, |_| mixed(self.bandwidth, sending));
        let cpu = self.cpu.map_or(awake, |before| mixed(before, awake));
        self.cpu = Some(cpu);
        Load {
            cpu: Share::new(cpu),
            memory: Share::of(u64::from(pool.high_water), u64::from(pool.capacity)),
            bandwidth: Share::new(self.bandwidth),
        }
    }
}

fn mixed(before: u16, fresh: u16) -> u16 {
    let sum = u32::from(before) * (WHOLE_WEIGHT - FRESH) + u32::from(fresh) * FRESH;
    u16::try_from((sum + WHOLE_WEIGHT / 2) / WHOLE_WEIGHT).unwrap_or(WHOLE)
}

/// How much a coefficient must change before the node hears of it, in ten-thousandths. Less is noise.
pub const NOTEWORTHY: u16 = 100;

#[cfg(test)]
mod tests {
    use super::{LoadMeter, Meters, PoolUse};
    use crate::coefficient::Share;

    const fn at(now_us: u32, asleep_us: u32, on_air_us: u32) -> Meters {
        Meters { now_us, asleep_us, on_air_us }
    }

    const fn pool(high_water: u32, capacity: u32) -> PoolUse {
        PoolUse { high_water, capacity }
    }

    #[test]
    fn the_first_window_counts_whole() {
        let mut meter = LoadMeter::new(at(0, 0, 0));
        let load = meter.read(at(1_000_000, 900_000, 20_000), pool(6, 24));
        assert_eq!((load.cpu, load.memory, load.bandwidth), (Share::new(1_000), Share::new(2_500), Share::new(200)));
    }

    #[test]
    fn later_windows_count_a_quarter() {
        let mut meter = LoadMeter::new(at(0, 0, 0));
        meter.read(at(1_000, 1_000, 0), pool(0, 24));
        let load = meter.read(at(2_000, 1_000, 400), pool(0, 24));
        assert_eq!((load.cpu, load.bandwidth), (Share::new(2_500), Share::new(1_000)));
    }

    #[test]
    fn counters_may_run_over_and_stand_still() {
        let mut meter = LoadMeter::new(at(u32::MAX - 499, u32::MAX, u32::MAX - 49));
        let load = meter.read(at(500, 499, 50), pool(0, 0));
        assert_eq!((load.cpu, load.bandwidth), (Share::new(5_000), Share::new(1_000)));
        let load = meter.read(at(500, 499, 50), pool(1, 1));
        assert_eq!((load.cpu, load.memory), (Share::new(3_750), Share::new(10_000)), "no time has passed");
    }

    #[test]
    fn more_sleep_than_time_is_no_load() {
        let mut meter = LoadMeter::new(at(0, 0, 0));
        assert_eq!(meter.read(at(100, 130, 0), pool(0, 1)).cpu, Share::new(0));
    }
}
