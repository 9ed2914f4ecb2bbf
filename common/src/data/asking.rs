//! How a node asks all others for their state, passes such questions on, and answers them.

use super::wire::{AGAIN_TURN, ANSWER_MAX, AnswerBytes, Ask, BODY_MAX, Body, Known};
use super::{Data, HOPS_MAX, LOOK_AGAIN, Verdict, count};
use crate::limits::NEIGHBOURS_MAX;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// Nodes wait a random time up to this before they answer, because all are asked almost at once.
const SPREAD_US: u32 = 200_000;

impl Data {
    /// Asks everybody, this node included; whoever is `known` keeps silent. The answers come out of
    /// [`poll_answer`](Self::poll_answer).
    pub fn ask(&mut self, now: Instant, number: u8, turn: u8, known: Known) {
        let ask = Ask { turn: turn & 15, hops_left: HOPS_MAX, asker: self.id, number, known };
        self.questions.take(now, ask, self.id, self.is_to_answer(&ask));
    }

    pub(super) fn receive_ask(&mut self, now: Instant, from: NodeId, ask: Ask) {
        if ask.asker != self.id {
            let ask = Ask { hops_left: ask.hops_left.saturating_sub(1), ..ask };
            self.questions.take(now, ask, from, self.is_to_answer(&ask));
        }
    }

    fn is_to_answer(&self, ask: &Ask) -> bool {
        match ask.again() {
            Some(again) => again.first.is_of_store(self.own_key(0)),
            None => ask.turn != AGAIN_TURN && !ask.known.has(self.id, ask.turn),
        }
    }

    pub(super) fn receive_answer(&mut self, now: Instant, answer: AnswerBytes<'_>) -> Verdict {
        if self.queue.has(answer.key(), answer.turn) || answer.from == self.id {
            return Verdict::Taken;
        }
        let is_mine = answer.asker == self.id;
        let Some(hops_left) = answer.hops_left.checked_sub(1).filter(|_| is_mine || self.has_way_back(answer)) else {
            count(&mut self.counters.dropped);
            return Verdict::Taken;
        };
        let mut copy = [0; BODY_MAX];
        let Ok(length) = AnswerBytes { hops_left, ..answer }.write(&mut copy) else { return Verdict::Malformed };
        let body = copy.get(..length).unwrap_or_default();
        match self.queue.add(now, answer.key(), answer.turn, false, body) {
            Ok(()) => Verdict::Taken,
            Err(_) => Verdict::NotTaken,
        }
    }

    fn has_way_back(&self, answer: AnswerBytes<'_>) -> bool {
        self.questions.way_back(answer.asker, answer.number).is_some()
    }

    /// Whether [`spread`](Self::spread) and [`answer`](Self::answer) have something to do.
    pub fn is_asked(&self, now: Instant) -> bool {
        self.asked_at() <= now
    }

    /// These are the neighbours that questions are passed on to.
    pub fn spread(&mut self, linked: &[NodeId]) {
        while let Some(question) = self.questions.unspread() {
            let (from, asker) = (question.from, question.ask.asker);
            let others = linked.iter().filter(|&&id| id != from && id != asker);
            // There is room for as many as there are links.
            question.to_ask = others.copied().take(NEIGHBOURS_MAX).collect();
            question.is_spread = true;
        }
    }

    /// This is the node's state: the answer to all that it was asked.
    pub fn answer(&mut self, now: Instant, contents: &[u8]) {
        while let Some(question) = self.questions.owed() {
            let Ask { turn, asker, number, .. } = question.ask;
            let answer = AnswerBytes { turn, hops_left: HOPS_MAX, asker, number, from: self.id, contents };
            let mut body = [0; BODY_MAX];
            let length = answer.write(&mut body).unwrap_or(0);
            let body = body.get(..length).unwrap_or_default();
            if self.queue.add(now, answer.key(), turn, true, body).is_err() {
                self.owes_at = now + LOOK_AGAIN;
                return;
            }
            question.owes = false;
            if asker != self.id
                && let Some(queued) = self.queue.find(answer.key())
            {
                queued.due = now + Duration::from_micros(u64::from(self.rng.below(SPREAD_US)));
            }
        }
    }

    /// When a question is to be looked at.
    pub(super) fn asked_at(&self) -> Instant {
        match (self.questions.is_unspread(), self.questions.is_owed()) {
            (true, _) => Instant::ZERO,
            (false, true) => self.owes_at,
            (false, false) => Instant::NEVER,
        }
    }

    /// The next answer to this node's own questions: who gives it, the question's number, and how many bytes of `buf` it takes.
    pub fn poll_answer(&mut self, buf: &mut [u8; ANSWER_MAX]) -> Option<(NodeId, u8, usize)> {
        let key = self.queue.iter().find(|queued| self.is_mine(queued.key))?.key;
        let queued = self.queue.remove(key)?;
        let Some(Body::Answer(AnswerBytes { from, number, contents, .. })) = Body::read(&queued.body) else {
            return None;
        };
        buf.get_mut(..contents.len())?.copy_from_slice(contents);
        Some((from, number, contents.len()))
    }
}
