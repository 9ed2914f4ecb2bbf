//! A link has fallen, and the election is not told yet. To it that is no more than a slow channel: once the same link is up
//! again, both ends say anew what they last said.
//!
//! *The last link.* A node without links elects itself, as it must: and since the last elected wins, it unseats the leader of
//! everybody else as soon as it has a link again. Most last links that fall are back within a second, or another is up by
//! then. So the election hears of the fall only after [`GRACE`]; another link counts once its first message has come. A
//! neighbour that has been silent for twice as long gets none. The election waits
//! for longer while a neighbour that does have links is heard to follow the same leader: then nothing is wrong with that
//! leader, and a link will come. What it said before the fall does not count, or a node that has lost everybody would follow a
//! leader for as long as it remembers them. (Neighbours without links do not count, so nobody can keep a leader alive by
//! hearsay.)
//!
//! *The leader's link,* lost in silence: see [`succession`](super::succession).

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

/// The neighbour whose link has fallen, until the election is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub(super) peer: NodeId,
    /// When its link fell.
    pub(super) since: Instant,
    /// Never, where nobody is held.
    pub(super) until: Instant,
    /// Whether it was the leader's link that fell, and not the last one.
    pub(super) is_seat: bool,
}

impl Hold {
    pub const NOBODY: Self = Self { peer: NodeId(0), since: Instant::ZERO, until: Instant::NEVER, is_seat: false };

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
    /// Whether a link that has fallen was the last, or led to the leader, so that the election need not be told at once.
    pub(super) fn hold(&mut self, now: Instant, peer: NodeId, reason: Reason) -> bool {
        let is_known = self.engine.peers().contains(&peer);
        let is_last = is_known && !self.has_other(peer) && reason != Reason::Renamed && !self.is_long_gone(now, peer);
        if self.keeps_states() && self.is_lost_leader(now, peer, reason) {
            self.hold = self.seat(now, peer);
        } else if self.keeps_states() && is_last {
            self.hold = Hold { peer, since: now, until: now + GRACE, is_seat: false };
        }
        self.hold.is_of(peer)
    }

    /// Whether the election knows the state of another neighbour than this one. One whose link is up and that has said nothing yet
    /// is none: in a crowd its first message may take seconds.
    fn has_other(&self, peer: NodeId) -> bool {
        match self.engine.protocol() {
            Election::Height(height) => height.neighbours().any(|other| other.id != peer),
            Election::Hierarchy(hierarchy) => hierarchy.neighbours().any(|other| other.id != peer),
            _ => self.engine.peers() != [peer],
        }
    }

    /// Whether nothing was heard of a neighbour for so long that its link will not be back in a moment.
    fn is_long_gone(&self, now: Instant, peer: NodeId) -> bool {
        let table = self.links.table();
        let neighbour = table.find(peer).and_then(|slot| table.get(slot));
        neighbour.is_some_and(|neighbour| now.since(neighbour.heard_at) > GRACE.times(2))
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

    /// Tells the election of a last link where it is time to, or another neighbour `has_spoken`.
    pub(super) fn let_go(&mut self, now: Instant, has_spoken: bool) {
        let Hold { peer, since, until, is_seat } = self.hold;
        if is_seat {
            return;
        }
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
