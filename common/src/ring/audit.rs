//! Puts right what cannot be right, whatever made it so: memory that flipped, or a defect.
//!
//! Once a hello. Everything in a keeper either follows from what neighbours tell, which they go on telling, or is looked at
//! here: deadlines that lie further ahead than any can, routes over links that are down, members that are alive without a route
//! and without being waited for. So whatever state a keeper is in, it is a right one a few hellos later; a route whose number
//! does not become newer takes as long as [`routes`](super::routes) puts up with that.

use super::RingKeeper;
use crate::time::{Duration, Instant};

/// No deadline of the keeper's lies further ahead, except those that are bounded where they are set.
const AHEAD_MAX: Duration = Duration::from_millis(10_000);

impl RingKeeper {
    pub(super) fn audit(&mut self, now: Instant) {
        let (own, size) = (self.roster.own(), self.roster.size());
        self.linked = self.linked.within(size).without(own);
        let mut lost = crate::members::Members::default();
        let linked = self.linked;
        self.routes.audit(own, size, |next| linked.contains(next), |member| lost = lost.with(member));
        lost.iter().for_each(|member| self.lose(now, member));
        self.roster.audit(now);
        for member in (0_u8..).take(size).filter(|&member| member != own) {
            match (self.roster.is_alive(member), self.routes.next(member).is_some()) {
                (true, false) if !self.losses.is_waiting(member) => self.losses.wait_for(now, member),
                (false, true) => self.gain(now, member),
                _ => {}
            }
        }
        self.losses.audit(now);
        self.disturbance.audit(now);
        self.leader.audit(now, own);
    }
}

/// Brings a deadline that lies too far ahead to where it may lie.
pub(super) fn bound(deadline: &mut Instant, now: Instant) {
    bound_by(deadline, now, AHEAD_MAX);
}

pub(super) fn bound_by(deadline: &mut Instant, now: Instant, ahead: Duration) {
    if *deadline != Instant::NEVER && *deadline > now + ahead {
        *deadline = now + ahead;
    }
}
