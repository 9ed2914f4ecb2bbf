//! A node that stays at odds with its neighbours begins anew.
//!
//! Linked neighbours that run heights agree on a leader within moments of the last Update. Where one has refused the other's
//! Update, and hellos still name different leaders long after, something is wrong that no Update will mend: a clock that a
//! liar has moved out of reach of the others. A restart would mend it; so the node does what a restart does, with the same
//! epoch: another election, and every link anew, over which everybody says what it is.

use super::Node;
use super::hold::Hold;
use crate::notice::Notice;
use crate::time::{Duration, Instant};

/// How long neighbours may disagree: many times what an election takes.
const AT_ODDS: Duration = Duration::from_millis(12_000);

/// The longest that can be.
pub const LATEST: Duration = Duration::from_millis(16_000);

/// Up to this much longer, so that the two ends do not begin anew at the same moment.
const APART_MS: u32 = 4_000;

impl Node {
    /// The election has refused what a neighbour said.
    pub(super) fn note_refusal(&mut self, now: Instant) {
        if self.odds_until == Instant::NEVER {
            let apart = Duration::from_millis(u64::from(self.links.draw(APART_MS)));
            self.odds_until = now + AT_ODDS + apart;
        }
    }

    /// Begins anew where a neighbour was refused long ago and linked ones still name other leaders.
    pub(super) fn watch_odds(&mut self, now: Instant) {
        if self.odds_until > now {
            return;
        }
        self.odds_until = Instant::NEVER;
        if self.links.is_at_odds() {
            self.notices.push(Notice::AtOdds);
            self.links.restart(now);
            self.begin_anew(now);
        }
    }

    /// Begins the election as after a restart; every link is down, or about to be.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        while self.links.poll_event().is_some() {}
        // Nobody else hears that the links are down.
        self.orders.audit(now, &[]);
        self.hold = Hold::NOBODY;
        self.engine = self.wanted.engine(self.id(), self.boot, None);
        self.engine.handle_start(now);
        self.collect(now);
    }
}
