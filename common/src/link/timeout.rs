//! What the links do because time has passed: they give up on neighbours after the last retry, ask silent ones whether they
//! are there, forget those that are gone, and begin the next hello interval.

use super::Links;
use super::neighbour::{Due, Neighbour};
use super::patience::Patience;
use super::pool::Slot;
use crate::notice::Reason;
use crate::time::Instant;

/// When a neighbour needs attention, given this patience.
pub(super) fn due_by(patience: Patience) -> impl Fn(&Neighbour) -> Due {
    move |neighbour| neighbour.due(patience)
}

impl Links {
    /// The time [`poll_timeout`](Self::poll_timeout) asked for has come.
    pub fn timeout(&mut self, now: Instant) {
        self.wait_for_others();
        for slot in Slot::all() {
            self.attend(now, slot);
        }
        self.hellos.trickle.pass(now, &mut self.rng);
    }

    fn attend(&mut self, now: Instant, slot: Slot) {
        let patience = self.patience;
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        if !neighbour.session.is_up() {
            if neighbour.is_unanswered(now) {
                neighbour.settle();
            }
            if neighbour.forget_at() <= now && neighbour.news.down.is_none() && neighbour.held_until <= now {
                self.forget(slot);
            }
            return;
        }
        if neighbour.arq.due <= now && neighbour.arq.attempts >= neighbour.attempts_max(patience) {
            let reason = if neighbour.arq.is_probe { Reason::Silent } else { Reason::Unacknowledged };
            self.take_down(now, slot, reason);
        } else if neighbour.suspect_at(patience) <= now {
            neighbour.suspect(now);
        }
    }

    /// When the driver should next call [`timeout`](Self::timeout) and ask for a frame.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let Due { mut timeout, mut transmit } = self.table.due(due_by(self.patience));
        transmit = transmit.min(self.hellos.beat.next());
        if self.hellos.trickle.is_waiting() {
            transmit = transmit.min(self.hellos.trickle.next());
        } else {
            timeout = timeout.min(self.hellos.trickle.next());
        }
        let next = if self.exchange.is_in_flight() || self.epoch().is_none() {
            timeout
        } else {
            timeout.min(transmit.max(self.exchange.quiet_until()))
        };
        (next != Instant::NEVER).then_some(next)
    }
}
