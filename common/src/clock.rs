//! Causal clocks (seed 001, section 2.3): whatever an event can have caused has a later time.

use crate::time::Instant;

/// Which causal clock a node keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ClockKind {
    /// Lamport's logical clock: needs nothing but the messages themselves.
    #[default]
    Lamport,
    /// A clock that all nodes share, such as one disciplined by satellite: the driver's time in milliseconds.
    Perfect,
}

/// A causal clock. Its values only rise. They saturate after 2³² events (or 49 days of perfect milliseconds); a
/// board that comes near restarts into a fresh epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CausalClock {
    kind: ClockKind,
    time: u32,
}

impl CausalClock {
    /// A clock at zero.
    pub const fn new(kind: ClockKind) -> Self {
        Self { kind, time: 0 }
    }

    /// The time of the last event.
    pub fn time(&self) -> u32 {
        self.time
    }

    /// Moves the clock for an event at this node: one that happened at `now` and, where it is the receipt of a
    /// message, after the sending event at `heard`.
    pub fn advance(&mut self, now: Instant, heard: Option<u32>) -> u32 {
        let after = self.time.max(heard.unwrap_or(0)).saturating_add(1);
        self.time = match self.kind {
            ClockKind::Lamport => after,
            // Two events in one millisecond still differ, and a clock that was set back stays causal.
            ClockKind::Perfect => after.max(u32::try_from(now.as_millis()).unwrap_or(u32::MAX)),
        };
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::{CausalClock, ClockKind};
    use crate::time::Instant;

    #[test]
    fn lamport_time_passes_what_it_has_heard() {
        let mut clock = CausalClock::new(ClockKind::Lamport);
        assert_eq!(clock.advance(Instant::from_millis(99), None), 1);
        assert_eq!(clock.advance(Instant::from_millis(99), Some(7)), 8);
        assert_eq!(clock.advance(Instant::from_millis(99), Some(2)), 9);
    }

    #[test]
    fn perfect_time_is_the_drivers_but_always_rises() {
        let mut clock = CausalClock::new(ClockKind::Perfect);
        assert_eq!(clock.advance(Instant::from_millis(5), None), 5);
        assert_eq!(clock.advance(Instant::from_millis(5), Some(3)), 6);
        assert_eq!(clock.advance(Instant::from_millis(20), Some(6)), 20);
    }

    #[test]
    fn the_end_of_time_holds_still() {
        let mut clock = CausalClock::new(ClockKind::Lamport);
        assert_eq!(clock.advance(Instant::ZERO, Some(u32::MAX)), u32::MAX);
        assert_eq!(clock.advance(Instant::ZERO, None), u32::MAX);
    }
}
