//! The clocks. Without the fast crystal the radio is off frequency and receives nothing.

use embassy_nrf::config::{Config, HfclkSource};
use embassy_nrf::interrupt::{self, InterruptExt, Priority};
use embassy_nrf::pac::CLOCK;
use embassy_nrf::pac::clock::vals::HfclkstatSrc;
use embassy_nrf::{Peripherals, init};

use crate::boards::board;

/// How often the crystal is polled before it counts as broken: some hundred milliseconds. It starts within one.
const POLLS_MAX: u32 = 1_000_000;

/// Starts the clocks and everything else that `embassy_nrf::init` starts.
///
/// # Panics
///
/// Panics if the fast crystal does not start. If the slow one does not start, the watchdog resets the board.
pub fn start() -> Peripherals {
    // Start it here first, because embassy would wait for it without end.
    CLOCK.events_hfclkstarted().write_value(0);
    CLOCK.tasks_hfclkstart().write_value(1);
    if !(0..POLLS_MAX).any(|_| CLOCK.events_hfclkstarted().read() != 0) {
        defmt::panic!("the 32 MHz crystal does not start: the radio cannot work on this board");
    }
    let mut config = Config::default();
    config.hfclk_source = HfclkSource::ExternalXtal;
    config.lfclk_source = board::SLOW_CLOCK;
    config.dcdc.reg1 = board::HAS_CONVERTER;
    config.time_interrupt_priority = Priority::P1;
    config.gpiote_interrupt_priority = Priority::P6;
    let peripherals = init(config);

    let status = CLOCK.hfclkstat().read();
    if status.src() != HfclkstatSrc::Xtal || !status.state() {
        defmt::panic!("the 32 MHz crystal is not the clock's source: the radio would receive nothing");
    }
    // Embassy leaves the others at the highest priority, above the radio.
    for slow in [interrupt::UARTE0, interrupt::USBD, interrupt::SAADC, interrupt::TEMP, interrupt::CLOCK_POWER] {
        slow.set_priority(Priority::P6);
    }
    peripherals
}
