//! The origin's side: sends a command until the leader has ordered it, then waits until all have applied it. Every
//! command ends with an outcome.
//!
//! ```text
//!   Waiting ──── own key in an order, or the leader says so ────► Ordered ──── all have applied it, or time is up ───► Applied
//!      │                                                             └──── a later order for the register ────► Superseded
//!      └──── time is up ────► Expired          (the leader finds it out of range: Refused)
//! ```

use heapless::Vec;

use super::book::Order;
use super::command::{Command, Outcome};
use super::leading::HOPS_MAX;
use super::stamp::Stamp;
use super::wire::{Message, Status, Submit, Verdict};
use super::{Orders, age};
use crate::Full;
use crate::limits::SUBMISSIONS_MAX;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// The first retry comes after this time, the next after twice that, and so on.
const RETRY: Duration = Duration::from_millis(400);

/// How often that time doubles.
const DOUBLINGS_MAX: u8 = 3;

/// A command that is not known to be ordered by then has expired. Leaders refuse commands older than thirty seconds, so
/// none is ordered after its origin has reported it as expired.
const EXPIRES: Duration = Duration::from_millis(32_000);

/// How long nodes have to apply an ordered command before those that have are counted for the last time.
const COUNTED: Duration = Duration::from_millis(10_000);

/// Nodes are not counted before this time: all known nodes may have applied a command before the last has even reported
/// that it exists.
const SETTLED: Duration = Duration::from_millis(2_000);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Submission {
    number: u8,
    command: Command,
    since: Instant,
    /// When to send it, or to ask for it, again.
    due: Instant,
    tries: u8,
    /// When it was found to be ordered; never if it was not.
    ordered_at: Instant,
    /// As what, if known.
    stamp: Option<Stamp>,
    is_told: bool,
    /// The last count that the leader gave.
    applied: u8,
    known: u8,
    end: Option<Outcome>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Submitting {
    waiting: Vec<Submission, SUBMISSIONS_MAX, u8>,
    last: u8,
}

impl Submitting {
    pub const fn new() -> Self {
        Self { waiting: Vec::new(), last: 0 }
    }

    pub fn add(&mut self, now: Instant, command: Command) -> Result<u8, Full> {
        let number = self.last.wrapping_add(1);
        let submission = Submission {
            number,
            command,
            since: now,
            due: now,
            tries: 0,
            ordered_at: Instant::NEVER,
            stamp: None,
            is_told: false,
            applied: 1,
            known: 1,
            end: None,
        };
        self.waiting.push(submission).map_err(|_| Full)?;
        self.last = number;
        Ok(number)
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// When something is to be done.
    pub fn due(&self) -> Instant {
        let open = self.waiting.iter().filter(|submission| submission.end.is_none());
        open.map(|submission| submission.due.min(submission.ends())).min().unwrap_or(Instant::NEVER)
    }

    pub fn poll(&mut self) -> Option<(u8, Outcome)> {
        let untold = |submission: &Submission| submission.is_ordered() && !submission.is_told;
        if let Some(submission) = self.waiting.iter_mut().find(|submission| untold(submission)) {
            submission.is_told = true;
            return Some((submission.number, Outcome::Ordered));
        }
        let at = self.waiting.iter().position(|submission| submission.end.is_some())?;
        let Submission { number, end, .. } = self.waiting.remove(at);
        Some((number, end?))
    }

    fn find(&mut self, number: u8) -> Option<&mut Submission> {
        self.waiting.iter_mut().find(|submission| submission.number == number && submission.end.is_none())
    }
}

impl Submission {
    /// When it ends, whatever happens.
    fn ends(&self) -> Instant {
        if self.is_ordered() { self.ordered_at + COUNTED } else { self.since + EXPIRES }
    }

    fn is_ordered(&self) -> bool {
        self.ordered_at != Instant::NEVER
    }

    fn set_ordered(&mut self, now: Instant, stamp: Option<Stamp>) {
        self.stamp = self.stamp.or(stamp);
        if !self.is_ordered() {
            self.ordered_at = now;
            (self.due, self.tries) = (now + RETRY, 0);
        }
    }

    fn supersede(&mut self, leader: NodeId, index: u16) {
        self.end = Some(Outcome::Superseded { leader, index });
    }
}

impl Orders {
    /// Sends what is due, and ends what is over.
    pub(super) fn tend_submissions(&mut self, now: Instant) {
        let due: Vec<u8, SUBMISSIONS_MAX, u8> = self
            .submitting
            .waiting
            .iter()
            .filter(|submission| submission.end.is_none() && submission.due.min(submission.ends()) <= now)
            .map(|submission| submission.number)
            .collect();
        for number in due {
            self.tend(now, number);
        }
    }

    fn tend(&mut self, now: Instant, number: u8) {
        let Some(submission) = self.submitting.find(number) else { return };
        if submission.ends() <= now {
            let Submission { applied: by, known: of, .. } = *submission;
            let counted = Outcome::Applied { by, of };
            submission.end = Some(if submission.is_ordered() { counted } else { Outcome::Expired });
            return;
        }
        submission.due = now + RETRY.times(1 << submission.tries.min(DOUBLINGS_MAX));
        submission.tries = submission.tries.saturating_add(1);
        let (command, only_asks, age) = (submission.command, submission.is_ordered(), age(now, submission.since));
        let submit = Submit { hops: HOPS_MAX, only_asks, age, key: self.key(number), command };
        if self.standing.leads {
            let verdict = self.judge(now, submit);
            self.note_verdict(now, verdict);
        } else if let Some(next) = self.standing.next_hop {
            self.pass(next, &Message::Submit(submit));
        }
    }

    /// Takes note of what the leader says of a command of this node; false if it is another's.
    pub(super) fn note_verdict(&mut self, now: Instant, verdict: Verdict) -> bool {
        let Verdict { key, status, leader, index, applied, known, .. } = verdict;
        if key != self.key(key.number) {
            return false;
        }
        let mandate = self.newest.mandate;
        let stamp = (mandate.leader == leader).then_some(Stamp { mandate, index });
        let Some(submission) = self.submitting.find(key.number) else { return true };
        match status {
            Status::Unknown => {}
            Status::Refused => submission.end = Some(Outcome::Refused),
            Status::Superseded => {
                submission.set_ordered(now, None);
                submission.supersede(leader, index);
            }
            Status::Ordered => {
                submission.set_ordered(now, stamp);
                (submission.applied, submission.known) = (applied.max(1), known.max(applied));
                // Those that the leader hears of for the first time have had time to report.
                if applied >= known && now.since(submission.ordered_at) >= SETTLED {
                    submission.end = Some(Outcome::Applied { by: applied, of: known });
                }
            }
        }
        true
    }

    /// An order was applied here: it may be a command of this node, or take the place of one.
    pub(super) fn note_order(&mut self, now: Instant, order: &Order) {
        let Order { stamp, command, key, .. } = *order;
        let is_own = key == self.key(key.number);
        for submission in self.submitting.waiting.iter_mut().filter(|submission| submission.end.is_none()) {
            if is_own && submission.number == key.number {
                submission.set_ordered(now, Some(stamp));
                continue;
            }
            let (Command::Set { register, .. }, Command::Set { register: other, .. }) = (command, submission.command)
            else {
                continue;
            };
            if register == other && submission.stamp.is_some_and(|mine| mine < stamp) {
                submission.supersede(stamp.mandate.leader, stamp.index);
            }
        }
    }
}
