//! Which leader this node follows, whether that leader is still heard, and whether a neighbour follows another one.
//!
//! Owns the deadlines of both suspicions. Each of them is only for what no algorithm should let happen: a leader that is
//! reachable but has stopped beating, and neighbours that go on naming different leaders. They are raised again after the
//! same time if nothing changes.

use super::audit::bound_by;
use super::number::Number;
use super::take_due;
use super::wire::NOBODY;
use crate::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeaderWatch {
    /// How long silence and disputes are tolerated.
    tolerance: Duration,
    silent_at: Instant,
    disputed_at: Instant,
    /// The newest number heard of the leader.
    number: Number,
    leader: u8,
    /// The neighbour that follows another leader.
    disputant: u8,
    is_silent: bool,
    is_disputed: bool,
    /// No newer number of the leader has come since this node began to follow it.
    is_new: bool,
}

impl LeaderWatch {
    pub fn new(tolerance: Duration) -> Self {
        Self {
            tolerance,
            silent_at: Instant::NEVER,
            disputed_at: Instant::NEVER,
            number: Number::default(),
            leader: NOBODY,
            disputant: NOBODY,
            is_silent: false,
            is_disputed: false,
            is_new: false,
        }
    }

    /// The leader's position; [`NOBODY`] where there is none.
    pub fn leader(&self) -> u8 {
        self.leader
    }

    /// Follows a leader of which `number` is the newest known, or [`NOBODY`], which may not last for ever either. `own` is this
    /// node's position: it does not watch itself.
    pub fn follow(&mut self, now: Instant, leader: u8, number: Number, own: u8) {
        self.leader = leader;
        self.number = number;
        self.settle_dispute();
        self.is_new = true;
        self.is_silent = false;
        self.silent_at = if leader == own { Instant::NEVER } else { now + self.tolerance };
    }

    /// A neighbour has told of this number of a member. True where it is the first newer one of a new leader.
    pub fn note_number(&mut self, now: Instant, member: u8, number: Number) -> bool {
        let is_newer = member == self.leader && number.is_newer_than(self.number);
        if is_newer {
            self.number = number;
            self.silent_at = now + self.tolerance;
        }
        is_newer && core::mem::take(&mut self.is_new)
    }

    /// A neighbour has named the leader that it follows. One dispute is watched at a time.
    pub fn compare(&mut self, now: Instant, neighbour: u8, theirs: Option<u8>) {
        let differs = self.leader != NOBODY && theirs.is_some_and(|theirs| theirs != self.leader);
        if differs && self.disputant == NOBODY {
            self.disputant = neighbour;
            self.disputed_at = now + self.tolerance;
        } else if !differs && self.disputant == neighbour {
            self.settle_dispute();
        }
    }

    pub fn link_down(&mut self, neighbour: u8) {
        if self.disputant == neighbour {
            self.settle_dispute();
        }
    }

    fn settle_dispute(&mut self) {
        self.disputant = NOBODY;
        self.disputed_at = Instant::NEVER;
    }

    /// See [`RingKeeper::audit`](super::RingKeeper). `own` is this node's position.
    pub fn audit(&mut self, now: Instant, own: u8) {
        bound_by(&mut self.silent_at, now, self.tolerance);
        bound_by(&mut self.disputed_at, now, self.tolerance);
        let is_watched = self.leader != NOBODY && self.leader != own;
        if is_watched && self.silent_at == Instant::NEVER {
            self.silent_at = now + self.tolerance;
        }
        if self.disputant != NOBODY && self.disputed_at == Instant::NEVER {
            self.settle_dispute();
        }
    }

    /// Any state, for the test that each of them heals.
    #[cfg(test)]
    pub fn corrupt(&mut self, silent_at: Instant, disputed_at: Instant, number: Number, disputant: u8) {
        (self.silent_at, self.disputed_at) = (silent_at, disputed_at);
        (self.number, self.disputant) = (number, disputant);
    }

    pub fn poll_timeout(&self) -> Instant {
        self.silent_at.min(self.disputed_at)
    }

    pub fn timeout(&mut self, now: Instant) {
        if take_due(&mut self.silent_at, now) {
            self.is_silent = true;
            self.silent_at = now + self.tolerance;
        }
        if take_due(&mut self.disputed_at, now) {
            self.is_disputed = true;
            self.disputed_at = now + self.tolerance;
        }
    }

    /// The leader that was silent for too long; [`NOBODY`] where this node has stopped following it since.
    pub fn take_silent(&mut self) -> Option<u8> {
        core::mem::take(&mut self.is_silent).then_some(self.leader)
    }

    /// The neighbour that has disputed the leader for too long; [`NOBODY`] where the dispute has ended since.
    pub fn take_disputed(&mut self) -> Option<u8> {
        core::mem::take(&mut self.is_disputed).then_some(self.disputant)
    }
}
