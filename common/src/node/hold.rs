//! Holds back the news of a fallen link from the election. To the election, a held link is no more than a slow channel:
//! once the same link is up again, both ends repeat what they last said.
//!
//! *The last link.* A node without links elects itself, as it must, and since the last elected wins, it unseats
//! everybody else's leader as soon as it has a link again. Most last links that fall are back within a second, or
//! another is up by then. So the election hears of the fall only after [`GRACE`]; another link counts once its first
//! message has come. A neighbour that has been silent for twice as long gets no grace. The election waits longer while
//! a neighbour that has links is heard to follow the same leader: then nothing is wrong with that leader, and a link
//! will come. What the neighbour said before the fall does not count, or a node that has lost everybody would follow
//! its leader for as long as it remembers them. (Neighbours without links do not count either, so hearsay alone keeps
//! no leader alive.)
//!
//! *The last way.* A node with other neighbours, none of them nearer to the leader, searches for another way. If these
//! few have none either, they elect one of themselves, who unseats everybody else's leader as soon as they have a link
//! to the rest. In a crowd, links are slow to come and small islands are common. So a node that hears of the leader
//! itself, by a sign of life that relaying never makes younger, counts on that link for as long: nothing is wrong with
//! the leader, and a way will come.
//!
//! *The leader's link,* lost in silence: see [`succession`](super::succession).

use super::Node;
use crate::election::Election;
use crate::notice::Reason;
use crate::protocol::{Protocol, Signal};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How long a node without links still counts on the last one: as long as a new link takes where frames are lost.
const GRACE: Duration = Duration::from_millis(2_000);

/// The longest wait because of what is heard. It is limited because a node that hears others but is not heard by them
/// never gets a link.
const HELD_MAX: Duration = Duration::from_millis(10_000);

/// A node that has heard of the leader within this time knows that it is there. In a crowd hellos are rarer, and what they
/// tell of the leader is older, by as many doublings, up to the age that a hello can tell.
const HEARD: Duration = Duration::from_millis(1_000);
const HEARD_DOUBLINGS_MAX: u8 = 2;

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

    /// When the election is told; never if it has been told.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Whether this can be true of a hold at this time.
    pub fn is_possible(&self, now: Instant) -> bool {
        self.until == Instant::NEVER || (self.since <= now && self.until <= now + GRACE)
    }

    /// Whether it was the last link or the last way, so that another is wanted.
    pub fn is_for_way(&self) -> bool {
        self.until != Instant::NEVER && !self.is_seat
    }

    pub fn is_of(&self, peer: NodeId) -> bool {
        self.until != Instant::NEVER && self.peer == peer
    }
}

impl Node {
    /// Whether a link that has fallen was the last, or led to the leader, so that the election need not be told at once.
    pub(super) fn hold(&mut self, now: Instant, peer: NodeId, reason: Reason) -> bool {
        let is_known = self.engine.peers().contains(&peer);
        let is_last = !self.has_other(peer) && !self.is_long_gone(now, peer) || self.is_last_way(now, peer);
        let is_last = is_last && is_known && reason != Reason::Renamed;
        if self.keeps_states() && self.is_lost_leader(now, peer, reason) {
            self.hold = self.seat(now, peer);
        } else if self.keeps_states() && is_last {
            self.hold = Hold { peer, since: now, until: now + GRACE, is_seat: false };
        }
        self.hold.is_of(peer)
    }

    /// Whether the election knows the state of any neighbour but this one. A neighbour whose link is up but that has
    /// not spoken yet does not count: in a crowd its first message may take seconds.
    pub(super) fn has_other(&self, peer: NodeId) -> bool {
        match self.engine.protocol() {
            Election::Height(height) => height.neighbours().any(|other| other.id != peer),
            Election::Hierarchy(hierarchy) => hierarchy.neighbours().any(|other| other.id != peer),
            _ => self.engine.peers() != [peer],
        }
    }

    /// Whether no other neighbour than this one is nearer to a leader that is known to be there.
    fn is_last_way(&self, now: Instant, peer: NodeId) -> bool {
        let mut is_only = true;
        let mut each = |id: NodeId, _| is_only &= id == peer;
        match self.engine.protocol() {
            Election::Height(height) => height.lower_neighbours(&mut each),
            Election::Hierarchy(hierarchy) => hierarchy.lower_neighbours(&mut each),
            _ => return false,
        }
        let leader = self.engine.protocol().leader().filter(|&leader| leader != peer);
        is_only && leader.is_some_and(|leader| self.is_heard(now, leader))
    }

    /// Whether a leader other than this node has just given a sign of life.
    pub(super) fn is_heard(&self, now: Instant, leader: NodeId) -> bool {
        leader != self.id() && self.links.was_there(now - heard_within(self.links.slower()), leader)
    }

    /// Whether a neighbour has been silent for so long that its link will not be back in a moment.
    fn is_long_gone(&self, now: Instant, peer: NodeId) -> bool {
        let table = self.links.table();
        let neighbour = table.find(peer).and_then(|slot| table.get(slot));
        neighbour.is_some_and(|neighbour| now.since(neighbour.heard_at) > GRACE.times(2))
    }

    /// This neighbour's link is up again before the election was told of its fall.
    pub(super) fn is_held_again(&mut self, now: Instant, peer: NodeId) -> bool {
        let is_held = self.hold.is_of(peer);
        if is_held {
            self.hold = Hold::NOBODY;
            self.engine.handle_signal(now, Signal::Resend);
        }
        is_held
    }

    /// Tells the election of a held link if it is time to, or if another neighbour `has_spoken`.
    pub(super) fn let_go(&mut self, now: Instant, has_spoken: bool) {
        let Hold { peer, since, until, is_seat } = self.hold;
        if is_seat {
            return;
        }
        let is_over = until <= now;
        if until == Instant::NEVER || !(has_spoken || is_over) {
            return;
        }
        let may_wait = now.since(since) < HELD_MAX;
        let is_followed = self.leader.is_some_and(|leader| self.links.is_followed(now, since, leader));
        let is_wanted = self.is_last_way(now, peer) || is_over && is_followed && !self.has_other(peer);
        if may_wait && is_wanted {
            self.hold.until = until.max(now + GRACE);
        } else {
            self.hold = Hold::NOBODY;
            self.engine.handle_link_down(now, peer);
        }
    }
}

/// How old a sign of life may be, where hellos are the rarer by so many doublings.
fn heard_within(slower: u8) -> Duration {
    HEARD.times(1 << slower.min(HEARD_DOUBLINGS_MAX))
}

#[cfg(test)]
mod tests {
    use super::{Duration, heard_within};
    use crate::link::SLOWER_MAX;

    #[test]
    fn a_sign_of_life_may_be_the_older_the_rarer_hellos_are_up_to_what_a_hello_can_tell() {
        let [alone, crowded, hall] = [0, 1, SLOWER_MAX].map(heard_within);
        assert_eq!((alone, crowded), (Duration::from_millis(1_000), Duration::from_millis(2_000)));
        assert!(hall > crowded && hall <= Duration::from_millis(255 * 16), "{hall:?}");
    }
}
