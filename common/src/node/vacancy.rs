//! The leader gives no sign of life: those that had a link to it do not wait for a search to come back.
//!
//! A search among heights asks everybody for another way to the leader, and ends only where every link has carried it there and
//! back. Links that fail for a moment now and then, and rooms full of nodes, make that slow. But who had a link to the leader
//! and lost it in silence knows more than that the way is gone. It says so in a hello; whoever has a younger sign of life of
//! the leader objects with a hello of its own; and where nobody does, it elects itself. Anybody may do that at any time
//! ([`Signal::Elect`]): two at once are two elections, and the later one wins. The search goes on as ever, and is moot once
//! there is a later election.

use super::Node;
use crate::election::Election;
use crate::notice::Reason;
use crate::protocol::{Protocol, Signal};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How long others have to object, and up to as much again, so that one elects itself before the next would.
const OBJECTION_MS: u32 = 300;

/// The seat of a leader that this node has lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vacancy {
    leader: NodeId,
    /// Never, where no leader was lost.
    at: Instant,
}

impl Vacancy {
    pub const NONE: Self = Self { leader: NodeId(0), at: Instant::NEVER };

    /// Whether it can be waited for at this time.
    pub fn is_possible(&self, now: Instant) -> bool {
        self.at == Instant::NEVER || self.at <= now + Duration::from_millis(2 * u64::from(OBJECTION_MS))
    }

    /// When it is to be filled.
    pub fn at(&self) -> Instant {
        self.at
    }
}

impl Node {
    /// A link has fallen: where it was the leader's, and nothing was heard of it any more, its seat may be vacant.
    pub(super) fn note_vacancy(&mut self, now: Instant, peer: NodeId, reason: Reason) {
        let has_heights = matches!(self.engine.protocol(), Election::Height(_) | Election::Hierarchy(_));
        let is_silent = matches!(reason, Reason::Silent | Reason::Unacknowledged);
        if has_heights && is_silent && self.leader == Some(peer) {
            let wait = self.links.draw(OBJECTION_MS) + OBJECTION_MS;
            self.vacancy = Vacancy { leader: peer, at: now + Duration::from_millis(u64::from(wait)) };
        }
    }

    /// Elects itself where it is time to, the leader is still the same, and nobody has vouched for it.
    pub(super) fn fill_vacancy(&mut self, now: Instant) {
        let Vacancy { leader, at } = self.vacancy;
        if at > now {
            return;
        }
        self.vacancy = Vacancy::NONE;
        let is_followed = self.engine.protocol().leader() == Some(leader);
        let has_links = !self.engine.peers().is_empty();
        if is_followed && has_links && !self.links.is_lively(now, leader) {
            self.engine.handle_signal(now, Signal::Elect);
        }
    }
}
