//! The record that survives a reset, in memory that the start-up code leaves alone.
#![expect(unsafe_code, reason = "memory that nobody initialises")]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;

use common::board::retained::{CrashRecord, LastRun, RECORD_MAX};

use crate::clock;

struct Record(UnsafeCell<MaybeUninit<[u8; RECORD_MAX]>>);

// SAFETY: it is only touched within critical sections, on one core.
unsafe impl Sync for Record {}

#[unsafe(link_section = ".uninit.retained")]
static RECORD: Record = Record(UnsafeCell::new(MaybeUninit::uninit()));

/// What the run before left, and nothing afterwards: a record is reported once.
pub fn take() -> Option<LastRun> {
    let mut bytes = [0; RECORD_MAX];
    critical_section::with(|_| {
        for (place, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: within the record. Noise is as good as anything for a byte, and a volatile read takes what is there.
            *byte = unsafe { ptr::read_volatile(RECORD.0.get().cast::<u8>().add(place)) };
        }
    });
    let last = LastRun::open(&bytes);
    write_bytes(&[0; RECORD_MAX]);
    last
}

/// Leaves a record for the next boot.
pub fn write(last: &LastRun) {
    let mut bytes = [0; RECORD_MAX];
    last.seal(&mut bytes);
    write_bytes(&bytes);
}

/// Remembers what is bringing the board down.
pub fn write_crash(crash: CrashRecord) {
    write(&LastRun { uptime_s: clock::uptime_s(), record_calls: false, crash: Some(crash) });
}

fn write_bytes(bytes: &[u8; RECORD_MAX]) {
    critical_section::with(|_| {
        for (place, &byte) in bytes.iter().enumerate() {
            // SAFETY: within the record, of which no reference exists.
            unsafe { ptr::write_volatile(RECORD.0.get().cast::<u8>().add(place), byte) };
        }
    });
}
