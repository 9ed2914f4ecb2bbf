//! Which parts of the firmware make progress: counts that decide whether the watchdog is reloaded.

use core::sync::atomic::{AtomicU32, Ordering};

use common::board::watchdog::{PARTS, Part};

static COUNTS: [AtomicU32; PARTS] = [const { AtomicU32::new(0) }; PARTS];

/// Counts progress of a part.
pub fn tick(part: Part) {
    let counts = Part::ALL.iter().zip(&COUNTS);
    for (_, count) in counts.filter(|&(&other, _)| other == part) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// In the order of [`Part::ALL`].
pub fn counts() -> [u32; PARTS] {
    COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed))
}
