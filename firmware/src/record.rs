//! The record of what the node and the MAC were told and what they decided: enough to run both again on a PC.

use core::sync::atomic::{AtomicBool, Ordering};

use common::host_link::{Call, ToHost};
use common::time::Instant;

use crate::host;

static IS_ON: AtomicBool = AtomicBool::new(false);

pub fn set(is_on: bool) {
    IS_ON.store(is_on, Ordering::Relaxed);
}

/// Reports a call, where a host asked for the record.
pub fn call(at: Instant, call: impl FnOnce() -> Call) {
    if IS_ON.load(Ordering::Relaxed) {
        say(at, call());
    }
}

// Not a part of each caller, of which there are two dozen.
#[inline(never)]
fn say(at: Instant, call: Call) {
    host::say(ToHost::Call { at_us: at.as_micros(), call });
}
