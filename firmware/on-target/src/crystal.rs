//! The fast crystal, without which the radio is off frequency.

use embassy_nrf::pac::CLOCK;
use embassy_nrf::pac::clock::vals::HfclkstatSrc;

use crate::cycles;

/// A crystal that needs longer is broken: it takes about 360 µs.
pub const START_US_MAX: u32 = 10_000;

/// Looks at the clock before a start counts as failed, at some ten cycles each.
const LOOKS_MAX: u32 = 100_000;

/// Whether it is what the chip's clock runs from.
pub fn runs() -> bool {
    let status = CLOCK.hfclkstat().read();
    status.src() == HfclkstatSrc::Xtal && status.state()
}

/// Starts it, and returns the microseconds that it took. None if it does not start.
pub fn start() -> Option<u32> {
    cycles::start();
    let began = cycles::now();
    CLOCK.tasks_hfclkstart().write_value(1);
    (0..LOOKS_MAX).any(|_| runs()).then(|| cycles::now().wrapping_sub(began) / cycles::PER_US)
}

pub fn stop() -> bool {
    CLOCK.tasks_hfclkstop().write_value(1);
    (0..LOOKS_MAX).any(|_| !runs())
}

/// Whether the chip announces the start of a crystal that already runs. Chips and models of them differ.
pub fn announces_again() -> bool {
    CLOCK.events_hfclkstarted().write_value(0);
    CLOCK.tasks_hfclkstart().write_value(1);
    (0..LOOKS_MAX).any(|_| CLOCK.events_hfclkstarted().read() != 0)
}
