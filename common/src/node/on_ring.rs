//! A node in ring mode: passes messages and events between the ring keeper, the links and the election.

use super::hold::Hold;
use super::{FOR_RING, Node};
use crate::election::ElectionMsg;
use crate::limits::MESSAGE_MAX;
use crate::notice::{Fault, Notice, Reason};
use crate::protocol::{Protocol, Signal};
use crate::ring::{RingOutput, SendError};
use crate::time::Instant;
use crate::types::NodeId;

/// Pool slots that a node leaves free for passing on the messages of others.
const RESERVED_SLOTS: usize = 8;

impl Node {
    /// Passes everything between ring, election and links until none of them has anything left, or the election's
    /// messages have to wait for room. The election is told nothing new before its last messages are on their way. So a
    /// swarm of members becomes many small bursts, none of which overflows.
    pub(super) fn collect_ring(&mut self, now: Instant) {
        loop {
            let (leader, outcome) = (self.engine.protocol().leader(), self.engine.protocol().outcome());
            let has_room = self.links.room() > RESERVED_SLOTS;
            let Some(ring) = &mut self.ring else { return };
            ring.set_room(has_room);
            ring.set_leader(now, leader);
            ring.set_outcome(outcome);
            if let Some((next, envelope)) = ring.poll_transmit() {
                self.send(now, &|id| id == next, FOR_RING, &envelope, false);
            } else if self.engine.has_words() {
                if !self.pass_on(now) {
                    return;
                }
            } else if let Some(output) = ring.poll_output(now) {
                self.on_ring(now, output);
            } else if self.engine.poll_timeout().is_some_and(|due| due <= now) {
                // It came due while the election had to wait.
                self.engine.handle_timeout(now);
            } else {
                return;
            }
            while let Some(notice) = self.engine.poll_notice() {
                self.notices.push(notice);
            }
        }
    }

    /// A link fell. If it was the leader's, and nobody is known to have heard the leader lately, the leader is
    /// condemned as soon as this node may judge that.
    pub(super) fn doubt_leader(&mut self, now: Instant, peer: NodeId, reason: Reason) {
        if self.is_lost_leader(now, peer, reason) {
            self.hold = Hold { peer, since: now, until: self.links.gone_at(now), is_seat: true };
            self.condemn_leader(now);
        }
    }

    /// Condemns a doubted leader when it is time to, unless somebody has heard it since.
    pub(super) fn condemn_leader(&mut self, now: Instant) {
        let Hold { peer, since, until, .. } = self.hold;
        if until > now {
            return;
        }
        self.hold = Hold::NOBODY;
        if self.leader == Some(peer)
            && !self.links.was_there(since, peer)
            && let Some(ring) = &mut self.ring
        {
            ring.condemn(now, peer);
        }
    }

    /// The leader to follow: the election's or, while that has none, the last one, if it is a living member of the ring. Most
    /// elections that a change of the ring or a lost message begins end with the same leader.
    pub(super) fn leader_to_follow(&self) -> Option<NodeId> {
        let keeps = |leader: &NodeId| self.ring.as_ref().is_some_and(|ring| ring.is_alive(*leader));
        self.engine.protocol().leader().or_else(|| self.leader.filter(keeps))
    }

    /// The member of its ring that this node watches, for checkers.
    pub fn watched(&self) -> Option<NodeId> {
        self.ring.as_ref()?.watched()
    }

    /// Gives the election's next message to the ring; false where there was none or no room for it.
    fn pass_on(&mut self, now: Instant) -> bool {
        let Some(ring) = self.ring.as_mut().filter(|ring| ring.can_send()) else { return false };
        let goes_round = self.engine.protocol().goes_round();
        let mut buf = [0; MESSAGE_MAX];
        let Some(transmit) = self.engine.poll_transmit(&mut buf) else { return false };
        match ring.send(now, transmit.to, transmit.bytes, goes_round) {
            Ok(()) => self.links.defer_hello(now),
            // The member is just being lost; the election will learn of that.
            Err(SendError::NoRoute) => {}
            Err(SendError::Full | SendError::TooLong) => self.notices.push(Notice::Fault(Fault::OutboxOverflow)),
        }
        true
    }

    fn on_ring(&mut self, now: Instant, output: RingOutput) {
        match output {
            RingOutput::MemberUp(member) => {
                // The engine has room for every member, so this is a defect.
                if self.engine.handle_link_up(now, member).is_err() {
                    self.notices.push(Notice::PeerRefused(member));
                }
            }
            RingOutput::MemberDown(member) => self.engine.handle_link_down(now, member),
            RingOutput::Place(place) => {
                self.notices.push(Notice::RingPlace(place.left, place.right));
                self.engine.handle_signal(now, Signal::Ring(place));
            }
            RingOutput::Deliver(from, bytes) => {
                // The wave of an election takes a fraction of a hello interval, if hellos let it pass.
                self.links.defer_hello(now);
                let is_member = |id| self.ring.as_ref().is_some_and(|ring| ring.is_member(id));
                match postcard::take_from_bytes::<ElectionMsg>(&bytes) {
                    Ok((msg, [])) if msg.named().into_iter().flatten().all(is_member) => {
                        self.engine.handle_decoded(now, from, msg);
                    }
                    _ => self.notices.push(Notice::BadMessage(from)),
                }
            }
            RingOutput::LeaderSilent(leader) => {
                self.notices.push(Notice::LeaderSilent(leader));
                self.engine.handle_signal(now, Signal::LeaderLost);
            }
            RingOutput::Outcome(outcome) => self.engine.handle_signal(now, Signal::Outcome(outcome)),
            RingOutput::Disturbed => self.engine.handle_signal(now, Signal::Disturbed),
            RingOutput::Disputed(_) => self.engine.handle_signal(now, Signal::LeaderLost),
        }
    }
}
