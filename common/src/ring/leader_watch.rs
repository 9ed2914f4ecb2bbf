//! Watches the leader: is it still heard, and does a neighbour follow another one?
//!
//! Owns the deadlines of both suspicions, and which member they concern. It does not keep the leader: the driver tells
//! the keeper before every output ([`set_leader`](super::RingKeeper::set_leader)), and the deadlines start over when
//! the leader changes. Each suspicion covers something that no algorithm should let happen: a leader that is reachable
//! but whose numbers have stopped rising, and neighbours that go on naming different leaders. If nothing changes, they
//! are raised again after the same time.

use super::audit::bound_by;
use super::number::Number;
use super::take_due;
use super::wire::NOBODY;
use crate::members::Position;
use crate::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeaderWatch {
    /// How long silence and disputes are tolerated.
    tolerance: Duration,
    /// How long the first number of a new leader may take.
    arrival: Duration,
    silent_at: Instant,
    disputed_at: Instant,
    /// The newest number heard of the watched member.
    number: Number,
    /// The member that the deadlines are about; [`NOBODY`] while there is no leader.
    watched: Position,
    /// The neighbour that follows another leader.
    disputant: Position,
    is_silent: bool,
    is_disputed: bool,
    /// Until then the leader is new: it has just won an election, and its first newer number may still be on its way. Never, once
    /// that has come.
    new_until: Instant,
}

impl LeaderWatch {
    pub fn new(tolerance: Duration, arrival: Duration) -> Self {
        Self {
            tolerance,
            arrival,
            silent_at: Instant::NEVER,
            disputed_at: Instant::NEVER,
            number: Number::default(),
            watched: NOBODY,
            disputant: NOBODY,
            is_silent: false,
            is_disputed: false,
            new_until: Instant::NEVER,
        }
    }

    pub fn watched(&self) -> Position {
        self.watched
    }

    /// Watches a leader of which `number` is the newest known, or [`NOBODY`], which may not last for ever either. `own` is this
    /// node's position: it does not watch itself.
    pub fn watch(&mut self, now: Instant, leader: Position, number: Number, own: Position) {
        self.watched = leader;
        self.number = number;
        self.settle_dispute();
        self.new_until = now + self.arrival;
        self.is_silent = false;
        self.silent_at = if leader == own { Instant::NEVER } else { now + self.tolerance };
    }

    /// A neighbour has told of this number of a member, to which there is now a way or not. True where it is the first newer one of
    /// a new leader with a way to it.
    pub fn note_number(&mut self, now: Instant, member: Position, number: Number, has_way: bool) -> bool {
        let is_newer = member == self.watched && number.is_newer_than(self.number);
        if is_newer {
            self.number = number;
            self.silent_at = now + self.tolerance;
        }
        let is_first = is_newer && has_way && self.new_until != Instant::NEVER;
        if is_first {
            self.new_until = Instant::NEVER;
        }
        is_first
    }

    /// Whether a member is the leader and new, so that it counts as alive although there is no way to it yet.
    pub fn is_awaited(&self, now: Instant, member: Position) -> bool {
        member == self.watched && self.new_until != Instant::NEVER && now < self.new_until
    }

    /// The leader is gone, even if it is new.
    pub fn condemn(&mut self) {
        self.new_until = Instant::NEVER;
    }

    /// A neighbour has named the leader that it follows. One dispute is watched at a time.
    pub fn compare(&mut self, now: Instant, neighbour: Position, theirs: Option<Position>) {
        let differs = self.watched != NOBODY && theirs.is_some_and(|theirs| theirs != self.watched);
        if differs && self.disputant == NOBODY {
            self.disputant = neighbour;
            self.disputed_at = now + self.tolerance;
        } else if !differs && self.disputant == neighbour {
            self.settle_dispute();
        }
    }

    pub fn link_down(&mut self, neighbour: Position) {
        if self.disputant == neighbour {
            self.settle_dispute();
        }
    }

    fn settle_dispute(&mut self) {
        self.disputant = NOBODY;
        self.disputed_at = Instant::NEVER;
    }

    /// See [`RingKeeper::audit`](super::RingKeeper). `own` is this node's position.
    pub fn audit(&mut self, now: Instant, own: Position) {
        bound_by(&mut self.silent_at, now, self.tolerance);
        bound_by(&mut self.disputed_at, now, self.tolerance);
        bound_by(&mut self.new_until, now, self.arrival);
        let is_watched = self.watched != NOBODY && self.watched != own;
        if is_watched && self.silent_at == Instant::NEVER {
            self.silent_at = now + self.tolerance;
        }
        if self.disputant != NOBODY && self.disputed_at == Instant::NEVER {
            self.settle_dispute();
        }
    }

    /// Any state, for the test that each of them heals.
    #[cfg(test)]
    pub fn corrupt(&mut self, silent_at: Instant, disputed_at: Instant, number: Number, disputant: Position) {
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
    pub fn take_silent(&mut self) -> Option<Position> {
        core::mem::take(&mut self.is_silent).then_some(self.watched)
    }

    /// The neighbour that has disputed the leader for too long; [`NOBODY`] where the dispute has ended since.
    pub fn take_disputed(&mut self) -> Option<Position> {
        core::mem::take(&mut self.is_disputed).then_some(self.disputant)
    }
}

#[cfg(test)]
mod tests {
    use super::{LeaderWatch, Number};
    use crate::members::Position;
    use crate::time::{Duration, Instant};

    #[test]
    fn only_newer_numbers_of_the_leader_break_its_silence() {
        let number = |count| Number { epoch: 3, count };
        let mut watch = LeaderWatch::new(Duration::from_millis(1_000), Duration::ZERO);
        watch.watch(Instant::ZERO, Position(4), number(10), Position(0));
        // A leader that is gone goes on being told of, by neighbours that have not noticed.
        for (at, member, count) in [(300, 4, 10), (600, 4, 9), (900, 5, 30)] {
            watch.note_number(Instant::from_millis(at), Position(member), number(count), true);
        }
        watch.timeout(Instant::from_millis(1_000));
        assert_eq!(watch.take_silent(), Some(Position(4)));
        watch.note_number(Instant::from_millis(1_500), Position(4), number(11), true);
        watch.timeout(Instant::from_millis(2_000));
        assert_eq!(watch.take_silent(), None, "it was heard 500 ms ago");
        watch.timeout(Instant::from_millis(2_500));
        assert_eq!(watch.take_silent(), Some(Position(4)));
    }
}
