//! Copies of what the leader logs, for a *reader*: a node whose PC wants to see the readings of all nodes.
//!
//! A PC sees what the board on its cable has: all readings, if that board leads. Otherwise the board marks its own
//! blocks as those of a reader, and the leader sends it a copy of each block that it logs, until [`READS_FOR`] after
//! the last marked one. Relays remember the reader whose blocks they have passed on; copies go back the same way, as
//! commits do. There is one reader at a time: the next has to wait until nothing has been heard of the first for that
//! long.
//!
//! Best effort: the log has every block, and a copy that finds no room or no way is dropped and counted. Copies take at
//! most half of a queue, so that they do not keep blocks from reaching the log.

use super::log_entry::{Contents, ENTRY_MAX, LogEntry};
use super::queue::Queued;
use super::ways::Ways;
use super::wire::{BODY_MAX, Body, Course, Records};
use super::{Data, HOPS_MAX, Verdict, count, older};
use crate::Full;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How long a node counts as a reader after a marked block: long enough for two of its blocks to be late.
const READS_FOR: Duration = Duration::from_millis(150_000);

/// The node that copies are sent to.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    id: NodeId,
    until: Instant,
}

impl Reader {
    pub const NOBODY: Self = Self { id: NodeId(0), until: Instant::ZERO };

    /// Nobody reads for longer than it may without a word.
    pub fn audit(&mut self, now: Instant) {
        if self.until > now + READS_FOR {
            *self = Self::NOBODY;
        }
    }

    /// What copies for it carry of its id.
    fn tag(self) -> u8 {
        self.id.0.to_le_bytes()[0] & 15
    }
}

impl Data {
    /// A PC wants to see the readings of all nodes here, for the time being. The block that says so is sent at once.
    pub fn read(&mut self, now: Instant) {
        self.reader = Reader { id: self.id, until: now + READS_FOR };
        self.origin.close_by(now);
    }

    pub(super) fn is_reader(&self) -> bool {
        self.reader.id == self.id
    }

    pub(super) fn reads(&self, now: Instant) -> bool {
        self.is_reader() && now < self.reader.until
    }

    /// Which way this node's own blocks say that they go.
    pub(super) fn course(&self, now: Instant) -> Course {
        if self.reads(now) { Course::FromReader } else { Course::ToLeader }
    }

    /// A block of a reader has come by.
    pub(super) fn note_reader(&mut self, now: Instant, id: NodeId) {
        if self.reader.id == id || now >= self.reader.until {
            self.reader = Reader { id, until: now + READS_FOR };
        }
    }

    /// The neighbour on the way to the reader.
    pub(super) fn way_to_reader(&self, now: Instant, ways: &dyn Ways) -> Option<NodeId> {
        self.learned.back(now, self.reader.id).or_else(|| ways.to(self.reader.id))
    }

    /// This node has logged a block, which the reader may want to see.
    pub(super) fn copy(&mut self, now: Instant, logged: &Queued) {
        let is_wanted = now < self.reader.until && ![self.id, logged.key.origin].contains(&self.reader.id);
        if let Some(Body::Records(records)) = Body::read(&logged.body).filter(|_| is_wanted) {
            let age = older(records.age, now.since(logged.since));
            let copy =
                Records { course: Course::ToReader, turn: self.reader.tag(), hops_left: HOPS_MAX, age, ..records };
            if self.queue_copy(now, copy).is_err() {
                count(&mut self.counters.copies_lost);
            }
        }
    }

    pub(super) fn receive_copy(&mut self, now: Instant, copy: Records<'_>) -> Verdict {
        if self.queue.has(copy.key.copy(), copy.turn) {
            return Verdict::Taken;
        }
        let Some(hops_left) = copy.hops_left.checked_sub(1).filter(|_| copy.turn == self.reader.tag()) else {
            count(&mut self.counters.copies_lost);
            return Verdict::Taken;
        };
        match self.queue_copy(now, Records { hops_left, ..copy }) {
            Ok(()) => Verdict::Taken,
            Err(Full) => Verdict::NotTaken,
        }
    }

    fn queue_copy(&mut self, now: Instant, copy: Records<'_>) -> Result<(), Full> {
        let mut body = [0; BODY_MAX];
        let length = copy.write(&mut body)?;
        self.queue.add(now, copy.key.copy(), copy.turn, false, body.get(..length).unwrap_or_default())
    }

    /// The next copy for this node's PC, as an entry of a log that begins with this node's clock: how many bytes of `buf` it takes.
    pub fn poll_copy(&mut self, now: Instant, buf: &mut [u8; ENTRY_MAX]) -> Option<usize> {
        let key = self.queue.iter().find(|queued| queued.key.is_copy() && self.is_reader())?.key;
        let queued = self.queue.remove(key)?;
        let Some(Body::Records(Records { key, age, block, .. })) = Body::read(&queued.body) else { return None };
        let (epoch, contents) = (self.epoch.unwrap_or(0), Contents::Block(block));
        LogEntry { key, epoch, clock_ms: now.as_millis(), age: older(age, now.since(queued.since)), contents }
            .write(buf)
            .ok()
    }
}
