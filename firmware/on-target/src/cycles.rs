//! The processor's own cycle counter (DWT), and its instruction cache.

use cortex_m::Peripherals;
use cortex_m::peripheral::DWT;
use embassy_nrf::pac::NVMC;

/// Cycles in a microsecond.
pub const PER_US: u32 = 64;

/// Starts the counter. It may be called more than once.
pub fn start() {
    // Nobody else in a test uses these.
    if let Some(mut core) = Peripherals::take() {
        core.DCB.enable_trace();
        core.DWT.enable_cycle_counter();
    }
}

pub fn now() -> u32 {
    DWT::cycle_count()
}

/// Switches the instruction cache, which is off after a reset.
pub fn set_cache(is_on: bool) {
    NVMC.icachecnf().write(|w| w.set_cacheen(is_on));
}
