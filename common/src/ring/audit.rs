//! Repairs state that cannot be right, whether a memory error or a defect made it so.
//!
//! Runs once per hello. Everything in a keeper either follows from what neighbours keep telling, or is checked here:
//! deadlines that lie further ahead than possible, routes over links that are down, members that count as alive without
//! a route and without being waited for. So any state heals within a few hellos; only a route whose number never
//! becomes newer lasts as long as [`routes`](super::routes) tolerates that.

use super::RingKeeper;
use crate::members::{Members, Position};
use crate::time::{Duration, Instant};
use crate::types::{NodeId, RingPlace};

/// No deadline of the keeper's lies further ahead, except those that are bounded where they are set.
const AHEAD_MAX: Duration = Duration::from_millis(10_000);

impl RingKeeper {
    /// Whether the link to a neighbour is up, as the links themselves know it.
    pub fn audit_link(&mut self, now: Instant, peer: NodeId, is_up: bool) {
        let Some(position) = self.roster.position_of_other(peer) else { return };
        match (is_up, self.linked.contains(position)) {
            (true, false) => self.link_up(now, peer),
            (false, true) => self.link_down(now, peer),
            _ => {}
        }
    }

    /// Gives up the links to nodes that the links themselves do not know.
    pub fn audit_links(&mut self, now: Instant, is_known: impl Fn(NodeId) -> bool) {
        for position in self.linked.iter() {
            if let Some(peer) = self.roster.id_at(position).filter(|&peer| !is_known(peer)) {
                self.link_down(now, peer);
            }
        }
    }

    /// Compares what the election believes of the ring (who is alive and, if it asks, between whom this node stands)
    /// with the facts, and tells it again if they differ.
    pub fn audit_told(&mut self, alive: &[NodeId], place: Option<RingPlace>) {
        self.roster.audit_told(alive, place);
    }

    pub(super) fn audit(&mut self, now: Instant) {
        let (own, size) = (self.roster.own(), self.roster.size());
        self.linked = self.linked.within(size).without(own);
        let mut lost = Members::default();
        let linked = self.linked;
        self.routes.audit(own, size, |next| linked.contains(next), |member| lost = lost.with(member));
        lost.iter().for_each(|member| self.lose(now, member));
        self.roster.audit(now);
        for member in Position::all().take(size).filter(|&member| member != own) {
            match (self.roster.is_alive(member), self.routes.next(member).is_some()) {
                (true, false) if !self.losses.is_waiting(member) => self.losses.wait_for(now, member),
                (false, true) => self.gain(now, member),
                _ => {}
            }
        }
        self.losses.audit(now);
        self.disturbance.audit(now);
        self.watch.audit(now, own);
    }
}

/// Bounds a deadline that lies too far ahead.
pub(super) fn bound(deadline: &mut Instant, now: Instant) {
    bound_by(deadline, now, AHEAD_MAX);
}

pub(super) fn bound_by(deadline: &mut Instant, now: Instant, ahead: Duration) {
    if *deadline != Instant::NEVER && *deadline > now + ahead {
        *deadline = now + ahead;
    }
}
