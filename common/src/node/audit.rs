//! Puts right what cannot be right between the links and the election, whatever made it so: memory that flipped, or a defect.
//!
//! Once a second the links look at themselves; here the election, or the ring between them, is told of every link that it does not
//! know of, and loses those that are not there. Then the election looks at itself ([`Signal::Audit`]), and neighbours whose hellos do not fit what this node
//! has heard of them ([`digest`](crate::link::digest)) are asked to say it again.

use heapless::Vec;

use super::heir::Heir;
use super::hold::Hold;
use super::{FOR_ELECTION, Node};
use crate::limits::{NEIGHBOURS_MAX, TABLE_MAX};
use crate::notice::Reason;
use crate::protocol::{Protocol, Signal};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How far apart two looks are.
pub(super) const EVERY: Duration = Duration::from_millis(1_000);

impl Node {
    /// Looks at everything where it is time to.
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
            // Nobody of this ring takes a message that names it, so this node could not even begin another election.
            self.engine = self.wanted.engine(self.engine.id(), self.boot, Some(ring.order()));
            self.engine.handle_start(now);
        }
        ring.audit_told(self.engine.peers(), self.engine.protocol().place());
        // Of a leader that the election does not count among its peers, it would never learn that it is gone.
        let leader = self.engine.protocol().leader().filter(|&leader| leader != self.engine.id());
        if leader.is_some_and(|leader| !ring.is_alive(leader) && !self.engine.peers().contains(&leader)) {
            self.engine.handle_signal(now, Signal::LeaderLost);
        }
    }

    /// Forgets what is waited for longer than it can be.
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
            // Both ends begin anew: neither can know what the other has said.
            self.links.end(now, peer, Reason::AtOdds);
        }
    }
}
