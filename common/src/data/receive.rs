//! Handles the DATA frames of neighbours: passes blocks on or logs them, and learns what was logged.

use super::marks::Standing;
use super::wire::{BODY_MAX, Body, CommitBytes, Course, Gap, Key, Records};
use super::{Data, count, gap_commit};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How long a relay waits for more commits that go the same way, to send them in one frame.
const GATHER: Duration = Duration::from_millis(40);

/// How a node answers a DATA frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// There is no room; the sender is to wait.
    NotTaken,
    Malformed,
}

/// What a relay needs to know of a frame on its way to the leader.
#[derive(Clone, Copy, Debug)]
struct Upward {
    key: Key,
    turn: u8,
    hops_left: u8,
    /// Of a gap, the first block behind it.
    gap_end: Option<u32>,
}

impl Data {
    /// A linked neighbour has sent a DATA frame.
    pub fn receive(&mut self, now: Instant, from: NodeId, body: &[u8]) -> Verdict {
        let verdict = match Body::read(body) {
            Some(Body::Records(copy)) if copy.course == Course::ToReader => self.receive_copy(now, copy),
            Some(Body::Records(Records { course, turn, hops_left, key, .. })) => {
                if course == Course::FromReader {
                    self.note_reader(now, key.origin);
                }
                self.receive_up(now, from, Upward { key, turn, hops_left, gap_end: None }, body)
            }
            Some(Body::Gap(Gap { turn, hops_left, key, end })) => {
                self.receive_up(now, from, Upward { key, turn, hops_left, gap_end: Some(end) }, body)
            }
            Some(Body::Commit(commits)) => {
                self.receive_commits(now, commits);
                Verdict::Taken
            }
            Some(Body::Ask(ask)) => {
                self.receive_ask(now, from, ask);
                Verdict::Taken
            }
            Some(Body::Answer(answer)) => self.receive_answer(now, answer),
            None => Verdict::Malformed,
        };
        match verdict {
            Verdict::Taken => count(&mut self.counters.taken),
            Verdict::NotTaken => count(&mut self.counters.not_taken),
            Verdict::Malformed => {}
        }
        verdict
    }

    fn receive_up(&mut self, now: Instant, from: NodeId, upward: Upward, body: &[u8]) -> Verdict {
        let Upward { key, turn, hops_left, gap_end } = upward;
        if key.origin == self.id {
            // It went in a circle. Its origin has it anyway.
            return Verdict::Taken;
        }
        self.learned.learn(now, key.origin, from);
        if self.queue.has(key, turn) {
            return Verdict::Taken;
        }
        let Some(hops_left) = hops_left.checked_sub(1) else {
            count(&mut self.counters.dropped);
            return Verdict::Taken;
        };
        if self.leads() {
            // Of a gap the last block decides: it is settled once the gap is.
            match self.marks.standing(key.with(gap_end.map_or(key.number, |end| end - 1))) {
                Standing::New => {}
                Standing::Settled => {
                    count(&mut self.counters.repeated);
                    let commit = gap_end.map_or_else(|| self.marks.commit(key), |end| gap_commit(key, end));
                    self.tell(now, commit, Duration::ZERO);
                    return Verdict::Taken;
                }
                Standing::Refused => {
                    count(&mut self.counters.refused);
                    return Verdict::NotTaken;
                }
            }
        }
        let mut copy = [0; BODY_MAX];
        let Some(copied) = copy.get_mut(..body.len()) else { return Verdict::Malformed };
        copied.copy_from_slice(body);
        if let Some(hops) = copied.get_mut(1) {
            *hops = hops_left;
        }
        if self.queue.add(now, key, turn, false, copied).is_ok() { Verdict::Taken } else { Verdict::NotTaken }
    }

    fn receive_commits(&mut self, now: Instant, commits: CommitBytes<'_>) {
        for commit in commits.iter() {
            if commit.key.origin == self.id {
                self.origin.commit(commit);
            } else if let Some(hops_left) = commits.hops_left.checked_sub(1) {
                self.commits.add(commit, commits.leader, hops_left, now + GATHER);
            }
        }
    }
}
