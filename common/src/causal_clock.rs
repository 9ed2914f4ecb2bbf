//! Causal clocks (Tbarka 2019, section 2.3): an event has a later time than everything that can have caused it.

use crate::time::Instant;

/// A kind of causal clock. The clock's owner keeps the time: kind and time pack tighter apart than together.
///
/// Times only rise, and start over after 2³² events (or 49 days of perfect milliseconds). So they are compared by how far
/// one is ahead of the other, half of the circle being ahead: a clock has no end that a wrong message could bring near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ClockKind {
    /// Lamport's logical clock: needs nothing but the messages themselves.
    #[default]
    Lamport,
    /// A clock that all nodes share, such as one disciplined by satellite: the driver's time in milliseconds.
    Perfect,
}

impl ClockKind {
    /// The time of an event at a node whose last event was at `time`: one that happened at `now` and, where it is the
    /// receipt of a message, after the sending event at `heard`.
    pub fn advance(self, time: u32, now: Instant, heard: Option<u32>) -> u32 {
        let after = next(heard.map_or(time, |heard| later(time, heard)));
        match self {
            Self::Lamport => after,
            // Two events in one millisecond still differ, and a clock that was set back stays causal.
            Self::Perfect => later(after, u32::try_from(now.as_millis() & u64::from(u32::MAX)).unwrap_or(after)),
        }
    }
}

/// Times further apart than this belong to no common past: nobody counts a thousand million events between two messages.
const NEAR: u32 = 1 << 30;

/// Whether a time is after another.
pub const fn is_after(time: u32, other: u32) -> bool {
    let ahead = time.wrapping_sub(other);
    ahead != 0 && ahead < 1 << 31
}

/// Whether two clocks can have been in touch.
pub const fn is_near(time: u32, other: u32) -> bool {
    time.wrapping_sub(other) <= NEAR || other.wrapping_sub(time) <= NEAR
}

/// The later of two times.
const fn later(time: u32, other: u32) -> u32 {
    if is_after(other, time) { other } else { time }
}

/// The time after this one. It is never 0, which stands for no time where a search has none.
const fn next(time: u32) -> u32 {
    if time == u32::MAX { 1 } else { time + 1 }
}

#[cfg(test)]
mod tests {
    use super::ClockKind::{Lamport, Perfect};
    use super::{is_after, is_near};
    use crate::time::Instant;

    #[test]
    fn lamport_time_passes_what_it_has_heard() {
        let now = Instant::from_millis(99);
        assert_eq!(Lamport.advance(0, now, None), 1);
        assert_eq!(Lamport.advance(1, now, Some(7)), 8);
        assert_eq!(Lamport.advance(8, now, Some(2)), 9);
    }

    #[test]
    fn perfect_time_is_the_drivers_but_always_rises() {
        assert_eq!(Perfect.advance(0, Instant::from_millis(5), None), 5);
        assert_eq!(Perfect.advance(5, Instant::from_millis(5), Some(3)), 6);
        assert_eq!(Perfect.advance(6, Instant::from_millis(20), Some(6)), 20);
    }

    #[test]
    fn time_starts_over_and_goes_on() {
        assert_eq!(Lamport.advance(u32::MAX - 1, Instant::ZERO, Some(u32::MAX)), 1, "0 is no time");
        assert_eq!(Lamport.advance(u32::MAX, Instant::ZERO, None), 1);
        assert_eq!(Lamport.advance(u32::MAX, Instant::ZERO, Some(5)), 6);
        assert_eq!(Lamport.advance(3, Instant::ZERO, Some(u32::MAX)), 4, "that was a moment ago");
        let after_49_days = Instant::from_millis((1 << 32) + 20);
        assert_eq!(Perfect.advance(u32::MAX - 7, after_49_days, None), 20);
        assert!(is_after(2, u32::MAX) && !is_after(u32::MAX, 2) && !is_after(7, 7));
        assert!(is_near(2, u32::MAX) && !is_near(0, 1 << 31));
    }
}
