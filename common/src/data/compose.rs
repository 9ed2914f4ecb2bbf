//! Which DATA frame is sent next, to whom, and what its answer, or the lack of one, means.

use super::ways::Ways;
use super::wire::{self, AGE_UNKNOWN, Body, Key};
use super::{Data, count, older};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// Gaps before a frame that got no answer is sent again, in milliseconds; half of it and up to as much again.
const GAPS_MS: [u32; 7] = [10, 20, 40, 80, 160, 320, 640];

/// A frame is given up after this many misses; its origin sends it again.
const MISSES_MAX: u8 = 12;

/// How long a frame waits that was not taken, and up to as much again; doubled up to four times.
const NOT_TAKEN_MS: u32 = 30;
const DOUBLINGS_MAX: u8 = 4;

/// Once a neighbour has missed this many frames in a row, the links are to ask it whether it is there.
const DOUBTED: u8 = 5;

/// A node that has sent a frame sends no other for this long, and up to as long again: the neighbour passes it on meanwhile, and
/// would collide with the next one.
const PAUSE_US: u32 = 6_000;

/// The frame that the links are sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    Nothing,
    Block { key: Key, to: NodeId },
    Commits { to: NodeId },
}

/// What came of a DATA frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Taken,
    NotTaken,
    /// None came, or the neighbour has no link to this node.
    Missing,
    /// The channel was never clear. That says nothing about the neighbour.
    Unsent,
}

impl Data {
    /// Writes the body of the next frame; to whom it goes, and its length.
    pub fn compose(&mut self, now: Instant, ways: &dyn Ways, buf: &mut [u8]) -> Option<(NodeId, usize)> {
        if now < self.rest_until.max(self.pause_until) || !self.is_gathering() || self.sending != Sending::Nothing {
            return None;
        }
        self.compose_commits(now, ways, buf).or_else(|| self.compose_block(now, ways, buf))
    }

    fn compose_commits(&mut self, now: Instant, ways: &dyn Ways, buf: &mut [u8]) -> Option<(NodeId, usize)> {
        loop {
            let (origin, leader) = {
                let first = self.commits.most_urgent(now)?;
                (first.commit.key.origin, first.leader)
            };
            let back = |origin| self.learned.back(now, origin).or_else(|| ways.to(origin));
            let Some(to) = back(origin) else {
                self.commits.drop_for(origin);
                continue;
            };
            let (gathered, hops_left) = self.commits.gather(leader, |origin| back(origin) == Some(to));
            let length = wire::write_commits(buf, hops_left, leader, &gathered).ok()?;
            self.sending = Sending::Commits { to };
            count(&mut self.counters.sent);
            return Some((to, length));
        }
    }

    fn compose_block(&mut self, now: Instant, ways: &dyn Ways, buf: &mut [u8]) -> Option<(NodeId, usize)> {
        if self.leads() {
            return None;
        }
        let waiting = self.queue.iter().filter(|queued| !queued.is_logging && queued.due <= now);
        let first = waiting.min_by_key(|queued| queued.due)?;
        let key = first.key;
        let to = match self.learned.up(now, ways) {
            Ok(to) => to,
            Err(again) => {
                self.pause_until = again;
                return None;
            }
        };
        let queued = self.queue.find(key)?;
        let length = match Body::read(&queued.body)? {
            Body::Records(records) => {
                let age = older(records.age, now.since(queued.since)).min(AGE_UNKNOWN);
                wire::Records { age, ..records }.write(buf).ok()?
            }
            Body::Gap(gap) => gap.write(buf).ok()?,
            Body::Commit(_) => return None,
        };
        self.sending = Sending::Block { key, to };
        count(&mut self.counters.sent);
        Some((to, length))
    }

    /// The frame that was composed last was answered, or was not.
    pub fn answered(&mut self, now: Instant, answer: Answer) {
        let sending = core::mem::replace(&mut self.sending, Sending::Nothing);
        let (Sending::Block { to, .. } | Sending::Commits { to }) = sending else { return };
        match answer {
            Answer::Taken | Answer::NotTaken => {
                self.learned.note(now, to, true);
            }
            Answer::Missing => {
                if self.learned.note(now, to, false) == DOUBTED {
                    self.doubted = Some(to);
                }
                count(&mut self.counters.missed);
            }
            Answer::Unsent => {}
        }
        let pause = u64::from(PAUSE_US + self.rng.below(PAUSE_US));
        self.pause_until = now + Duration::from_micros(pause);
        match sending {
            Sending::Block { key, .. } => self.block_answered(now, key, to, answer),
            Sending::Commits { .. } if answer == Answer::Taken => self.commits.delivered(),
            _ => {
                let gap = self.gap(2);
                self.commits.missed(now + gap);
            }
        }
    }

    fn block_answered(&mut self, now: Instant, key: Key, to: NodeId, answer: Answer) {
        let chance = u64::from(self.rng.below(1_024));
        let Some(queued) = self.queue.find(key) else { return };
        let (mut is_through, is_own) = (answer == Answer::Taken, queued.is_own);
        match answer {
            Answer::Taken => {}
            Answer::NotTaken => {
                queued.refusals = queued.refusals.saturating_add(1);
                let wait = u64::from(NOT_TAKEN_MS) << queued.refusals.min(DOUBLINGS_MAX);
                let wait = Duration::from_micros(wait * 1_000 * (1_024 + chance) / 1_024);
                queued.due = now + wait;
                self.learned.note_full(to, now + wait);
                if is_own {
                    self.origin.slow_down();
                }
            }
            Answer::Missing => {
                queued.misses += 1;
                is_through = queued.misses >= MISSES_MAX;
                queued.due = now + spread(queued.misses, chance);
                if is_through && !is_own {
                    count(&mut self.counters.dropped);
                }
            }
            Answer::Unsent => queued.due = now + spread(2, chance),
        }
        if is_through {
            self.queue.remove(key);
            if is_own {
                self.origin.left(now, key.number, &mut self.rng);
            }
        }
    }

    fn gap(&mut self, misses: u8) -> Duration {
        spread(misses, u64::from(self.rng.below(1_024)))
    }
}

/// The time before a frame is sent again.
fn spread(misses: u8, chance: u64) -> Duration {
    let at = usize::from(misses).saturating_sub(1).min(GAPS_MS.len() - 1);
    let gap = u64::from(GAPS_MS.get(at).copied().unwrap_or(6));
    Duration::from_micros(gap * 1_000 * (512 + chance) / 1_024)
}
