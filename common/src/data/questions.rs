//! Questions to all nodes, on their way through the network, and the way back for the answers.
//!
//! A question goes to every linked neighbour, each of which takes it once and passes it on. Answers go back hop by hop,
//! each to the neighbour from which the question came first. That needs neither a leader nor routes, so it works even
//! where the election does not. The asker then asks again, in another turn, and says who has answered; only the others
//! answer again.
//!
//! Best effort: when there are more questions than room, the oldest is forgotten.

use heapless::Vec;

use super::wire::{AGAIN_TURN, Ask};
use crate::limits::{NEIGHBOURS_MAX, QUESTIONS_MAX};
use crate::short_list::retain;
use crate::time::Instant;
use crate::types::NodeId;

/// After this many misses over all neighbours, those that have not taken a question are passed over: another node may
/// reach them, or the next turn will.
const MISSES_MAX: u8 = 24;

#[derive(Clone, Debug)]
pub struct Question {
    /// What is asked, as this node passes it on.
    pub ask: Ask,
    /// The neighbour that it came from first; this node itself, where it asks.
    pub from: NodeId,
    /// Neighbours that are still to be asked.
    pub to_ask: Vec<NodeId, NEIGHBOURS_MAX, u8>,
    /// Whether that list was made.
    pub is_spread: bool,
    /// Whether this node has yet to answer.
    pub owes: bool,
    misses: u8,
    /// When the next neighbour is asked.
    pub due: Instant,
    since: Instant,
}

#[derive(Clone, Debug, Default)]
pub struct Questions {
    all: Vec<Question, QUESTIONS_MAX, u8>,
}

impl Questions {
    pub const fn new() -> Self {
        Self { all: Vec::new() }
    }

    /// Takes a question in; false if it is known in this turn or a later one.
    pub fn take(&mut self, now: Instant, ask: Ask, from: NodeId, owes: bool) -> bool {
        let question = Question {
            ask,
            from,
            to_ask: Vec::new(),
            // Nobody else has the blocks that this node is asked for.
            is_spread: ask.hops_left == 0 || owes && ask.turn == AGAIN_TURN,
            owes,
            misses: 0,
            due: now,
            since: now,
        };
        if let Some(known) = self.all.iter_mut().find(|known| known.ask.asker == ask.asker) {
            if known.ask.number == ask.number && known.ask.turn >= ask.turn {
                // Whoever asks knows the question.
                retain(&mut known.to_ask, |&id| id != from);
                return false;
            }
            *known = question;
            return true;
        }
        if self.all.is_full()
            && let Some(oldest) = self.all.iter_mut().min_by_key(|known| known.since)
        {
            *oldest = question;
            return true;
        }
        self.all.push(question).is_ok()
    }

    /// The neighbour that answers to a question go back to.
    pub fn way_back(&self, asker: NodeId, number: u8) -> Option<NodeId> {
        let is_it = |known: &&Question| known.ask.asker == asker && known.ask.number == number;
        self.all.iter().find(is_it).map(|known| known.from)
    }

    /// A question for this node's status that it has yet to answer.
    pub fn owed(&mut self) -> Option<&mut Question> {
        self.all.iter_mut().find(|known| known.owes && known.ask.turn != AGAIN_TURN)
    }

    pub fn is_owed(&self) -> bool {
        self.all.iter().any(|known| known.owes)
    }

    /// A question for blocks of this node of which it has yet to give some.
    pub fn unfinished(&mut self) -> Option<&mut Question> {
        self.all.iter_mut().find(|known| known.owes && known.ask.turn == AGAIN_TURN)
    }

    pub fn is_unspread(&self) -> bool {
        self.all.iter().any(|known| !known.is_spread)
    }

    /// A question of which it is not known yet who is to be asked.
    pub fn unspread(&mut self) -> Option<&mut Question> {
        self.all.iter_mut().find(|known| !known.is_spread)
    }

    pub fn due(&self) -> Instant {
        let waiting = self.all.iter().filter(|known| !known.to_ask.is_empty());
        waiting.map(|known| known.due).min().unwrap_or(Instant::NEVER)
    }

