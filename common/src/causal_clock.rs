//! Causal clocks (Tbarka 2019, section 2.3): an event has a later time than everything that can have caused it.

use crate::time::Instant;

/// A kind of causal clock. The clock's owner keeps the time: kind and time pack tighter apart than together.
///
/// Times only rise. They saturate after 2³² events (or 49 days of perfect milliseconds); a board that comes near restarts
/// into a fresh epoch.
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
        let after = time.max(heard.unwrap_or(0)).saturating_add(1);
        match self {
            Self::Lamport => after,
            // Two events in one millisecond still differ, and a clock that was set back stays causal.
            Self::Perfect => after.max(u32::try_from(now.as_millis()).unwrap_or(u32::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ClockKind::{Lamport, Perfect};
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
    fn the_end_of_time_holds_still() {
        assert_eq!(Lamport.advance(3, Instant::ZERO, Some(u32::MAX)), u32::MAX);
        assert_eq!(Lamport.advance(u32::MAX, Instant::ZERO, None), u32::MAX);
        let too_late = Instant::from_millis(u64::from(u32::MAX) + 1);
        assert_eq!(Perfect.advance(3, too_late, None), u32::MAX);
    }
}
