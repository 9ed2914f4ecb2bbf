//! The host link: messages go out over every line, and commands are accepted from any.
//!
//! The board never waits for a host. A message is encoded once and offered to each line. A line without space drops it whole,
//! counts it, and reports the loss when there is space again.

mod commands;
mod line;
pub mod uart;
pub mod usb;
mod usb_link;

use core::cell::RefCell;

use common::host_link::{FRAME_BYTES_MAX, Hello, ToHost, encode};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;

use self::line::{Line, Losses};
use crate::{clock, node};

/// Messages that wait to be sent. The node may report several calls at once.
const OUT_MAX: usize = 16;

static OUT: Channel<CriticalSectionRawMutex, ToHost, OUT_MAX> = Channel::new();
static OVERFLOWED: Losses = Losses::new();
static HELLO: Mutex<CriticalSectionRawMutex, RefCell<Option<Hello>>> = Mutex::new(RefCell::new(None));

/// Bytes that can wait for USB, which takes some dozens of messages within a millisecond.
const USB_WAITING_MAX: usize = 1_024;
/// Bytes that can wait for the serial line, which carries eleven of them in a millisecond: a burst of calls, each with its
/// frame, when every call is recorded.
const UART_WAITING_MAX: usize = 4_096;

pub static USB: Line<USB_WAITING_MAX> = Line::new();
pub static UART: Line<UART_WAITING_MAX> = Line::new();

/// Queues a message for all hosts, without waiting.
pub fn say(message: ToHost) {
    if OUT.try_send(message).is_err() {
        OVERFLOWED.count();
    }
}

/// Sets the hello of this board, and sends it.
pub fn introduce(hello: Hello) {
    HELLO.lock(|cell| *cell.borrow_mut() = Some(hello));
    say_hello();
}

/// Sends the hello. The node may have taken another id or epoch since the boot.
pub fn say_hello() {
    let hello = HELLO.lock(|cell| cell.borrow().clone());
    let Some(mut hello) = hello else { return };
    hello.at_us = clock::now().as_micros();
    if let Some(snapshot) = node::snapshot() {
        (hello.id, hello.epoch) = (snapshot.id, snapshot.epoch);
    }
    say(ToHost::Hello(hello));
}

#[embassy_executor::task]
pub async fn send() -> ! {
    let mut bytes = [0; FRAME_BYTES_MAX];
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
}
