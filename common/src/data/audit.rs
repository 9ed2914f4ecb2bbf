//! Repairs state that cannot be right, whether a memory error or a defect made it so.
//!
//! Blocks in a node's custody and blocks that it has logged are in flash and are read again at boot. Everything else is
//! transient: whatever has waited longer than is possible is dropped, because it will be sent again.

use super::Data;
use crate::time::{Duration, Instant};

/// Nothing can wait longer than this.
const AHEAD_MAX: Duration = Duration::from_millis(120_000);

impl Data {
    pub fn audit(&mut self, now: Instant) {
        let latest = now + AHEAD_MAX;
        for until in [&mut self.rest_until, &mut self.pause_until, &mut self.owes_at] {
            if *until > latest {
                *until = now;
            }
        }
        self.learned.audit(latest);
        self.commits.audit(latest);
        self.questions.audit(latest);
        self.reader.audit(now);
    }

    /// Takes over what another life or an earlier time knew of leader, ways, commits and questions. What is in flash stays, and
    /// what the driver or the links are doing.
    #[cfg(feature = "corruption")]
    pub(crate) fn take_memory_of(&mut self, other: Self) {
        // Every field is named, so that nobody adds one without asking whether it heals.
        let Self {
            learned,
            commits,
            questions,
            reader,
            owes_at,
            leader,
            is_alone,
            rest_until,
            pause_until,
            pause_us,
            doubted,
            id: _,
            epoch: _,
            origin: _,
            queue: _,
            marks: _,
            sending: _,
            doing: _,
            rng: _,
            counters: _,
        } = other;
        (self.learned, self.commits, self.questions, self.owes_at) = (learned, commits, questions, owes_at);
        self.reader = reader;
        (self.leader, self.is_alone, self.doubted) = (leader, is_alone, doubted);
        (self.rest_until, self.pause_until, self.pause_us) = (rest_until, pause_until, pause_us);
    }
}
