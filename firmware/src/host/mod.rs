//! The host link: what the board says goes out over every line there is, and what comes in over any is obeyed.
//!
//! Nobody waits for a host. A message is put into frames once and offered to each line; a line without room loses it whole,
//! counts it, and says so when there is room again.

mod commands;
mod line;
pub mod rtt_line;
pub mod uart;
pub mod usb;

use core::cell::RefCell;

use common::host_link::{FRAME_BYTES_MAX, Hello, ToHost, encode};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;

use self::line::{FRAME_END, Line, Losses};
use crate::{clock, node, rtt};

/// Messages that wait for the task that sends them. The node may report several calls at once.
const OUT_MAX: usize = 16;

static OUT: Channel<CriticalSectionRawMutex, ToHost, OUT_MAX> = Channel::new();
static OVERFLOWED: Losses = Losses::new();
static RTT_LOSSES: Losses = Losses::new();
static HELLO: Mutex<CriticalSectionRawMutex, RefCell<Option<Hello>>> = Mutex::new(RefCell::new(None));

/// The line over USB.
pub static USB: Line = Line::new();
/// The serial line.
pub static UART: Line = Line::new();

/// Says something to whoever listens, without waiting.
pub fn say(message: ToHost) {
    if OUT.try_send(message).is_err() {
        OVERFLOWED.count();
    }
}

/// Decides what the board says of itself from now on, and says it.
pub fn introduce(hello: Hello) {
    HELLO.lock(|cell| *cell.borrow_mut() = Some(hello));
    say_hello();
}

/// Says again who is there. A node may have taken another id or epoch since the boot.
pub fn say_hello() {
    let hello = HELLO.lock(|cell| cell.borrow().clone());
    let Some(mut hello) = hello else { return };
    hello.at_us = clock::now().as_micros();
    if let Some(snapshot) = node::snapshot() {
        (hello.id, hello.epoch) = (snapshot.id, snapshot.epoch);
    }
    say(ToHost::Hello(hello));
}

/// Sends what is said for ever.
#[embassy_executor::task]
pub async fn send() -> ! {
    let mut bytes = [0; FRAME_BYTES_MAX];
    rtt::send(FRAME_END);
    loop {
        let message = OUT.receive().await;
        if let Some(lost) = OVERFLOWED.take() {
            offer(&ToHost::Lost(lost), &mut bytes);
        }
        offer(&message, &mut bytes);
    }
}

fn offer(message: &ToHost, bytes: &mut [u8; FRAME_BYTES_MAX]) {
    // The buffer is as large as the largest frame, so this cannot fail.
    let Ok(frame) = encode(message, bytes) else { return };
    USB.offer(frame);
    UART.offer(frame);
    RTT_LOSSES.offer(frame, rtt::send);
}
