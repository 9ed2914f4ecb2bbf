//! The clocks. Without the fast crystal the radio is off frequency and receives nothing.
//!
//! Each crystal is started once. A chip need not announce the start of a crystal that already runs, and some do run at this
//! point: a bootloader may have left them so. Therefore the fast one is started here, embassy is told that there is none,
//! and what counts is the clock's status. The slow one is embassy's, whose wait for it has no end of its own: it is stopped
//! first if it runs, and [`Bound`] ends the wait.

use embassy_nrf::config::{Config, LfclkSource};
use embassy_nrf::interrupt::{self, InterruptExt, Priority};
use embassy_nrf::pac::CLOCK;
use embassy_nrf::pac::clock::vals::HfclkstatSrc;
use embassy_nrf::{Peripherals, init};

use crate::boards::board;
use crate::bound::Bound;

/// Some milliseconds: the slow clock stops within a few of its own cycles.
const STOP_POLLS_MAX: u32 = 10_000;

/// Starts the clocks and everything else that `embassy_nrf::init` starts.
pub fn start(bound: &mut Bound) -> Peripherals {
    bound.wait_for("the 32 MHz crystal", "Without it the radio cannot work; the board is damaged.");
    if !fast_runs() {
        CLOCK.tasks_hfclkstart().write_value(1);
        while !fast_runs() {}
    }
    bound.wait_for(slow_clock(), "Is this the image for this board? Other boards have other clocks.");
    stop_slow();
    let mut config = Config::default();
    config.lfclk_source = board::SLOW_CLOCK;
    config.dcdc.reg0_voltage = board::REGULATOR;
    config.dcdc.reg1 = board::HAS_CONVERTER;
    config.time_interrupt_priority = Priority::P1;
    config.gpiote_interrupt_priority = Priority::P6;
    let peripherals = init(config);

    // Embassy leaves the others at the highest priority, above the radio.
    for slow in [interrupt::UARTE0, interrupt::USBD, interrupt::SAADC, interrupt::TEMP, interrupt::CLOCK_POWER] {
        slow.set_priority(Priority::P6);
    }
    peripherals
}

/// Stops the slow clock if a bootloader has started it. The watchdog may keep its own source running, so nothing depends on
/// the clock standing still afterwards.
fn stop_slow() {
    if CLOCK.lfclkrun().read().status() {
        CLOCK.tasks_lfclkstop().write_value(1);
        let _has_stopped = (0..STOP_POLLS_MAX).any(|_| !CLOCK.lfclkstat().read().state());
    }
}

/// Whether the fast crystal is what the chip's clock runs from.
fn fast_runs() -> bool {
    let status = CLOCK.hfclkstat().read();
    status.src() == HfclkstatSrc::Xtal && status.state()
}

const fn slow_clock() -> &'static str {
    match board::SLOW_CLOCK {
        LfclkSource::ExternalXtal => "the 32 kHz crystal",
        _ => "the 32 kHz clock",
    }
}
