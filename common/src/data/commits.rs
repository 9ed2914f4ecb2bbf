//! Commits that wait to be sent back to their origins. Best effort: a commit that finds no room or no way is dropped
//! and counted. Its block will be sent again, and committed again.

use heapless::Vec;

use super::wire::Commit;
use crate::limits::{COMMITS_MAX, COMMITS_WAITING_MAX};
use crate::short_list::retain;
use crate::time::Instant;
use crate::types::NodeId;

/// Commits are given up after this many misses.
const MISSES_MAX: u8 = 6;

/// A commit on its way back.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub commit: Commit,
    pub leader: NodeId,
    pub hops_left: u8,
    pub due: Instant,
    pub misses: u8,
    /// Whether it is in the frame that was sent last.
    is_sent: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Commits {
    waiting: Vec<Waiting, COMMITS_WAITING_MAX, u8>,
    /// Commits that were dropped.
    pub dropped: u32,
}

impl Commits {
    pub const fn new() -> Self {
        Self { waiting: Vec::new(), dropped: 0 }
    }

    /// Adds a commit. It takes the place of an earlier one of the same leader for the same store, because it says all that is
    /// still of use.
    pub fn add(&mut self, commit: Commit, leader: NodeId, hops_left: u8, due: Instant) {
        let is_older = |other: &Waiting| {
            let is_same = other.commit.key.is_of_store(commit.key) && other.leader == leader && !other.is_sent;
            is_same && (other.commit.bits == 0) == (commit.bits == 0)
        };
        if let Some(older) = self.waiting.iter_mut().find(|other| is_older(other)) {
            older.commit = commit;
            older.hops_left = hops_left;
            return;
        }
        let waiting = Waiting { commit, leader, hops_left, due, misses: 0, is_sent: false };
        if self.waiting.push(waiting).is_err() {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    pub fn due(&self) -> Instant {
        self.waiting.iter().map(|waiting| waiting.due).min().unwrap_or(Instant::NEVER)
    }

    /// The commit that has been due for longest.
    pub fn most_urgent(&self, now: Instant) -> Option<&Waiting> {
        self.waiting.iter().filter(|waiting| waiting.due <= now).min_by_key(|waiting| waiting.due)
    }

    /// Forgets those that are not due by `latest`.
    pub fn audit(&mut self, latest: Instant) {
        retain(&mut self.waiting, |waiting| waiting.due <= latest);
    }

    /// There is no way to this origin.
    pub fn drop_for(&mut self, origin: NodeId) {
        let before = self.waiting.len();
        retain(&mut self.waiting, |waiting| waiting.commit.key.origin != origin);
        self.dropped = self.dropped.saturating_add(u32::try_from(before - self.waiting.len()).unwrap_or(0));
    }

    /// Takes all commits of a leader, due or not, that go the same way. They stay here until the frame is acknowledged.
    pub fn gather(&mut self, leader: NodeId, goes: impl Fn(NodeId) -> bool) -> (Vec<Commit, COMMITS_MAX, u8>, u8) {
        let (mut gathered, mut hops_left) = (Vec::new(), u8::MAX);
        let same = self.waiting.iter_mut().filter(|one| one.leader == leader && goes(one.commit.key.origin));
        for waiting in same {
            waiting.is_sent = gathered.push(waiting.commit).is_ok();
            if waiting.is_sent {
                hops_left = hops_left.min(waiting.hops_left);
            }
        }
        (gathered, hops_left)
    }

    /// The frame with the gathered ones was acknowledged.
    pub fn delivered(&mut self) {
        retain(&mut self.waiting, |waiting| !waiting.is_sent);
    }

    /// It was not, and is sent again at this time.
    pub fn missed(&mut self, again: Instant) {
        let mut dropped = 0;
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.is_sent) {
            waiting.misses += 1;
            waiting.due = again;
            dropped += u32::from(waiting.misses >= MISSES_MAX);
            waiting.is_sent = false;
        }
        retain(&mut self.waiting, |waiting| waiting.misses < MISSES_MAX);
        self.dropped = self.dropped.saturating_add(dropped);
    }
}
