//! Whether the election should be begun again because something was lost.
//!
//! Owns the pace. Losses come in bursts, since one broken link or full queue loses many messages; one new election
//! makes up for all of them, if it comes after the last.

use super::audit::bound;
use super::{SETTLE, take_due};
use crate::time::{Duration, Instant};

/// The least time between two disturbances. It doubles with each one that follows within `CALM` gaps of the one before,
/// up to `DOUBLINGS_MAX` times: where elections themselves fill the channel and so lose messages, more of them would
/// only make it worse.
pub const DISTURB_GAP: Duration = Duration::from_millis(150);

/// What each member adds to it: an election has to go round.
const DISTURB_HOP: Duration = Duration::from_millis(8);

const CALM: u32 = 4;

const DOUBLINGS_MAX: u8 = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Disturbance {
    /// When the next disturbance is raised.
    raise_at: Instant,
    raised_at: Instant,
    /// How long an election takes, and so the least time between two that this node starts.
    gap: Duration,
    doublings: u8,
}

impl Disturbance {
    pub fn new(ring_size: usize) -> Self {
        let gap = DISTURB_GAP + DISTURB_HOP.times(u32::try_from(ring_size).unwrap_or(u32::MAX));
        Self { raise_at: Instant::NEVER, raised_at: Instant::ZERO, gap, doublings: 0 }
    }

    /// Something was lost: the election is to begin again, soon but not too often.
    pub fn disturb(&mut self, now: Instant) {
        if self.raise_at == Instant::NEVER {
            self.raise_at = self.next(now + SETTLE);
        }
    }

    /// The earliest time, not before this one, at which another election may be started.
    pub fn next(&self, from: Instant) -> Instant {
        if self.raised_at == Instant::ZERO {
            return from;
        }
        from.max(self.raised_at + self.gap.times(1 << u32::from(self.doublings.min(DOUBLINGS_MAX))))
    }

    /// An election was started, for this or any other reason.
    pub fn note(&mut self, now: Instant) {
        let calm = self.gap.times(CALM << u32::from(self.doublings.min(DOUBLINGS_MAX)));
        let is_calm = self.raised_at == Instant::ZERO || now >= self.raised_at + calm;
        self.doublings = if is_calm { 0 } else { self.doublings.saturating_add(1).min(DOUBLINGS_MAX) };
        self.raised_at = now;
    }

    /// See [`RingKeeper::audit`](super::RingKeeper).
    pub fn audit(&mut self, now: Instant) {
        bound(&mut self.raise_at, now);
        self.raised_at = self.raised_at.min(now);
    }

    /// Any state, for the test that each of them heals.
    #[cfg(test)]
    pub fn corrupt(&mut self, next: Instant, last: Instant, doublings: u8) {
        (self.raise_at, self.raised_at, self.doublings) = (next, last, doublings);
    }

    pub fn poll_timeout(&self) -> Instant {
        self.raise_at
    }

    /// Whether a disturbance is due.
    pub fn timeout(&mut self, now: Instant) -> bool {
        let is_due = take_due(&mut self.raise_at, now);
        if is_due {
            self.note(now);
        }
        is_due
    }
}
