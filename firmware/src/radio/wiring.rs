//! Two wires between the radio and the stopwatch that need no processor: the end of a frame is stamped, and the transmitter
//! is started at a time.

use embassy_nrf::pac::{PPI, RADIO, TIMER0};

use crate::stopwatch::{FRAME_END, SEND_AT};

/// Channels that the other drivers of this image are not given.
const STAMP: usize = 0;
const SEND: usize = 1;

/// Lays the wires. The stamp is always on.
pub fn lay() {
    connect(STAMP, RADIO.events_end().as_ptr() as u32, TIMER0.tasks_capture(FRAME_END).as_ptr() as u32);
    connect(SEND, TIMER0.events_compare(SEND_AT).as_ptr() as u32, RADIO.tasks_txen().as_ptr() as u32);
    PPI.chenset().write(|w| w.set_ch(STAMP, true));
    disarm();
}

fn connect(channel: usize, event: u32, task: u32) {
    PPI.ch(channel).eep().write_value(event);
    PPI.ch(channel).tep().write_value(task);
}

/// Sets when the stopwatch starts the transmitter, once it is [armed](arm).
pub fn set_start(at: u32) {
    TIMER0.cc(SEND_AT).write_value(at);
}

/// When that is.
pub fn start() -> u32 {
    TIMER0.cc(SEND_AT).read()
}

/// Lets the stopwatch start the transmitter.
pub fn arm() {
    TIMER0.events_compare(SEND_AT).write_value(0);
    PPI.chenset().write(|w| w.set_ch(SEND, true));
}

/// Whether the stopwatch has reached it.
pub fn has_started() -> bool {
    TIMER0.events_compare(SEND_AT).read() != 0
}

/// No longer starts the transmitter.
pub fn disarm() {
    PPI.chenclr().write(|w| w.set_ch(SEND, true));
}
