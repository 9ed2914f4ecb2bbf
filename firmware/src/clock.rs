//! The time of the node: microseconds since the boot, from the slow clock, which also runs while the processor sleeps.

use common::time::Instant;
use embassy_time::TICK_HZ;

const MICROS_PER_SECOND: u64 = 1_000_000;

pub fn now() -> Instant {
    Instant::from_micros(embassy_time::Instant::now().as_micros())
}

/// In whole seconds since the boot.
pub fn uptime_s() -> u32 {
    u32::try_from(embassy_time::Instant::now().as_secs()).unwrap_or(u32::MAX)
}

/// The first tick of the clock at or after `deadline`. Rounding down would wake the node too early, again and again until
/// the deadline has passed.
pub const fn tick_at_or_after(deadline: Instant) -> embassy_time::Instant {
    // In two parts, because deadline times rate would overflow within eighteen years.
    let (seconds, micros) = (deadline.as_micros() / MICROS_PER_SECOND, deadline.as_micros() % MICROS_PER_SECOND);
    let ticks = seconds.saturating_mul(TICK_HZ).saturating_add((micros * TICK_HZ).div_ceil(MICROS_PER_SECOND));
    embassy_time::Instant::from_ticks(ticks)
}

const _: () = {
    assert!(tick_at_or_after(Instant::from_micros(0)).as_ticks() == 0);
    assert!(tick_at_or_after(Instant::from_micros(1)).as_ticks() == 1);
    assert!(tick_at_or_after(Instant::from_micros(31)).as_ticks() == 2);
    assert!(tick_at_or_after(Instant::from_millis(1_000)).as_ticks() == TICK_HZ);
    assert!(tick_at_or_after(Instant::from_micros(1_000_001)).as_ticks() == TICK_HZ + 1);
    assert!(tick_at_or_after(Instant::from_micros(u64::MAX)).as_ticks() > u64::MAX / MICROS_PER_SECOND);
};
