//! The log of the board at one port: what to ask it for, and what it may overwrite.
//!
//! ```text
//! hello ──> asking ──LogTold, all told──> following ──an entry is missing, messages were dropped──> asking
//!              ^────LogTold, more────┘
//! ```
//! A board tells entries as it writes them. A PC that comes later, or misses one, asks. A board is told to let go only of what its
//! reader has on a disk, and only up to the first entry that is not; a reader that keeps nothing releases nothing.

use std::time::{Duration, Instant};

use common::host_link::ToBoard;

/// A board that has not answered for so long is asked again.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default)]
pub struct LogReader {
    /// All entries before this one have been told.
    next: u32,
    /// The board was told that all before this one are safe.
    released: u32,
    /// Since when an answer is due.
    asked: Option<Instant>,
    /// Whether an answer has ended with nothing left to tell.
    is_read: bool,
}

impl LogReader {
    /// The board is there, perhaps another one: it is asked for everything that nobody has yet.
    pub fn start(&mut self, now: Instant) -> ToBoard {
        *self = Self { asked: Some(now), ..Self::default() };
        ToBoard::ReadLog { from: 0 }
    }

    /// Whether the board has told its whole log once.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// An entry has come; what to ask for, if others are missing.
    pub fn handle_logged(&mut self, now: Instant, position: u32) -> Option<ToBoard> {
        match self.asked {
            Some(_) => self.look(now),
            None if position > self.next => Some(self.ask(now)),
            None => {
                self.next = self.next.max(position.saturating_add(1));
                None
            }
        }
    }

    /// An answer has ended; what to ask for next, if there is more.
    pub fn handle_told(&mut self, now: Instant, next: u32, end: u32) -> Option<ToBoard> {
        let is_new = next > self.next;
        self.is_read |= next >= end;
        (self.next, self.asked) = (self.next.max(next), None);
        // One that says nothing new has nothing more to say.
        (next < end && is_new).then(|| self.ask(now))
    }

    /// The board dropped messages: entries may be among them, and so may the answer that is due. Who keeps entries needs all
    /// that it has not released; who only shows them would read the whole log again and again.
    pub fn handle_lost(&mut self, now: Instant, keeps: bool) -> Option<ToBoard> {
        if keeps {
            self.next = self.released;
        }
        (keeps || self.asked.is_some()).then(|| self.ask(now))
    }

    /// Time has passed; what to ask for again, if an answer should have come.
    pub fn look(&mut self, now: Instant) -> Option<ToBoard> {
        let is_due = self.asked.is_some_and(|since| now.saturating_duration_since(since) > ANSWER_WAIT);
        is_due.then(|| self.ask(now))
    }

    /// Everything that was told so far is on the disk; what the board is to know of that.
    pub fn handle_committed(&mut self) -> Option<ToBoard> {
        (self.next > self.released).then(|| {
            self.released = self.next;
            ToBoard::ReleaseLog { before: self.next }
        })
    }

    fn ask(&mut self, now: Instant) -> ToBoard {
        self.asked = Some(now);
        ToBoard::ReadLog { from: self.next }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use common::host_link::ToBoard;

    use super::{ANSWER_WAIT, LogReader};

    const fn read(from: u32) -> ToBoard {
        ToBoard::ReadLog { from }
    }

    const fn release(before: u32) -> ToBoard {
        ToBoard::ReleaseLog { before }
    }

    #[test]
    fn a_log_is_read_to_its_end_and_then_followed() {
        let (now, mut reader) = (Instant::now(), LogReader::default());
        assert_eq!(reader.start(now), read(0));
        assert_eq!(reader.handle_logged(now, 40), None);
        assert_eq!(reader.handle_committed(), None, "whether something is missing before it is not known yet");
        assert_eq!(reader.handle_told(now, 44, 47), Some(read(44)));
        assert!(!reader.is_read());
        assert_eq!(reader.handle_committed(), Some(release(44)));
        assert_eq!(reader.handle_told(now, 47, 47), None);
        assert!(reader.is_read());
        assert_eq!(reader.handle_logged(now, 47), None);
        assert_eq!(reader.handle_committed(), Some(release(48)));
        assert_eq!(reader.handle_committed(), None, "it knows");
    }

    #[test]
    fn what_is_missing_is_asked_for_and_not_let_go() {
        let (now, mut reader) = (Instant::now(), LogReader::default());
        reader.start(now);
        assert_eq!(reader.handle_told(now, 10, 10), None);
        assert_eq!(reader.handle_committed(), Some(release(10)));
        assert_eq!(reader.handle_logged(now, 12), Some(read(10)), "where is 11?");
        assert_eq!(reader.handle_committed(), None);
        assert_eq!(reader.handle_told(now, 13, 13), None);
        assert_eq!(reader.handle_lost(now, true), Some(read(10)), "what came since may have holes");
        assert_eq!(reader.handle_committed(), None);
        assert_eq!(reader.handle_logged(now + ANSWER_WAIT + Duration::from_secs(1), 13), Some(read(10)), "no answer");
        assert_eq!(reader.handle_told(now, 14, 14), None);
        assert_eq!(reader.handle_committed(), Some(release(14)));
    }
    #[test]
    fn who_keeps_nothing_does_not_read_everything_again() {
        let (now, mut reader) = (Instant::now(), LogReader::default());
        reader.start(now);
        assert_eq!(reader.handle_lost(now, false), Some(read(0)), "the answer may be among what was lost");
        assert_eq!(reader.handle_told(now, 10, 10), None);
        assert_eq!(reader.handle_lost(now, false), None);
        assert_eq!(reader.look(now + ANSWER_WAIT * 2), None, "nothing is due");
    }

    #[test]
    fn a_board_that_did_not_answer_is_asked_again() {
        let (now, mut reader) = (Instant::now(), LogReader::default());
        reader.start(now);
        assert_eq!(reader.look(now), None);
        assert_eq!(reader.look(now + ANSWER_WAIT * 2), Some(read(0)));
        assert_eq!(reader.look(now + ANSWER_WAIT * 2), None);
    }
}
