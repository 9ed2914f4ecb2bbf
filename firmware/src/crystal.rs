//! The clocks. The radio keeps its frequency only with the fast crystal, and without it nothing would ever be received.

use embassy_nrf::config::{Config, HfclkSource};
use embassy_nrf::interrupt::{self, InterruptExt, Priority};
use embassy_nrf::pac::CLOCK;
use embassy_nrf::pac::clock::vals::HfclkstatSrc;
use embassy_nrf::{Peripherals, init};

use crate::boards::board;

/// Looks at the crystal before it counts as broken. It starts within a millisecond; these are some hundred.
const LOOKS: u32 = 1_000_000;

/// Starts the clocks and everything else that the library starts.
///
/// # Panics
///
/// When the fast crystal does not start. A slow one that does not start is the watchdog's.
pub fn start() -> Peripherals {
    // Started here first, because the library would wait for it without end.
    CLOCK.events_hfclkstarted().write_value(0);
    CLOCK.tasks_hfclkstart().write_value(1);
    if !(0..LOOKS).any(|_| CLOCK.events_hfclkstarted().read() != 0) {
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
    // The library leaves the others at the highest priority, above the radio.
    for slow in [interrupt::UARTE0, interrupt::USBD, interrupt::SAADC, interrupt::TEMP, interrupt::CLOCK_POWER] {
        slow.set_priority(Priority::P6);
    }
    peripherals
}
