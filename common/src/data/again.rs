//! Blocks that a PC asks for again, at the nodes that made them: a gateway that came late, or that a copy did not reach.
//!
//! Such a question is an ASK of type 8 and names up to sixteen blocks of one store. It goes to everybody, and their origin
//! answers: one answer for each block, which its flash still has long after the block was committed.
//!
//! ```text
//! question  origin 2 store 2 first number 3 | bits 2: bit n asks for block number + n | zeros 7
//! answer    which of the sixteen 1 | age in 10 ms 3 | block
//!           which of the sixteen 1 | the oldest block that its origin has 3, where this one is not there
//! ```

use super::block::BlockBytes;
use super::wire::{ANSWER_MAX, Again, AnswerBytes, BODY_MAX};
use super::{Data, HOPS_MAX, LOOK_AGAIN};
use crate::limits::BLOCK_MAX;
use crate::time::Instant;

/// Bytes of an answer before its block.
const HEADER_BYTES: usize = 4;

const _: () = assert!(HEADER_BYTES + BLOCK_MAX <= ANSWER_MAX, "a block fits an answer");

/// What an origin says of a block that it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<'b> {
    /// Counted from the first that was asked for.
    pub which: u8,
    pub what: What<'b>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'b> {
    /// The block, and the age of its first sample in units of 10 ms.
    Block { age: u32, block: &'b [u8] },
    /// The origin does not have it, nor any before this one.
    Gone { oldest: u32 },
}

impl<'b> Given<'b> {
    /// Reads an answer; none if it is none of this kind.
    pub fn read(answer: &'b [u8]) -> Option<Self> {
        let (&[which, n0, n1, n2], block) = answer.split_first_chunk::<HEADER_BYTES>()?;
        let number = u32::from_le_bytes([n0, n1, n2, 0]);
        let what = match block {
            [] => What::Gone { oldest: number },
            _ => What::Block { age: number, block: BlockBytes::read(block).map(|_| block)? },
        };
        (which < 16).then_some(Self { which, what })
    }
}

impl Data {
    /// The block to read next for whoever asked.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(super) fn block_to_give(&mut self, now: Instant) -> Option<u32> {
        let question = self.questions.unfinished().filter(|_| self.owes_at <= now)?;
        self.owes_at = now + LOOK_AGAIN;
        question.ask.again().filter(|_| self.queue.takes_own()).map(Again::next)
    }

    /// The driver has read it, or it is not there.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(super) fn give(&mut self, now: Instant, number: u32, block: Option<&[u8]>) {
        self.owes_at = now;
        let said = match block.and_then(BlockBytes::read) {
            Some(read) => self.age(now, &read),
            None => self.origin.oldest(),
        };
        let Some(question) = self.questions.unfinished() else { return };
        let Some(again) = question.ask.again().filter(|again| again.next() == number) else {
            // It has been asked for something else meanwhile.
            return;
        };
        let (which, [n0, n1, n2, _]) = (again.which(), said.to_le_bytes());
        // The try tells relays which answer it is, of up to sixteen.
        let answer = AnswerBytes {
            turn: which,
            hops_left: HOPS_MAX,
            asker: question.ask.asker,
            number: question.ask.number,
            from: self.id,
            contents: &[which, n0, n1, n2],
        };
        let mut body = [0; BODY_MAX];
        let Ok(length) = answer.write_with(block.unwrap_or_default(), &mut body) else { return };
        let body = body.get(..length).unwrap_or_default();
        if self.queue.add(now, answer.key(), which, true, body).is_ok() {
            let left = again.without_next();
            (question.ask.known, question.owes) = (left.known(), left.bits != 0);
        }
    }
}
