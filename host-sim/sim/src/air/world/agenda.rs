//! What is to happen when: the queue of events.
//!
//! A frame has half a dozen events within milliseconds and one a second later. In a single heap each of the former would sift
//! through the latter of all nodes, and cost more the more nodes there are. So only what is due next is kept in order: time is
//! cut into short buckets, and the events of a later bucket wait unsorted until its time comes. The heap then holds a few
//! milliseconds of events, however many nodes there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A bucket is this power of two of microseconds long: four milliseconds, about as much as one frame's events take.
const BUCKET_BITS: u32 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The station's deadline.
    Wake,
    /// The MAC's turn.
    Turn,
    AssessmentBegins,
    AssessmentDone,
    Send,
    SendAnswer,
    SendDone,
    Ready,
    Injected,
    /// The preamble of a frame is over: the ports that have locked on to it are told.
    Found,
    PortSent,
    PortAssessed,
}

impl Event {
    /// Whether it belongs to what a port may break off.
    pub const fn may_break_off(self) -> bool {
        matches!(self, Self::PortSent | Self::PortAssessed)
    }
}

/// An event with its time, sorted by that and then by when it was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub at_us: u64,
    pub order: u64,
    /// Of a node, or of the radio of an intruder.
    pub index: u32,
    /// Entries of a node's former life are void.
    pub life: u32,
    /// So are those of what a port broke off.
    pub round: u32,
    pub event: Event,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    /// Everything up to the end of the present bucket, sorted.
    near: BinaryHeap<Reverse<Entry>>,
    /// Everything later, by bucket.
    far: BTreeMap<u64, Vec<Entry>>,
    /// The present bucket: the latest that was ever sorted.
    bucket: u64,
    /// Lists of buckets that are over, for those to come.
    spare: Vec<Vec<Entry>>,
    order: u64,
}

/// More empty lists than this are not worth keeping.
const SPARE_MAX: usize = 64;

impl Agenda {
    /// Enters an event; whatever was entered before for the same time comes first.
    pub fn push(&mut self, entry: Entry) {
        let entry = Entry { order: self.order, ..entry };
        self.order += 1;
        let bucket = entry.at_us >> BUCKET_BITS;
        if bucket <= self.bucket {
            self.near.push(Reverse(entry));
        } else {
            self.far.entry(bucket).or_insert_with(|| self.spare.pop().unwrap_or_default()).push(entry);
        }
    }

    pub fn next_us(&self) -> Option<u64> {
        let later = || self.far.first_key_value()?.1.iter().map(|entry| entry.at_us).min();
        self.near.peek().map(|next| next.0.at_us).or_else(later)
    }

    /// Takes the next event out, where it is due by this time.
    pub fn pop(&mut self, until_us: u64) -> Option<Entry> {
        while self.near.is_empty() {
            let next = self.far.first_entry().filter(|next| *next.key() <= until_us >> BUCKET_BITS)?;
            let (bucket, mut entries) = next.remove_entry();
            self.bucket = bucket;
            self.near.extend(entries.drain(..).map(Reverse));
            if self.spare.len() < SPARE_MAX {
                self.spare.push(entries);
            }
        }
        if self.near.peek()?.0.at_us > until_us {
            return None;
        }
        self.near.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;

    use super::{Agenda, Entry, Event};

    #[test]
    fn events_come_by_time_and_then_as_entered() {
        let mut rng = Rng::new(3);
        let mut agenda = Agenda::default();
        let (mut now_us, mut entered) = (0, 0);
        let mut waiting: Vec<(u64, u32)> = Vec::new();
        for round in 0..20_000 {
            // Twice as many go in as come out at first, and all come out in the end.
            if round < 15_000 && rng.below(3) > 0 {
                let ahead = if rng.below(2) == 0 { rng.below(40) } else { 300 * rng.below(90) };
                let at_us = now_us + u64::from(ahead);
                waiting.push((at_us, entered));
                agenda.push(Entry { at_us, order: 0, index: entered, life: 0, round: 0, event: Event::Wake });
                entered += 1;
                continue;
            }
            let next = waiting.iter().copied().min();
            let until_us = now_us + u64::from(rng.below(9_000));
            let due = next.filter(|&(at_us, _)| at_us <= until_us);
            let popped = agenda.pop(until_us).map(|entry| (entry.at_us, entry.index));
            assert_eq!(popped, due);
            waiting.retain(|&entry| Some(entry) != due);
            now_us = due.map_or(until_us, |(at_us, _)| at_us);
        }
        assert!(entered > 8_000 && waiting.len() < 8_000, "{entered} entered, {} left", waiting.len());
    }
}
