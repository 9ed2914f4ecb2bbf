//! The leader's side: it numbers commands, knows which ones it has numbered, and hears how far every node has come.
//! Also what the others do for it: they report, and pass on commands, results and reports.

use heapless::Vec;

use super::book::Order;
use super::command::{Command, Key};
use super::links::Peers;
use super::stamp::{Mandate, Stamp};
use super::wire::{Bytes, Message, ROWS_MAX, Row, Status, Submit, Verdict};
use super::{AGE_MAX, Orders, Outgoing, count};
use crate::limits::{MARKS_MAX, PATHS_MAX, RELAYED_MAX, ROSTER_MAX};
use crate::short_list::retain;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How many rows of other nodes may wait to be passed on.
const PENDING_MAX: usize = 2 * ROWS_MAX;

/// How long a node delays its report, plus a random part of up to as much again, so that one report covers several
/// nodes.
const REPORT_AFTER_MS: u64 = 60;

/// How long reports of others are delayed, for the same reason.
const PASS_ON_AFTER: Duration = Duration::from_millis(30);

/// When every node reports once more, since a link on the way may have fallen with a report in it.
const REPORT_AGAIN: Duration = Duration::from_millis(1_500);

/// More hops than any way to the leader has.
pub(super) const HOPS_MAX: u8 = 32;

/// A command that was ordered under the current mandate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mark {
    key: Key,
    index: u16,
}

