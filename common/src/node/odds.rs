//! A node that stays at odds with its neighbours starts over.
//!
//! Linked neighbours that run heights agree on a leader moments after the last Update. If one has refused the other's
//! Update and their hellos still name different leaders long after, something is wrong that no Update will repair, such
//! as a clock that a liar has moved out of the others' reach. A restart would repair it. So the node does what a
//! restart does, with the same epoch: it begins another election and sets up every link again, over which both ends
//! tell their state.

use super::Node;
use super::hold::Hold;
use crate::notice::Notice;
use crate::time::{Duration, Instant};

/// How long neighbours may disagree: many times as long as an election takes.
const AT_ODDS: Duration = Duration::from_millis(5_000);

/// The longest that can be.
pub const LATEST: Duration = Duration::from_millis(8_000);

/// A random delay of up to this much, so that the two ends do not start over at the same moment.
const APART_MS: u32 = 3_000;

impl Node {
    /// The election has refused what a neighbour said.
    pub(super) fn note_refusal(&mut self, now: Instant) {
        if self.odds_until == Instant::NEVER {
            let apart = Duration::from_millis(u64::from(self.links.draw(APART_MS)));
            self.odds_until = now + AT_ODDS + apart;
        }
    }

    /// Starts over if a neighbour was refused long ago and linked neighbours still name other leaders.
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
