//! Whether the election should be begun again because something was lost.
//!
//! Owns the pace. Losses come in swarms, since one broken link or full queue loses many messages; one new election answers
//! all of them, if it comes after the last.

use super::{SETTLE, take_due};
use crate::time::{Duration, Instant};

/// The least time between two disturbances. It doubles with each one that comes within [`CALM`] times the gap of the one before,
/// up to [`DOUBLINGS_MAX`] times: where elections lose messages because elections fill the channel, fewer of them come through.
pub const DISTURB_GAP: Duration = Duration::from_millis(250);

const CALM: u32 = 8;

const DOUBLINGS_MAX: u8 = 4;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Disturbance {
    /// When the next disturbance is raised.
    raise_at: Instant,
    raised_at: Instant,
    doublings: u8,
}

impl Disturbance {
    pub fn new() -> Self {
        Self { raise_at: Instant::NEVER, raised_at: Instant::ZERO, doublings: 0 }
    }

    /// Something was lost: the election is to begin again, soon and not too often.
    pub fn disturb(&mut self, now: Instant) {
        if self.raise_at == Instant::NEVER {
            let gap = DISTURB_GAP.times(1 << self.doublings.min(DOUBLINGS_MAX));
            let is_calm = now >= self.raised_at + gap.times(CALM);
            self.doublings = if is_calm { 0 } else { self.doublings };
            self.raise_at = (now + SETTLE).max(self.raised_at + gap);
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
            self.doublings = self.doublings.saturating_add(1).min(DOUBLINGS_MAX);
        }
        is_due
    }
}
