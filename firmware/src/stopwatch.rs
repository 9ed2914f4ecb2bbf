//! TIMER0 as a counter of microseconds: fine enough for the radio, and for how long the processor sleeps.
//!
//! It runs over after 71 minutes, so only differences mean something. The fast crystal that it counts is on for the radio
//! anyway. Its four registers have one user each, so that nobody overwrites what another is about to read.

use embassy_nrf::pac::TIMER0;
use embassy_nrf::pac::timer::vals::{Bitmode, Mode};

/// The register at which the radio's transmitter is started.
pub const SEND_AT: usize = 0;
/// The register that holds when the last frame ended.
pub const FRAME_END: usize = 1;
const RADIO_NOW: usize = 2;
const METER_NOW: usize = 3;

/// 16 MHz divided by two to this power.
const PRESCALER: u8 = 4;

/// Starts the counter.
pub fn start() {
    TIMER0.mode().write(|w| w.set_mode(Mode::Timer));
    TIMER0.bitmode().write(|w| w.set_bitmode(Bitmode::_32bit));
    TIMER0.prescaler().write(|w| w.set_prescaler(PRESCALER));
    TIMER0.tasks_clear().write_value(1);
    TIMER0.tasks_start().write_value(1);
}

/// The count, for the radio's driver only.
pub fn for_radio() -> u32 {
    capture(RADIO_NOW)
}

/// The count, for whoever measures load.
pub fn for_meters() -> u32 {
    // The idle loop and a task both ask, and one may interrupt the other.
    critical_section::with(|_| capture(METER_NOW))
}

fn capture(register: usize) -> u32 {
    TIMER0.tasks_capture(register).write_value(1);
    TIMER0.cc(register).read()
}
