//! Repairs what cannot be right between the links and the election, whether a memory error or a defect made it so.
//!
//! Once a second the links check themselves. Then the election, or the ring between them, is told of every link that it
//! does not know, and loses those that do not exist. Finally the election checks itself ([`Signal::Audit`]), and
//! neighbours whose hellos contradict what this node has heard from them ([`digest`](crate::link::digest)) are asked to
//! say it again.

use heapless::Vec;

use super::heir::Heir;
use super::hold::Hold;
use super::{FOR_ELECTION, Node};
use crate::limits::{NEIGHBOURS_MAX, TABLE_MAX};
use crate::notice::Reason;
use crate::protocol::{Protocol, Signal};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// The time between two audits.
pub(super) const EVERY: Duration = Duration::from_millis(1_000);

impl Node {
    /// Audits everything if it is time to.
    pub(super) fn audit(&mut self, now: Instant) {
        if self.audit_at > now && self.audit_at <= now + EVERY {
            return;
        }
        self.audit_at = now + EVERY;
        self.links.audit(now);
        self.bound_waits(now);
        self.audit_orders(now);
        self.data.audit(now);
        if self.ring.is_some() {
            self.audit_ring(now);
        } else {
            self.audit_peers(now);
            self.engine.handle_signal(now, Signal::Audit);
            while let Some(peer) = self.links.take_misheard() {
                self.send(now, &|id| id == peer, FOR_ELECTION, &[], false);
            }
        }
    }

    /// Tells the ring which links there are, where it believes otherwise, and has it tell the election again what that does not
    /// know of the ring. What the links are about to tell is left to them.
    fn audit_ring(&mut self, now: Instant) {
        let Some(ring) = &mut self.ring else { return };
        let table = self.links.table();
        for (_, other) in table.iter().filter(|(_, other)| !other.news.up && other.news.down.is_none()) {
            ring.audit_link(now, other.id, other.session.is_up());
        }
        ring.audit_links(now, |id| table.find(id).is_some());
        let leader = self.engine.protocol().leader();
        if leader.is_some_and(|leader| !ring.is_member(leader)) {
            // No member takes a message that names a stranger as leader, so this node could not even begin another
            // election.
            self.engine = self.wanted.engine(self.engine.id(), self.boot, Some(ring.order()));
            self.engine.handle_start(now);
        }
        ring.audit_told(self.engine.peers(), self.engine.protocol().place());
        // The election never learns that a leader is gone that it does not count among its peers. One that has just won may be
        // without a way: others reached it.
        let leader = self.engine.protocol().leader().filter(|&leader| leader != self.engine.id());
        let is_gone = |leader| !ring.is_alive(leader) && !ring.is_awaited(now, leader);
        if leader.is_some_and(|leader| is_gone(leader) && !self.engine.peers().contains(&leader)) {
            self.engine.handle_signal(now, Signal::LeaderLost);
        }
    }

    /// Drops holds, heirs and deadlines that lie further ahead than they can.
    fn bound_waits(&mut self, now: Instant) {
        if !self.hold.is_possible(now) {
            self.hold = Hold::NOBODY;
        }
        if !self.heir.is_possible(now) {
            self.heir = Heir::NOBODY;
        }
        if self.odds_until != Instant::NEVER && self.odds_until > now + super::odds::LATEST {
            self.odds_until = now;
        }
    }

    /// Tells the election which links there are, where it believes otherwise. What the links are about to tell it is left to
    /// them.
    fn audit_peers(&mut self, now: Instant) {
        let table = self.links.table();
        let is_known = |id: NodeId| self.engine.peers().contains(&id);
        let missing: Vec<NodeId, TABLE_MAX, u8> = table
            .linked()
            .filter(|(_, other)| !other.news.up && !is_known(other.id))
            .map(|(_, other)| other.id)
            .collect();
        let is_told = |id: NodeId| {
            let is_falling =
                table.find(id).and_then(|slot| table.get(slot)).is_some_and(|other| other.news.down.is_some());
            is_falling || table.is_linked(id) || self.hold.is_of(id)
        };
        let gone: Vec<NodeId, NEIGHBOURS_MAX, u8> =
            self.engine.peers().iter().copied().filter(|&peer| !is_told(peer)).take(NEIGHBOURS_MAX).collect();
        for peer in gone {
            self.engine.handle_link_down(now, peer);
        }
        for peer in missing {
            // Both ends start over: neither can know what the other has said.
            self.links.end(now, peer, Reason::AtOdds);
        }
    }
}