    /// Forgets those that are not due by `latest`.
    pub fn audit(&mut self, latest: Instant) {
        retain(&mut self.all, |known| known.due <= latest);
    }

    /// The question to pass on next, and to whom.
    pub fn next(&self, now: Instant) -> Option<(&Ask, NodeId)> {
        let mut due = self.all.iter().filter(|known| known.due <= now);
        due.find_map(|known| Some((&known.ask, *known.to_ask.first()?)))
    }

    /// A neighbour has taken a question.
    pub fn told(&mut self, asker: NodeId, to: NodeId) {
        if let Some(known) = self.all.iter_mut().find(|known| known.ask.asker == asker) {
            retain(&mut known.to_ask, |&id| id != to);
        }
    }

    /// It has not, and others go first.
    pub fn missed(&mut self, asker: NodeId, to: NodeId, again: Instant) {
        let Some(known) = self.all.iter_mut().find(|known| known.ask.asker == asker) else { return };
        known.misses = known.misses.saturating_add(1);
        known.due = again;
        if known.misses >= MISSES_MAX {
            known.to_ask.clear();
        } else if known.to_ask.first() == Some(&to) {
            known.to_ask.rotate_left(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Questions;
    use crate::data::wire::{Ask, Known};
    use crate::limits::QUESTIONS_MAX;
    use crate::time::Instant;
    use crate::types::NodeId;

    fn ask(asker: u16, number: u8, turn: u8) -> Ask {
        Ask { turn, hops_left: 9, asker: NodeId(asker), number, known: Known::default() }
    }

    #[test]
    fn a_question_is_taken_once_a_turn_and_goes_back_the_first_way() {
        let (mut questions, now) = (Questions::new(), Instant::ZERO);
        assert!(questions.take(now, ask(1, 7, 0), NodeId(2), true));
        assert!(!questions.take(now, ask(1, 7, 0), NodeId(3), true), "again, by another way");
        assert_eq!(questions.way_back(NodeId(1), 7), Some(NodeId(2)));
        assert!(questions.take(now, ask(1, 7, 1), NodeId(3), true), "the next turn");
        assert!(!questions.take(now, ask(1, 7, 0), NodeId(2), true), "the one before, belatedly");
        assert_eq!(questions.way_back(NodeId(1), 7), Some(NodeId(3)));
        assert!(questions.take(now, ask(1, 8, 0), NodeId(2), true), "another question");
        assert_eq!(questions.way_back(NodeId(1), 7), None);
    }

    #[test]
    fn of_too_many_questions_the_oldest_is_forgotten() {
        let mut questions = Questions::new();
        for asker in 1..=3 {
            assert!(questions.take(Instant::from_millis(u64::from(asker)), ask(asker, 0, 0), NodeId(9), true));
        }
        assert_eq!(QUESTIONS_MAX, 2);
        assert_eq!([1, 2, 3].map(|asker| questions.way_back(NodeId(asker), 0).is_some()), [false, true, true]);
    }

    #[test]
    fn neighbours_that_miss_a_question_are_asked_last_and_at_last_passed_over() {
        let (mut questions, now) = (Questions::new(), Instant::ZERO);
        questions.take(now, ask(1, 0, 0), NodeId(1), true);
        let Some(question) = questions.unspread() else { panic!("it was not spread") };
        question.to_ask.extend([NodeId(4), NodeId(5)]);
        assert_eq!(questions.next(now).map(|(_, to)| to), Some(NodeId(4)));
        questions.missed(NodeId(1), NodeId(4), now);
        assert_eq!(questions.next(now).map(|(_, to)| to), Some(NodeId(5)));
        questions.told(NodeId(1), NodeId(5));
        for _ in 0..super::MISSES_MAX - 2 {
            questions.missed(NodeId(1), NodeId(4), now);
            assert_eq!(questions.due(), now);
        }
        questions.missed(NodeId(1), NodeId(4), now);
        assert_eq!(questions.due(), Instant::NEVER);
    }
}
