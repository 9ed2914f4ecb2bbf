//! Which DATA frame is sent next and to whom, and what follows from its answer or from silence.

use super::ways::Ways;
use super::wire::{self, AGE_UNKNOWN, Body, Key};
use super::{Data, count, older};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// Gaps before a frame that got no answer is sent again, in milliseconds. The wait is half of it plus a random part of
/// up to as much again.
const GAPS_MS: [u32; 7] = [10, 20, 40, 80, 160, 320, 640];

/// A frame is given up after this many misses; its origin sends it again.
const MISSES_MAX: u8 = 12;

/// How long a refused frame waits, plus a random part of up to as much again; doubled up to four times.
const NOT_TAKEN_MS: u32 = 30;
const DOUBLINGS_MAX: u8 = 4;

/// Once a neighbour has missed this many frames in a row, the link layer asks it whether it is still there.
const DOUBTED: u8 = 5;

/// After a frame, a node sends no other for this long, plus a random part of up to as much again: the neighbour passes
/// the frame on meanwhile, and would collide with the next one. Each frame without an answer lengthens the pause by
/// half, each answer halves it. So the pause grows where more than about 63 % of the frames get no answer: there the
/// channel is full, and sending at the same pace would only add collisions.
pub(super) const PAUSE_US: u32 = 6_000;
const PAUSE_MAX_US: u32 = 400_000;

/// The frame that the link layer is sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    Nothing,
    Block { key: Key, to: NodeId },
    Commits { to: NodeId },
    Question { asker: NodeId, to: NodeId },
}

/// What became of a DATA frame.
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
        if now < self.rest_until.max(self.pause_until) || self.is_alone || self.sending != Sending::Nothing {
            return None;
        }
        let commits = if self.is_gathering() { self.compose_commits(now, ways, buf) } else { None };
        commits.or_else(|| self.compose_question(now, buf)).or_else(|| self.compose_queued(now, ways, buf))
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

    fn compose_question(&mut self, now: Instant, buf: &mut [u8]) -> Option<(NodeId, usize)> {
        let (ask, to) = self.questions.next(now)?;
        let (asker, length) = (ask.asker, ask.write(buf).ok()?);
        self.sending = Sending::Question { asker, to };
        count(&mut self.counters.sent);
        Some((to, length))
    }

    fn compose_queued(&mut self, now: Instant, ways: &dyn Ways, buf: &mut [u8]) -> Option<(NodeId, usize)> {
        let waiting = self.queue.iter().filter(|queued| queued.due <= now && self.is_to_send(queued));
        let key = waiting.min_by_key(|queued| queued.due)?.key;
        let to = match key.answers() {
            Some((asker, number)) => {
                let Some(back) = self.questions.way_back(asker, number) else {
                    // The question was forgotten; its asker asks again.
                    self.queue.remove(key);
                    count(&mut self.counters.dropped);
                    return None;
                };
                back
            }
            None if key.is_copy() => {
                let Some(back) = self.way_to_reader(now, ways) else {
                    self.queue.remove(key);
                    count(&mut self.counters.copies_lost);
                    return None;
                };
                back
            }
            None => match self.learned.up(now, ways) {
                Ok(to) => to,
                Err(again) => {
                    self.pause_until = again;
                    return None;
                }
            },
        };
        let queued = self.queue.find(key)?;
        let length = match Body::read(&queued.body)? {
            Body::Records(records) => {
                let age = older(records.age, now.since(queued.since)).min(AGE_UNKNOWN);
                wire::Records { age, ..records }.write(buf).ok()?
            }
            Body::Gap(gap) => gap.write(buf).ok()?,
            Body::Answer(answer) => answer.write(buf).ok()?,
            Body::Commit(_) | Body::Ask(_) => return None,
        };
        self.sending = Sending::Block { key, to };
        count(&mut self.counters.sent);
        Some((to, length))
    }

    /// The frame that was composed last was answered, or was not.
    // Smaller on a board by itself than within its caller.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn answered(&mut self, now: Instant, answer: Answer) {
        let sending = core::mem::replace(&mut self.sending, Sending::Nothing);
        let (Sending::Block { to, .. } | Sending::Commits { to } | Sending::Question { to, .. }) = sending else {
            return;
        };
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
        self.pause_us = match answer {
            Answer::Taken | Answer::NotTaken => (self.pause_us / 2).max(PAUSE_US),
            Answer::Missing | Answer::Unsent => (self.pause_us + self.pause_us / 2).min(PAUSE_MAX_US),
        };
        let pause = u64::from(self.pause_us + self.rng.below(self.pause_us));
        self.pause_until = now + Duration::from_micros(pause);
        match sending {
            Sending::Block { key, .. } => self.block_answered(now, key, to, answer),
            Sending::Commits { .. } if answer == Answer::Taken => self.commits.delivered(),
            Sending::Commits { .. } => {
                let gap = self.gap(2);
                self.commits.missed(now + gap);
            }
            Sending::Question { asker, to } if answer == Answer::Taken => self.questions.told(asker, to),
            Sending::Question { asker, to } => {
                let gap = self.gap(2);
                self.questions.missed(asker, to, now + gap);
            }
            Sending::Nothing => {}
        }
    }

    fn block_answered(&mut self, now: Instant, key: Key, to: NodeId, answer: Answer) {
        let chance = u64::from(self.rng.below(1_024));
        let Some(queued) = self.queue.find(key) else { return };
        let is_own_block = queued.is_own && key.is_upward();
        let mut is_through = answer == Answer::Taken;
        match answer {
            Answer::Taken => {}
            Answer::NotTaken => {
                queued.refusals = queued.refusals.saturating_add(1);
                let wait = u64::from(NOT_TAKEN_MS) << queued.refusals.min(DOUBLINGS_MAX);
                let wait = Duration::from_micros(wait * 1_000 * (1_024 + chance) / 1_024);
                queued.due = now + wait;
                self.learned.note_full(to, now + wait);
                if is_own_block {
                    self.origin.slow_down();
                }
            }
            Answer::Missing => {
                queued.misses += 1;
                is_through = queued.misses >= MISSES_MAX;
                queued.due = now + spread(queued.misses, chance);
                if is_through && !is_own_block {
                    count(if key.is_copy() { &mut self.counters.copies_lost } else { &mut self.counters.dropped });
                }
            }
            Answer::Unsent => queued.due = now + spread(2, chance),
        }
        if is_through {
            self.queue.remove(key);
            if is_own_block {
                self.origin.left(now, key.number, &mut self.rng);
            }
        }
    }

    fn gap(&mut self, misses: u8) -> Duration {
        spread(misses, u64::from(self.rng.below(1_024)))
    }
}

/// How long to wait before a frame is sent again.
fn spread(misses: u8, chance: u64) -> Duration {
    let at = usize::from(misses).saturating_sub(1).min(GAPS_MS.len() - 1);
    let gap = u64::from(GAPS_MS.get(at).copied().unwrap_or(6));
    Duration::from_micros(gap * 1_000 * (512 + chance) / 1_024)
}
