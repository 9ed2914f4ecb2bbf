//! Timers: one slot per kind, so that arming one cannot fail.

use core::fmt::Debug;
use core::hash::Hash;

use crate::limits::TIMERS_MAX;
use crate::time::Instant;

/// The timer kinds of one protocol: a small enum.
pub trait TimerKey: Copy + Debug + Eq + Hash + 'static {
    /// Every kind, in the order in which they fire when they are due together.
    const ALL: &'static [Self];

    /// The index of this kind in [`Self::ALL`].
    fn index(self) -> usize;
}

/// The kinds of a protocol that needs no timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoTimer {}

impl TimerKey for NoTimer {
    const ALL: &'static [Self] = &[];

    fn index(self) -> usize {
        match self {}
    }
}

/// The deadlines of one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimerTable {
    slots: [Option<Instant>; TIMERS_MAX],
}

impl Default for TimerTable {
    fn default() -> Self {
        Self::new()
    }
}

impl TimerTable {
    /// A table with nothing armed.
    pub const fn new() -> Self {
        Self { slots: [None; TIMERS_MAX] }
    }

    /// Arms a timer; one that was armed before is moved.
    pub fn set<T: TimerKey>(&mut self, timer: T, at: Instant) {
        const { assert!(T::ALL.len() <= TIMERS_MAX, "raise TIMERS_MAX for this protocol") };
        if let Some(slot) = self.slots.get_mut(timer.index()) {
            *slot = Some(at);
        }
    }

    pub fn stop<T: TimerKey>(&mut self, timer: T) {
        if let Some(slot) = self.slots.get_mut(timer.index()) {
            *slot = None;
        }
    }

    pub fn next(&self) -> Option<Instant> {
        self.slots.iter().flatten().min().copied()
    }

    /// Disarms every timer that is due at `now` and hands their indices out, so that a handler which arms its own
    /// timer again with no delay waits for the next call instead of spinning in this one.
    pub fn take_due<T: TimerKey>(&mut self, now: Instant) -> impl Iterator<Item = T> + use<T> {
        let mut due = [false; TIMERS_MAX];
        for (slot, is_due) in self.slots.iter_mut().zip(&mut due) {
            if slot.is_some_and(|at| at <= now) {
                *slot = None;
                *is_due = true;
            }
        }
        T::ALL.iter().copied().filter(move |timer| due.get(timer.index()).copied().unwrap_or(false))
    }
}

#[cfg(test)]
mod tests {
    use super::{TimerKey, TimerTable};
    use crate::time::Instant;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Kind {
        A,
        B,
    }

    impl TimerKey for Kind {
        const ALL: &'static [Self] = &[Self::A, Self::B];

        fn index(self) -> usize {
            self as usize
        }
    }

    #[test]
    fn arming_again_moves_the_deadline() {
        let mut table = TimerTable::new();
        table.set(Kind::A, Instant::from_micros(5));
        table.set(Kind::A, Instant::from_micros(9));
        assert_eq!(table.next(), Some(Instant::from_micros(9)));
        table.stop(Kind::A);
        assert_eq!(table.next(), None);
    }

    #[test]
    fn only_what_is_due_fires_and_only_once() {
        let mut table = TimerTable::new();
        table.set(Kind::B, Instant::from_micros(5));
        table.set(Kind::A, Instant::from_micros(7));
        assert!(table.take_due::<Kind>(Instant::from_micros(5)).eq([Kind::B]));
        assert_eq!(table.take_due::<Kind>(Instant::from_micros(5)).count(), 0);
        assert!(table.take_due::<Kind>(Instant::from_micros(8)).eq([Kind::A]));
    }
}
