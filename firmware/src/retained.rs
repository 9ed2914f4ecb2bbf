//! The record that survives a reset, in memory that the start-up code leaves alone.
#![expect(unsafe_code, reason = "uninitialised memory")]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;

use common::board::retained::{CrashRecord, LastRun, RECORD_MAX};

use crate::clock;

struct Record(UnsafeCell<MaybeUninit<[u8; RECORD_MAX]>>);

// SAFETY: it is only accessed within critical sections, on one core.
unsafe impl Sync for Record {}

#[unsafe(link_section = ".uninit.retained")]
static RECORD: Record = Record(UnsafeCell::new(MaybeUninit::uninit()));

/// Takes the record of the last run, which is reported only once.
pub fn take() -> Option<LastRun> {
    let mut bytes = [0; RECORD_MAX];
    critical_section::with(|_| {
        for (index, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: within the record. Any value is valid for a byte, and a volatile read takes what is there.
            *byte = unsafe { ptr::read_volatile(RECORD.0.get().cast::<u8>().add(index)) };
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

/// Leaves a record of a crash for the next boot.
pub fn write_crash(crash: CrashRecord) {
    write(&LastRun { uptime_s: clock::uptime_s(), record_calls: false, crash: Some(crash) });
}

fn write_bytes(bytes: &[u8; RECORD_MAX]) {
    critical_section::with(|_| {
        for (index, &byte) in bytes.iter().enumerate() {
            // SAFETY: within the record, of which no reference exists.
            unsafe { ptr::write_volatile(RECORD.0.get().cast::<u8>().add(index), byte) };
        }
    });
}
