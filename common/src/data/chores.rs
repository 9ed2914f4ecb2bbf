//! What the driver does with its flash for collection: it stores this node's blocks and reads them back, and a leader's
//! driver logs the blocks of all nodes.

use super::log_entry::{self, Contents, LogEntry};
use super::marks::Standing;
use super::origin::Wanted;
use super::wire::{AGE_UNKNOWN, BODY_MAX, Body, Gap, Key, Records};
use super::{Data, Doing, GATHER, HOPS_MAX, count, gap_commit, older, wire};
use crate::data::block::BlockBytes;
use crate::time::{Duration, Instant};

/// What the driver is to do with its flash. It does one chore at a time, and reports its result with [`Done`] before it
/// asks for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Store the block in the buffer under this number, together with `base`.
    Store { number: u32, base: u32, length: usize },
    /// Read a block back.
    Fetch { number: u32 },
    /// Append the entry in the buffer to the log. It is not lost, not even with the power, once the driver says that it is done.
    Log { length: usize },
    /// Blocks before this one may be overwritten. Nothing is to be said about it.
    Release { base: u32 },
}

/// The result of a chore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done<'b> {
    Stored(bool),
    /// The block; none if it is not there or was damaged.
    Fetched(Option<&'b [u8]>),
    /// Whether it is in the log. One that is not is not committed, and its origin sends it again.
    Logged(bool),
}

impl Data {
    /// The next thing that the driver is to do with its flash, with what it needs in `buf`.
    pub fn poll_chore(&mut self, now: Instant, buf: &mut [u8; log_entry::ENTRY_MAX]) -> Option<Chore> {
        if self.doing != Doing::Nothing {
            return None;
        }
        self.tick(now);
        if let Some(base) = self.origin.take_release() {
            return Some(Chore::Release { base });
        }
        if let Some(chore) = self.log_chore(now, buf) {
            return Some(chore);
        }
        let base = self.origin.base;
        if let Some((number, block)) = self.origin.to_store() {
            let length = block.bytes().len();
            buf.get_mut(..length)?.copy_from_slice(block.bytes());
            self.doing = Doing::Storing;
            return Some(Chore::Store { number, base, length });
        }
        if self.is_gathering()
            && now >= self.rest_until
            && let Some(Wanted::Block(number)) = self.origin.wanted(now)
        {
            self.doing = Doing::Fetching(number);
            return Some(Chore::Fetch { number });
        }
        let number = self.block_to_give(now)?;
        self.doing = Doing::Giving(number);
        Some(Chore::Fetch { number })
    }

    fn log_chore(&mut self, now: Instant, buf: &mut [u8; log_entry::ENTRY_MAX]) -> Option<Chore> {
        if !self.leads() {
            return None;
        }
        let epoch = self.epoch?;
        let key = self.queue.iter().find(|queued| !queued.is_logging && queued.key.is_upward())?.key;
        let queued = self.queue.find(key)?;
        queued.is_logging = true;
        let (contents, age) = match Body::read(&queued.body)? {
            Body::Records(records) => (Contents::Block(records.block), older(records.age, now.since(queued.since))),
            Body::Gap(gap) => (Contents::Gap { end: gap.end }, AGE_UNKNOWN),
            Body::Commit(_) | Body::Ask(_) | Body::Answer(_) => return None,
        };
        let entry = LogEntry { key, epoch, clock_ms: now.as_millis(), age, contents };
        let length = entry.write(buf).ok()?;
        self.doing = Doing::Logging(key);
        Some(Chore::Log { length })
    }

    /// The driver has done what it was told to.
    pub fn done(&mut self, now: Instant, done: Done<'_>) {
        let doing = core::mem::replace(&mut self.doing, Doing::Nothing);
        match (doing, done) {
            (Doing::Storing, Done::Stored(is_stored)) => self.origin.stored(is_stored),
            (Doing::Fetching(number), Done::Fetched(Some(block))) => self.queue_block(now, number, block),
            (Doing::Fetching(number), Done::Fetched(None)) => self.origin.unreadable(now, number),
            (Doing::Giving(number), Done::Fetched(block)) => self.give(now, number, block),
            (Doing::Logging(key), Done::Logged(is_logged)) => self.logged(now, key, is_logged),
            // The driver speaks of something that it was not asked for.
            (doing, _) => self.doing = doing,
        }
    }

