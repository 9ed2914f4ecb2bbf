//! The last link of a node has fallen, and the election is not told yet.
//!
//! A node without links elects itself, as it must: and since the last elected wins, it unseats the leader of everybody else
//! as soon as it has a link again. Most last links that fall are back within a second, or another is up by then. So the
//! election hears of the fall only after [`GRACE`]. To it that is no more than a slow channel: once the same link is up
//! again, both ends say anew what they last said; another link counts once its first message has come. It waits for longer
//! while a neighbour that does have links is heard to follow the same leader: then nothing is wrong with that leader, and a
//! link will come. What it said before the fall does not count, or a node that has lost everybody would follow a leader for
//! as long as it remembers them. (Neighbours without links do not count, so nobody can keep a leader alive by hearsay.)

use super::Node;
use crate::election::Election;
use crate::notice::Reason;
use crate::protocol::Signal;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How long a node without links still counts on the last one: the time that a new link takes where frames are lost.
const GRACE: Duration = Duration::from_millis(2_000);

/// The most that it waits because of what it hears. Whoever hears others and is not heard by them gets no link at all.
const HELD_MAX: Duration = Duration::from_millis(10_000);

/// The neighbour whose link was the last, until the election is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    peer: NodeId,
    /// When its link fell.
    since: Instant,
    /// Never, where nobody is held.
    until: Instant,
}

impl Hold {
    pub const NOBODY: Self = Self { peer: NodeId(0), since: Instant::ZERO, until: Instant::NEVER };

    /// When the election is told; never, where it has been.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Whether it can be held at this time.
    pub fn is_possible(&self, now: Instant) -> bool {
        self.until == Instant::NEVER || (self.since <= now && self.until <= now + GRACE)
    }

    pub fn is_of(&self, peer: NodeId) -> bool {
        self.until != Instant::NEVER && self.peer == peer
    }
}

impl Node {
    /// Whether a link that has fallen was the last, so that the election need not be told at once. The leader itself is not
    /// waited for where it gave no answer: it is gone.
    pub(super) fn hold(&mut self, now: Instant, peer: NodeId, reason: Reason) -> bool {
        let keeps_states = matches!(self.engine.protocol(), Election::Height(_) | Election::Hierarchy(_));
        let is_gone = self.leader == Some(peer) && matches!(reason, Reason::Silent | Reason::Unacknowledged);
        let is_last = self.engine.peers() == [peer];
        let is_held = keeps_states && is_last && !is_gone && reason != Reason::Renamed;
        if is_held {
            self.hold = Hold { peer, since: now, until: now + GRACE };
        }
        is_held
    }

    /// The link of this neighbour is up again before the election was told of its fall.
    pub(super) fn is_held_again(&mut self, now: Instant, peer: NodeId) -> bool {
        let is_held = self.hold.is_of(peer);
        if is_held {
            self.hold = Hold::NOBODY;
            self.engine.handle_signal(now, Signal::Resend);
        }
        is_held
    }

    /// Tells the election where it is time to, or another neighbour `has_spoken`.
    pub(super) fn let_go(&mut self, now: Instant, has_spoken: bool) {
        let Hold { peer, since, until } = self.hold;
        let is_over = until <= now;
        let may_wait = now.since(since) < HELD_MAX;
        if is_over && may_wait && self.leader.is_some_and(|leader| self.links.is_followed(now, since, leader)) {
            self.hold.until = now + GRACE;
        } else if until != Instant::NEVER && (has_spoken || is_over) {
            self.hold = Hold::NOBODY;
            self.engine.handle_link_down(now, peer);
        }
    }
}
