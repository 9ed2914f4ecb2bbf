//! Whether the election should be begun again because something was lost.
//!
//! Owns the pace. Losses come in swarms, since one broken link or full queue loses many messages; one new election answers
//! all of them, if it comes after the last.

use super::{SETTLE, take_due};
use crate::time::{Duration, Instant};

/// The least time between two disturbances.
pub const DISTURB_GAP: Duration = Duration::from_millis(250);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Disturbance {
    /// When the next disturbance is raised.
    raise_at: Instant,
    raised_at: Instant,
}

impl Disturbance {
    pub fn new() -> Self {
        Self { raise_at: Instant::NEVER, raised_at: Instant::ZERO }
    }

    /// Something was lost: the election is to begin again, soon and not too often.
    pub fn disturb(&mut self, now: Instant) {
        if self.raise_at == Instant::NEVER {
            self.raise_at = (now + SETTLE).max(self.raised_at + DISTURB_GAP);
        }
    }

    pub fn poll_timeout(&self) -> Instant {
        self.raise_at
    }

    /// Whether a disturbance is due.
    pub fn timeout(&mut self, now: Instant) -> bool {
        let is_due = take_due(&mut self.raise_at, now);
        if is_due {
            self.raised_at = now;
        }
        is_due
    }
}