    /// The store had to overwrite blocks: it has none before this one any more.
    pub fn overwritten(&mut self, oldest: u32) {
        self.origin.overwritten(oldest);
    }

    pub(super) fn own_key(&self, number: u32) -> Key {
        Key { origin: self.id, store: self.origin.store().unwrap_or(0), number }
    }

    /// How old the first sample of a block of this node is, in units of 10 ms.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(super) fn age(&self, now: Instant, block: &BlockBytes<'_>) -> u32 {
        let is_of_this_boot = Some(block.epoch) == self.epoch;
        let age = u32::try_from(now.as_millis().saturating_sub(block.clock_ms) / 10).unwrap_or(AGE_UNKNOWN);
        if is_of_this_boot { age.min(AGE_UNKNOWN) } else { AGE_UNKNOWN }
    }

    fn queue_block(&mut self, now: Instant, number: u32, block: &[u8]) {
        let Some(read) = BlockBytes::read(block) else {
            self.origin.unreadable(now, number);
            return;
        };
        let age = self.age(now, &read);
        if self.has_logged(self.own_key(number)) {
            // It counts as sent, or the commit would be taken for a lie.
            self.origin.queued(number);
            self.origin.commit(wire::Commit { key: self.own_key(number), bits: 1 });
            return;
        }
        let turn = self.origin.turn(number);
        let records =
            Records { course: self.course(now), turn, hops_left: HOPS_MAX, key: self.own_key(number), age, block };
        self.queue_own(now, number, turn, |buf| records.write(buf).ok());
    }

    /// Whether this node leads and has a block of its own in its log already: it may have lost its power between the log and the
    /// note that the block is committed.
    fn has_logged(&self, key: Key) -> bool {
        self.leads() && self.marks.standing(key) == Standing::Settled
    }

    pub(super) fn queue_gap(&mut self, now: Instant, first: u32, end: u32) {
        if self.has_logged(self.own_key(end.saturating_sub(1))) {
            self.origin.commit(gap_commit(self.own_key(first), end));
            return;
        }
        let turn = self.origin.turn(first);
        let gap = Gap { turn, hops_left: HOPS_MAX, key: self.own_key(first), end };
        self.queue_own(now, first, turn, |buf| gap.write(buf).ok());
    }

    fn queue_own(&mut self, now: Instant, number: u32, turn: u8, write: impl FnOnce(&mut [u8]) -> Option<usize>) {
        let mut body = [0; BODY_MAX];
        let length = write(&mut body).unwrap_or(0);
        let body = body.get(..length).unwrap_or(&[]);
        if !body.is_empty() && self.queue.add(now, self.own_key(number), turn, true, body).is_ok() {
            self.origin.queued(number);
        } else {
            let wait = u64::from(100 + self.rng.below(200));
            self.origin.postpone(number, now + Duration::from_millis(wait));
            self.origin.slow_down();
        }
    }

    fn logged(&mut self, now: Instant, key: Key, is_logged: bool) {
        let Some(queued) = self.queue.remove(key) else { return };
        if queued.is_own {
            self.origin.left(now, key.number, &mut self.rng);
        }
        if !is_logged {
            return;
        }
        count(&mut self.counters.logged);
        let commit = match Body::read(&queued.body) {
            Some(Body::Gap(gap)) if self.marks.note_gap(key, gap.end).is_ok() => gap_commit(key, gap.end),
            Some(Body::Records(_)) if self.marks.note(key).is_ok() => self.marks.commit(key),
            _ => return,
        };
        self.tell(now, commit, GATHER);
        self.copy(now, &queued);
    }

    /// Lets an origin know that something of it is logged.
    pub(super) fn tell(&mut self, now: Instant, commit: wire::Commit, wait: Duration) {
        if commit.key.origin == self.id {
            self.origin.commit(commit);
        } else {
            self.commits.add(commit, self.id, HOPS_MAX, now + wait);
        }
    }
}
