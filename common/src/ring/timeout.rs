//! What a keeper does when time has passed: it gives up members that it has waited for.

use super::{RingKeeper, count};
use crate::members::Position;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

impl RingKeeper {
    /// How long the keeper usually waits for a member without a route before it counts as gone.
    pub fn hold_time(&self) -> Duration {
        self.losses.wait_time()
    }

    /// When [`timeout`](Self::timeout) is wanted.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.losses.poll_timeout().min(self.roster.poll_timeout());
        let next = next.min(self.disturbance.poll_timeout()).min(self.watch.poll_timeout());
        (next != Instant::NEVER).then_some(next)
    }

    /// Whether a member has just become the leader, so that its first number may still be on its way here.
    pub fn is_awaited(&self, now: Instant, member: NodeId) -> bool {
        self.roster.position(member).is_some_and(|position| self.watch.is_awaited(now, position))
    }

    /// The time that [`poll_timeout`](Self::poll_timeout) asked for has come. Spurious calls are harmless.
    pub fn timeout(&mut self, now: Instant) {
        // Losses come first: giving up a member changes the place at once.
        self.losses.timeout(now).iter().for_each(|member| self.give_up(now, member));
        self.roster.timeout(now);
        if self.disturbance.timeout(now) {
            count(&mut self.counters.disturbed);
            self.is_disturbed = true;
        }
        self.watch.timeout(now);
    }

    /// A member was without a route for too long.
    fn give_up(&mut self, now: Instant, member: Position) {
        if self.routes.next(member).is_none() && self.watch.is_awaited(now, member) {
            self.losses.wait_on(now, member);
            return;
        }
        if self.losses.give_up(now, member) {
            self.news.add(member);
        } else if self.news.is_fresh(member) {
            self.news.hurry();
        }
        if self.roster.is_alive(member) && self.routes.next(member).is_none() {
            self.roster.remove(now, member);
            self.edges.reset(member);
        }
    }
}
