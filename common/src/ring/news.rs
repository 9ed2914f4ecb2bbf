//! What this node tells its neighbours of the ring's members in its hellos.
//!
//! Owns the order in which members are told of, and what is still to be told. A hello has room for a few members only.
//! This node and its leader are in every hello, because their numbers are the heartbeat. Members whose route has
//! changed come next, each in two hellos, because one may be lost. The remaining room goes to all members in turn, so
//! that a neighbour that missed both still learns in the end.

use super::routes::Routes;
use super::wire::{self, Entry, Lead};
use crate::members::{Members, Position};
use crate::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct News {
    heartbeat_ms: u16,
    /// The first hello from this time on gives this node's announcements a newer number.
    next_beat: Instant,
    /// Members to tell of for the first time since their route changed.
    fresh: Members,
    /// Members to tell of once more.
    repeated: Members,
    /// The position from which members are told of in turn.
    turn: Position,
    in_hurry: bool,
    /// A member that is asked for a newer number, and how many more hellos are to ask.
    asked: Option<(Entry, u8)>,
}

/// How many hellos ask for a newer number in each heartbeat.
const ASKED_TIMES: u8 = 2;

impl News {
    pub fn new(heartbeat_ms: u16) -> Self {
        Self {
            heartbeat_ms,
            next_beat: Instant::ZERO,
            fresh: Members::default(),
            repeated: Members::default(),
            turn: Position(0),
            in_hurry: false,
            asked: None,
        }
    }

    /// Puts a member into the next hello, whenever that comes.
    pub fn add(&mut self, member: Position) {
        self.fresh = self.fresh.with(member);
    }

    /// Any state, for the test that each of them heals.
    #[cfg(test)]
    pub fn corrupt(&mut self, next_beat: Instant, any: Members, turn: Position) {
        (self.next_beat, self.fresh, self.repeated, self.turn) = (next_beat, any, any, turn);
    }

    /// Whether no hello has told of a member since it was added.
    pub fn is_fresh(&self, member: Position) -> bool {
        self.fresh.contains(member)
    }

    /// Puts a question for a newer number into the next hellos, one at a time and not more often than heartbeats come.
    pub fn ask(&mut self, entry: Entry) {
        if self.asked.is_none() {
            self.asked = Some((entry, ASKED_TIMES));
            self.in_hurry = true;
        }
    }

    /// Asks for the next hello to come soon.
    pub fn hurry(&mut self) {
        self.in_hurry = true;
    }

    pub fn take_hurry(&mut self) -> bool {
        core::mem::take(&mut self.in_hurry)
    }

    /// Whether a heartbeat is due with the hello that is being written.
    pub fn take_beat(&mut self, now: Instant) -> bool {
        // A beat that lies further ahead than one heartbeat was never set.
        let heartbeat = Duration::from_millis(u64::from(self.heartbeat_ms));
        let is_due = now >= self.next_beat || self.next_beat > now + heartbeat;
        if is_due {
            self.next_beat = now + heartbeat;
            self.asked = self.asked.filter(|(_, times)| *times > 0);
        }
        is_due
    }

    /// Writes as many of a ring's `size` members to a hello as fit, beginning with this node and its leader; returns how
    /// many bytes that took.
    pub fn tell(&mut self, own: Position, lead: Lead, size: usize, routes: &Routes, room: &mut [u8]) -> usize {
        let first = Members::of(own).with(lead.leader);
        let fresh = self.fresh.minus(first);
        let repeated = self.repeated.minus(first).minus(fresh);
        let turn = Some(self.turn.index()).filter(|&turn| turn < size).unwrap_or(0);
        // Four times through all members: those that come first, news, repetitions, the others; all but the first in turn.
        let sets = [first, fresh, repeated];
        let all = (0..4 * size).filter_map(|step| {
            let (pass, at) = (step / size, step % size);
            let member = Position(u8::try_from(if pass == 0 { at } else { (turn + at) % size }).ok()?);
            let is_of = |set: &Members| set.contains(member);
            sets.get(pass).map_or_else(|| !sets.iter().any(is_of), is_of).then_some(member)
        });
        let mut told = Members::default();
        let mut last = None;
        let asked = self.asked.filter(|(_, times)| *times > 0).map(|(entry, _)| entry);
        let fitting = wire::fitting(room.len()).saturating_sub(usize::from(asked.is_some()));
        let entries = all.filter_map(|member| routes.entry(member)).take(fitting).inspect(|entry| {
            told = told.with(entry.position);
            last = Some(entry.position).filter(|&position| !first.contains(position)).or(last);
        });
        let length = wire::tell(lead, entries.chain(asked), room);
        if let Some((_, times)) = &mut self.asked {
            *times = times.saturating_sub(1);
        }
        // News takes its turn like everything else: on a ring that changes all the time, the first positions would be told of
        // again and again, and the last ones never.
        self.turn = last.map_or(self.turn, |last| Position(last.0.wrapping_add(1)));
        self.repeated = self.repeated.minus(told.minus(self.fresh));
        for member in self.fresh.iter().filter(|&member| told.contains(member)) {
            self.repeated = self.repeated.with(member);
        }
        self.fresh = self.fresh.minus(told);
        // The repetition is as urgent as the news itself.
        self.in_hurry |= !self.repeated.is_empty() || self.asked.is_some_and(|(_, times)| times > 0);
        length
    }
}

#[cfg(test)]
mod tests {
    use super::News;
    use crate::members::{Members, Position};
    use crate::ring::number::Number;
    use crate::ring::routes::Routes;
    use crate::ring::wire::{self, Entry, Lead, NOBODY};

    #[test]
    fn where_there_is_always_news_of_some_the_others_are_told_of_all_the_same() {
        let mut routes = Routes::new(Position(0));
        for position in (1..64).map(Position) {
            routes.update(Position(1), Entry { position, number: Number { epoch: 1, count: 1 }, hops: 3 });
        }
        let mut news = News::new(1_000);
        let mut told = Members::default();
        for _ in 0..20 {
            // The ways to the first forty change all the time, those to the others changed once.
            (1..40).map(Position).for_each(|member| news.add(member));
            (40..64).map(Position).filter(|&member| !told.contains(member)).for_each(|member| news.add(member));
            let mut room = [0; 36];
            let length = news.tell(Position(0), Lead { leader: NOBODY, election: 0 }, 64, &routes, &mut room);
            let (_, entries) = wire::told(room.get(..length).unwrap_or(&[])).unwrap();
            entries.iter().for_each(|entry| told = told.with(entry.position));
        }
        assert_eq!(told.count(), 64, "{told:?}");
    }
}
