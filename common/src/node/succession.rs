//! The leader gives no sign of life: somebody succeeds it before anybody searches for it.
//!
//! A search among heights asks everybody for another way to the leader, and ends only where every link has carried it there and
//! back. But who had a link to the leader and lost it in silence, which nobody objected to, knows more than that the way is
//! gone. So the election is not told of that link yet. The leader's first successor elects itself at once, the second a
//! [`STEP`] later, and so on; everybody else waits longer. Whoever adopts another leader meanwhile, or is told a younger sign of
//! life, tells its election of the broken link, and that is all.
//!
//! ```text
//!              a later leader's Update, or an objection: the link is down, nothing more
//!            ┌──────────────────────────────────────────────────────────────────────► Following
//!   leader's │
//!   link ─► Held ──── until its turn has come: elects itself, the link is down ─────► Leader
//!   lost     │
//!            └──────── the same link is up again: both ends say again what they last said
//! ```
//!
//! Anybody may elect itself at any time ([`Signal::Elect`]): two at once are two elections, and the later one wins.

use super::Node;
use super::hold::Hold;
use crate::election::Election;
use crate::notice::Reason;
use crate::protocol::{Protocol, Signal};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How much longer each successor waits than the one before it: an election of that one has reached it by then.
const STEP: Duration = Duration::from_millis(60);

/// How long everybody else waits, and up to as much again, so that one elects itself before the next would.
const GRACE_MS: u32 = 300;

impl Node {
    /// Whether the election keeps what its peers last told, and so takes a fallen link for a slow one.
    pub(super) fn keeps_states(&self) -> bool {
        matches!(self.engine.protocol(), Election::Height(_) | Election::Hierarchy(_))
    }

    /// Whether a link that fell was the leader's, and nobody is known to have heard the leader lately.
    pub(super) fn is_lost_leader(&self, now: Instant, peer: NodeId, reason: Reason) -> bool {
        let is_silent = matches!(reason, Reason::Silent | Reason::Unacknowledged);
        is_silent && self.leader == Some(peer) && !self.links.was_there(now, peer)
    }

    /// The seat of a leader that is lost.
    pub(super) fn seat(&mut self, now: Instant, leader: NodeId) -> Hold {
        let wait = match self.links.rank() {
            Some(rank) => STEP.times(u32::from(rank)),
            None => Duration::from_millis(u64::from(GRACE_MS + self.links.draw(GRACE_MS))),
        };
        Hold { peer: leader, since: now, until: now + wait, is_seat: true }
    }

    /// Succeeds a lost leader where it is this node's turn; lets go of its link where somebody else has, or it is back.
    pub(super) fn succeed(&mut self, now: Instant) {
        let Hold { peer: leader, since, until, is_seat } = self.hold;
        let is_vacant = self.engine.protocol().leader() == Some(leader) && !self.links.was_there(since, leader);
        if !is_seat || (is_vacant && now < until) {
            return;
        }
        self.hold = Hold::NOBODY;
        // A node that is alone with a lost leader elects itself when it is told.
        if is_vacant && self.engine.peers() != [leader] {
            self.engine.handle_signal(now, Signal::Elect);
        }
        self.engine.handle_link_down(now, leader);
    }
}