/// The neighbour from which commands of an origin come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Path {
    origin: NodeId,
    via: NodeId,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Relayed {
    to: NodeId,
    bytes: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leading {
    marks: Vec<Mark, MARKS_MAX, u8>,
    /// Who is known to be there, and how far it has come under the present mandate.
    roster: Vec<Row, ROSTER_MAX, u8>,
    paths: Vec<Path, PATHS_MAX, u8>,
    relayed: Vec<Relayed, RELAYED_MAX, u8>,
    /// What others report, on its way up.
    pending: Vec<Row, PENDING_MAX, u8>,
    /// When to report; never if there is nothing to.
    report_at: Instant,
    /// When to report this node's own progress once more.
    again_at: Instant,
    /// Whether the next report names this node.
    has_own: bool,
}

impl Leading {
    pub const fn new() -> Self {
        Self {
            marks: Vec::new(),
            roster: Vec::new(),
            paths: Vec::new(),
            relayed: Vec::new(),
            pending: Vec::new(),
            report_at: Instant::NEVER,
            again_at: Instant::NEVER,
            has_own: false,
        }
    }

    /// Another mandate of this node begins.
    pub fn begin(&mut self) {
        self.marks.clear();
        self.roster.iter_mut().for_each(|row| row.index = 0);
        self.pending.clear();
    }

    pub fn report_at(&self) -> Instant {
        let again = if self.has_own { Instant::NEVER } else { self.again_at };
        self.report_at.min(again)
    }

    /// This node has come further, and will say so.
    pub fn note_progress(&mut self, now: Instant, id: NodeId, newest: Stamp) {
        // Neighbours do not report at the same moment: by their ids, and otherwise with every order.
        let apart = u64::from(id.0.wrapping_mul(29).wrapping_add(newest.index.wrapping_mul(17))) % REPORT_AFTER_MS;
        self.report_at = self.report_at.min(now + Duration::from_millis(REPORT_AFTER_MS + apart));
        self.again_at = now + REPORT_AGAIN + Duration::from_millis(apart * 4);
        self.has_own = true;
    }

    /// The way to the leader is another, or what was on it may be lost.
    pub fn report_again(&mut self, now: Instant, newest: Stamp) {
        if newest.index > 0 && self.again_at == Instant::NEVER {
            self.again_at = now + REPORT_AGAIN;
        }
    }

    pub fn is_idle(&self) -> bool {
        self.relayed.is_empty()
    }

    pub fn has_words(&self, now: Instant) -> bool {
        !self.relayed.is_empty() || self.report_at() <= now
    }

    fn note_path(&mut self, origin: NodeId, via: NodeId) {
        retain(&mut self.paths, |path| path.origin != origin);
        if self.paths.is_full() {
            self.paths.remove(0);
        }
        // There is room now.
        let _ = self.paths.push(Path { origin, via });
    }

    fn way_to(&self, origin: NodeId) -> Option<NodeId> {
        self.paths.iter().find(|path| path.origin == origin).map(|path| path.via)
    }

    fn mark(&mut self, mark: Mark) {
        if self.marks.is_full() {
            self.marks.remove(0);
        }
        // There is room now.
        let _ = self.marks.push(mark);
    }

    /// Somebody is known to be there and to have come this far. Those that find no room are not counted.
    fn enrol(&mut self, row: Row) {
        match self.roster.iter_mut().find(|known| known.id == row.id) {
            Some(known) => known.index = known.index.max(row.index),
            None => _ = self.roster.push(row),
        }
    }

    /// Keeps a row for the next report; false if there is no room.
    fn keep(&mut self, row: Row) -> bool {
        match self.pending.iter_mut().find(|known| known.id == row.id) {
            Some(known) => {
                known.index = known.index.max(row.index);
                true
            }
            None => self.pending.push(row).is_ok(),
        }
    }
}

impl Orders {
    /// Numbers a command, applies it, and lets everybody know.
    pub(super) fn order(&mut self, now: Instant, command: Command, key: Key) {
        if !self.has_mandate() || self.newest.index == u16::MAX {
            self.take_mandate(now);
        }
        if !self.has_mandate() {
            return;
        }
        self.newest.index += 1;
        self.leading.mark(Mark { key, index: self.newest.index });
        let neighbours: Vec<NodeId, { crate::limits::NEIGHBOURS_MAX }, u8> =
            self.links.iter().map(|(_, peer)| peer.id).collect();
        neighbours.into_iter().for_each(|id| self.leading.enrol(Row { id, index: 0 }));
        self.apply(now, &Order { stamp: self.newest, command, key, at: now, needs: self.links.all() });
    }

    /// A command that is on its way to the leader.
    pub(super) fn on_submit(&mut self, now: Instant, from: NodeId, submit: Submit) {
        self.leading.note_path(submit.key.origin, from);
        if self.standing.leads {
            let verdict = self.judge(now, submit);
            if verdict.status != Status::Unknown {
                self.pass(from, &Message::Result(verdict));
            }
            return;
        }
        match (submit.hops.checked_sub(1), self.standing.next_hop) {
            (Some(hops), Some(next)) if next != from => self.pass(next, &Message::Submit(Submit { hops, ..submit })),
            _ => count(&mut self.counters.dropped),
        }
    }

    /// What the leader makes of a command: it is ordered, unless that was done or cannot be.
    pub(super) fn judge(&mut self, now: Instant, submit: Submit) -> Verdict {
        let Submit { key, command, age, only_asks, .. } = submit;
        let is_known = self.leading.marks.iter().any(|mark| mark.key == key) || self.book.by_key(key).is_some();
        if !command.is_allowed() {
            return self.verdict(key, Status::Refused, self.newest);
        }
        if !is_known && !only_asks && age < AGE_MAX / 2 {
            self.order(now, command, key);
        }
        let stands = self.book.by_key(key).map(|order| order.stamp);
        if let Some(stamp) = stands {
            return self.verdict(key, Status::Ordered, stamp);
        }
        let Some(mark) = self.leading.marks.iter().find(|mark| mark.key == key).copied() else {
            return self.verdict(key, Status::Unknown, self.newest);
        };
        match command {
            Command::Set { register, .. } => {
                let by = self.book.of_register(register).map_or(self.newest, |order| order.stamp);
                self.verdict(key, Status::Superseded, by)
            }
            Command::Act { .. } => {
                let stamp = Stamp { mandate: self.newest.mandate, index: mark.index };
                self.verdict(key, Status::Ordered, stamp)
            }
        }
    }

    fn verdict(&self, key: Key, status: Status, stamp: Stamp) -> Verdict {
        let is_mine = stamp.mandate == self.newest.mandate;
        let has = self.leading.roster.iter().filter(|row| is_mine && row.index >= stamp.index).count();
        let small = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        let known = small(self.leading.roster.len() + 1).max(self.standing.population);
        let Stamp { mandate: Mandate { leader, .. }, index } = stamp;
        Verdict { hops: HOPS_MAX, key, status, leader, index, applied: small(has + 1), known }
    }

    /// Passes on what a leader says of somebody's command, unless it is this node's own.
    pub(super) fn on_result(&mut self, now: Instant, verdict: Verdict) {
        if self.note_verdict(now, verdict) {
            return;
        }
        match (verdict.hops.checked_sub(1), self.leading.way_to(verdict.key.origin)) {
            (Some(hops), Some(via)) => self.pass(via, &Message::Result(Verdict { hops, ..verdict })),
            _ => count(&mut self.counters.dropped),
        }
    }

    pub(super) fn on_report(&mut self, now: Instant, number: u32, rows: &[Row]) {
        if number != self.newest.mandate.number {
            return;
        }
        if self.standing.leads && rows.iter().any(|row| row.index > self.newest.index) {
            self.supersede_newest(now);
            return;
        }
        for &row in rows.iter().filter(|row| row.id != self.identity.id) {
            if self.has_mandate() {
                self.leading.enrol(row);
            } else if self.leading.keep(row) {
                self.leading.report_at = self.leading.report_at.min(now + PASS_ON_AFTER);
            } else {
                count(&mut self.counters.dropped);
            }
        }
    }

    /// Puts a message for one neighbour into the queue.
    pub(super) fn pass(&mut self, to: NodeId, message: &Message) {
        let is_queued = message.encode().is_ok_and(|bytes| self.leading.relayed.push(Relayed { to, bytes }).is_ok());
        if !is_queued {
            count(&mut self.counters.dropped);
        }
    }

    pub(super) fn poll_relayed(&mut self) -> Option<Outgoing> {
        while !self.leading.relayed.is_empty() {
            let Relayed { to, bytes } = self.leading.relayed.remove(0);
            if let Some(slot) = self.links.find(to) {
                return Some(Outgoing { bytes, to: Peers::of(slot) });
            }
            count(&mut self.counters.dropped);
        }
        None
    }

    pub(super) fn poll_report(&mut self, now: Instant) -> Option<Outgoing> {
        if self.leading.report_at() > now {
            return None;
        }
        if self.leading.again_at <= now {
            self.leading.again_at = Instant::NEVER;
            self.leading.has_own = true;
        }
        self.leading.report_at = Instant::NEVER;
        let has_own = core::mem::take(&mut self.leading.has_own);
        let next = self.standing.next_hop.and_then(|next| self.links.find(next)).filter(|_| !self.standing.leads);
        let Some(next) = next else {
            self.leading.pending.clear();
            let is_lost = has_own && !self.standing.leads;
            self.leading.again_at = if is_lost { now + REPORT_AGAIN } else { Instant::NEVER };
            return None;
        };
        let mut rows = Vec::new();
        if has_own {
            // It is the first of several.
            let _ = rows.push(Row { id: self.identity.id, index: self.newest.index });
        }
        while let Some(row) = self.leading.pending.pop() {
            if rows.push(row).is_err() {
                // There was room for it a moment ago.
                let _ = self.leading.pending.push(row);
                self.leading.report_at = now;
                break;
            }
        }
        if rows.is_empty() {
            return None;
        }
        let bytes = Message::Report { number: self.newest.mandate.number, rows }.encode().ok()?;
        Some(Outgoing { bytes, to: Peers::of(next) })
    }
}
