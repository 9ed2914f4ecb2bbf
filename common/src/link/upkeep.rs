//! What time brings: retries that are used up, neighbours that fell silent, the next hello.

use super::Links;
use crate::limits::TABLE_MAX;
use crate::notice::Reason;
use crate::time::Instant;

impl Links {
    /// The time [`poll_timeout`](Self::poll_timeout) asked for has come.
    pub fn timeout(&mut self, now: Instant) {
        for place in 0..TABLE_MAX {
            self.attend(now, place);
        }
        self.trickle.pass(now, &mut self.rng);
    }

    fn attend(&mut self, now: Instant, place: usize) {
        let (attempts, eighths) = (self.timings.attempts, self.timings.suspect_eighths);
        let Some(neighbour) = self.table.get_mut(place) else { return };
        if !neighbour.session.is_up() {
            if neighbour.forget_at() <= now && neighbour.news.down.is_none() && neighbour.held_until <= now {
                self.table.clear(place);
            }
            return;
        }
        if neighbour.arq.due <= now && neighbour.arq.attempts >= neighbour.attempts_max(attempts) {
            let reason = if neighbour.arq.is_probe { Reason::Silent } else { Reason::Unacknowledged };
            self.take_down(now, place, reason);
        } else if neighbour.suspect_at(eighths) <= now {
            neighbour.suspect(now);
        }
    }

    /// When [`timeout`](Self::timeout) is next wanted, or the driver should ask for a frame.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let eighths = self.timings.suspect_eighths;
        let (mut upkeep, mut transmit) = (Instant::NEVER, Instant::NEVER);
        for (_, neighbour) in self.table.iter() {
            if !neighbour.session.is_up() {
                upkeep = upkeep.min(neighbour.forget_at().max(neighbour.held_until));
                continue;
            }
            transmit = transmit.min(neighbour.arq.due).min(neighbour.ack_due);
            if neighbour.arq.due != Instant::NEVER
                && neighbour.arq.attempts >= neighbour.attempts_max(self.timings.attempts)
            {
                upkeep = upkeep.min(neighbour.arq.due);
            }
            if !neighbour.arq.is_busy() && neighbour.arq.due == Instant::NEVER {
                upkeep = upkeep.min(neighbour.suspect_at(eighths));
            }
        }
        if self.trickle.is_waiting() {
            transmit = transmit.min(self.trickle.next());
        } else {
            upkeep = upkeep.min(self.trickle.next());
        }
        let next = if self.in_flight.is_some() || self.epoch.is_none() {
            upkeep
        } else {
            upkeep.min(transmit.max(self.quiet_until))
        };
        (next != Instant::NEVER).then_some(next)
    }
}
