//! Who made progress: counts that the watchdog's keeper looks at.

use core::sync::atomic::{AtomicU32, Ordering};

use common::board::watchdog::{PARTS, Part};

static COUNTS: [AtomicU32; PARTS] = [const { AtomicU32::new(0) }; PARTS];

/// This part got somewhere.
pub fn tick(part: Part) {
    let places = Part::ALL.iter().zip(&COUNTS);
    for (_, count) in places.filter(|&(&other, _)| other == part) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// All counts, in the order of [`Part::ALL`].
pub fn counts() -> [u32; PARTS] {
    COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed))
}
