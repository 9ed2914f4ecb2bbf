//! TIMER0 as a counter of microseconds: precise enough for the radio, and to measure how long the processor sleeps.
//!
//! It wraps around after 71 minutes, so only differences are meaningful. The fast crystal that drives it runs for the radio
//! anyway. Each of its four registers has one user, so that nobody overwrites what another is about to read.

use embassy_nrf::pac::TIMER0;
use embassy_nrf::pac::timer::vals::{Bitmode, Mode};

/// The register whose match starts the transmitter.
pub const SEND_AT: usize = 0;
/// The register that captures the end of the last frame.
pub const FRAME_END: usize = 1;
const RADIO_NOW: usize = 2;
const METER_NOW: usize = 3;

/// 16 MHz divided by 2^4 is 1 MHz.
const PRESCALER: u8 = 4;

pub fn start() {
    TIMER0.mode().write(|w| w.set_mode(Mode::Timer));
    TIMER0.bitmode().write(|w| w.set_bitmode(Bitmode::_32bit));
    TIMER0.prescaler().write(|w| w.set_prescaler(PRESCALER));
    TIMER0.tasks_clear().write_value(1);
    TIMER0.tasks_start().write_value(1);
}

/// For the radio driver only.
pub fn for_radio() -> u32 {
    capture(RADIO_NOW)
}

/// For everybody who measures load.
pub fn for_meters() -> u32 {
    // The idle loop and a task both call this, and one may interrupt the other.
    critical_section::with(|_| capture(METER_NOW))
}

fn capture(register: usize) -> u32 {
    TIMER0.tasks_capture(register).write_value(1);
    TIMER0.cc(register).read()
}
