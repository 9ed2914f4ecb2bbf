//! What the core tells its observers: simulator, test, log or status light.

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::limits::NOTICES_MAX;
use crate::types::NodeId;

/// What an algorithm did in one step. The meaning of each is given by the algorithm's own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
pub enum Event {
    /// An election was begun here.
    Started,
    /// HS: both probes of this phase came back.
    PhaseWon(u8),
    /// Heights: a search for the leader was begun here.
    Searching,
    /// Heights: a search found a dead end here.
    Reflected,
    /// Heights: a search passed through here.
    Propagated,
    /// This node made itself leader.
    ElectedSelf,
    /// A better leader was taken over from this peer.
    Adopted(NodeId),
    /// A peer with a worse leader was answered.
    Replied(NodeId),
    /// A message from a node that is not a neighbour was ignored.
    Ignored(NodeId),
    /// FRLLE: this node found the election decided and declared the winner.
    Declared(NodeId),
    /// FRLLE: this node took the declared winner for its leader.
    Followed(NodeId),
    /// FRLLE: this node has itself heard the leader believed lost, so the election is off.
    HeardAlive(NodeId),
    /// FRLLE: this node was told that the leader believed lost has answered.
    Recovered(NodeId),
    /// An election gave no result in time and was begun again.
    Retried,
    /// A message of an earlier election was refused.
    Stale,
    /// A ring neighbour has no up link, so nothing was sent to it.
    Unsent(NodeId),
    /// What this neighbour says has a time that no message can have now.
    OutOfTime(NodeId),
    /// Heights: this peer tells again and again of a leadership under this node's id that is not this node's. It is followed
    /// for now: another board must have this id.
    Disputed(NodeId),
}

/// Why a link went down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
pub enum Reason {
    /// More was to be sent than the queue holds. A reliable link may not skip a message, so it ends.
    Overrun,
    /// A frame was not acknowledged however often it was sent.
    Unacknowledged,
    /// The peer was silent for too long and did not answer when asked.
    Silent,
    /// Too many of the peer's hellos are lost, or they are too faint.
    Quality,
    /// The peer has begun a new incarnation of this link: it restarted, or took the link down at its end.
    NewIncarnation,
    /// The peer says that it has no such link.
    NoSession,
    /// The peer no longer wants this link.
    Unwilling,
    /// The link was redundant and made room for one to another leader's network.
    MadeRoom,
    /// This node changed its id.
    Renamed,
    /// What the two ends know does not fit together, so the link starts over.
    AtOdds,
}

/// A defect of the core itself: its state and what it sent no longer agree. A simulator fails the run; a board
/// logs it and resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
pub enum Fault {
    /// A handler issued more commands than the outbox holds.
    OutboxOverflow,
    /// A handler sent to a node without an up link.
    NoLink(NodeId),
}

/// Something worth telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
pub enum Notice {
    /// The leader this node follows has changed.
    Leader(Option<NodeId>),
    /// A step of the algorithm.
    Event(Event),
    /// The peer table is full; this node was not let in.
    PeerRefused(NodeId),
    /// The core ended this link; the driver must take the channel down as well.
    LinkEnded(NodeId, Reason),
    /// Bytes from this peer were no message of this protocol and have been dropped.
    BadMessage(NodeId),
    /// A message came from a node without an up link and has been dropped.
    NotAPeer(NodeId),
    LinkUp(NodeId),
    LinkDown(NodeId, Reason),
    /// Another board has this node's id.
    Twin(NodeId),
    /// Two boards that this node hears have one id.
    TwinsHeard(NodeId),
    /// This node took another id, because it heard a board with the same one.
    Renamed(NodeId),
    /// Frames are not protected: anybody in range can read and forge.
    Unprotected,
    /// Every frame of this epoch is used up, or there is no epoch: the node only listens until the driver has stored
    /// another and calls [`Node::handle_epoch`](crate::node::Node::handle_epoch). Said again each second until then.
    EpochNeeded,
    /// The node's neighbours on its ring are now these.
    RingPlace(NodeId, NodeId),
    /// The leader of the ring was not heard for too long.
    LeaderSilent(NodeId),
    /// A defect; see [`Fault`].
    Fault(Fault),
    /// No neighbour has room for a link to this node, so it follows the leader that this one names.
    Guest(NodeId),
    /// This node followed another leader than its neighbours for too long: its election and its links start over.
    AtOdds,
    /// This many notices were lost here because nobody collected them.
    Lost(u16),
}

/// Notices waiting to be collected. Best effort: when it is full the newest is dropped, counted, and the count is
/// itself delivered in place of what was lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoticeQueue {
    waiting: Vec<Notice, NOTICES_MAX, u8>,
    lost: u16,
}

impl NoticeQueue {
    pub const fn new() -> Self {
        Self { waiting: Vec::new(), lost: 0 }
    }

    /// Adds a notice, or counts it as lost. Once something is lost, everything is until the count was collected, so
    /// that the record of the loss stands exactly where the gap is.
    pub fn push(&mut self, notice: Notice) {
        if self.lost > 0 || self.waiting.push(notice).is_err() {
            self.lost = self.lost.saturating_add(1);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.lost == 0
    }

    pub fn pop(&mut self) -> Option<Notice> {
        if !self.waiting.is_empty() {
            return Some(self.waiting.remove(0));
        }
        match core::mem::take(&mut self.lost) {
            0 => None,
            lost => Some(Notice::Lost(lost)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Notice, NoticeQueue};
    use crate::limits::NOTICES_MAX;

    #[test]
    fn loss_is_counted_and_told_where_it_happened() {
        let mut queue = NoticeQueue::new();
        for _ in 0..NOTICES_MAX + 3 {
            queue.push(Notice::Event(Event::Started));
        }
        for _ in 0..NOTICES_MAX {
            assert_eq!(queue.pop(), Some(Notice::Event(Event::Started)));
        }
        queue.push(Notice::Event(Event::Stale));
        assert_eq!(queue.pop(), Some(Notice::Lost(4)), "the late one fell into the same gap");
        assert_eq!(queue.pop(), None);
        queue.push(Notice::Event(Event::Stale));
        assert_eq!(queue.pop(), Some(Notice::Event(Event::Stale)));
    }
}
