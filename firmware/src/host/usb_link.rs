//! Whether the USB bus can carry a packet just now.
//!
//! While the bus sleeps or the cable is out, the peripheral is in its low-power state or off. It then moves no packet, and
//! embassy's driver would wait for the end of that without a bound, until the watchdog bites.
//!
//! Nothing here wakes a task. All callers belong to the task that runs the device, and are polled after the device whenever it
//! learns something.

use core::future::{Future, poll_fn};
use core::sync::atomic::{AtomicU8, Ordering};
use core::task::Poll;

use embassy_futures::select::{Either, select};
use embassy_usb::Handler;

const ENABLED: u8 = 1 << 0;
const CONFIGURED: u8 = 1 << 1;
const SUSPENDED: u8 = 1 << 2;

static STATE: AtomicU8 = AtomicU8::new(0);

/// Learns from the device what happens on the bus.
pub struct Watcher;

impl Watcher {
    fn set(bits: u8, clear: u8) {
        // Only the device calls this, so nothing comes between the two.
        let state = STATE.load(Ordering::Relaxed);
        STATE.store(state & !clear | bits, Ordering::Relaxed);
    }
}

impl Handler for Watcher {
    fn enabled(&mut self, enabled: bool) {
        Self::set(if enabled { ENABLED } else { 0 }, ENABLED | CONFIGURED | SUSPENDED);
    }

    fn reset(&mut self) {
        Self::set(0, CONFIGURED | SUSPENDED);
    }

    fn configured(&mut self, configured: bool) {
        Self::set(if configured { CONFIGURED } else { 0 }, CONFIGURED);
    }

    fn suspended(&mut self, suspended: bool) {
        Self::set(if suspended { SUSPENDED } else { 0 }, SUSPENDED);
    }
}

/// Whether the peripheral is on.
pub fn is_enabled() -> bool {
    STATE.load(Ordering::Relaxed) & ENABLED != 0
}

fn is_up() -> bool {
    STATE.load(Ordering::Relaxed) == ENABLED | CONFIGURED
}

/// Waits until the bus carries packets and a condition holds that only the device changes.
pub async fn until(holds: impl Fn() -> bool) {
    poll_fn(|_| if is_up() && holds() { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Does something while the bus carries packets; `None` if that ends first.
pub async fn while_up<T>(work: impl Future<Output = T>) -> Option<T> {
    let down = poll_fn(|_| if is_up() { Poll::Pending } else { Poll::Ready(()) });
    // The order matters: the work is not polled once the bus is down.
    match select(down, work).await {
        Either::First(()) => None,
        Either::Second(done) => Some(done),
    }
}
