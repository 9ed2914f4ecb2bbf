//! What a leader has logged of each store: the newest number and the fifteen before it.
//!
//! An origin has at most [`WINDOW_MAX`](crate::limits::WINDOW_MAX) blocks under way, beginning with its first that no leader has
//! committed. So where a block is logged, all that are sixteen or more numbers before it were committed by somebody, or declared
//! lost, and sixteen bits tell every block that may still come from every one that need not be logged again. That also holds
//! for marks that are rebuilt from a log after a restart.

use heapless::Vec;

use super::wire::{Commit, Key};
use crate::Full;
use crate::limits::ORIGINS_MAX;
use crate::types::NodeId;

/// Numbers that a mark tells apart.
const BITS: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    origin: NodeId,
    store: u16,
    /// The newest that is logged.
    top: u32,
    /// Bit n says that the block n before the newest is logged.
    bits: u16,
}

/// How a block stands to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    New,
    /// Logged here, or committed by another leader long ago.
    Settled,
    /// New, of an origin that there is no room for.
    Refused,
}

#[derive(Clone, Debug, Default)]
pub struct Marks {
    marks: Vec<Mark, ORIGINS_MAX, u8>,
}

impl Marks {
    pub const fn new() -> Self {
        Self { marks: Vec::new() }
    }

    fn find(&self, key: Key) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.origin == key.origin && mark.store == key.store)
    }

    pub fn standing(&self, key: Key) -> Standing {
        match self.find(key) {
            None if self.marks.is_full() && self.replaceable(key).is_none() => Standing::Refused,
            Some(mark) if mark.has(key.number) => Standing::Settled,
            _ => Standing::New,
        }
    }

    /// If there is no room, the mark of another store under the same id makes some: the board was exchanged or erased.
    fn replaceable(&self, key: Key) -> Option<usize> {
        self.marks.iter().position(|mark| mark.origin == key.origin)
    }

    /// A block is in the log.
    pub fn note(&mut self, key: Key) -> Result<(), Full> {
        self.mark(key)?.note(key.number);
        Ok(())
    }

    /// A gap that ends before this number is in the log: whatever was before it is settled.
    pub fn note_gap(&mut self, key: Key, end: u32) -> Result<(), Full> {
        let last = end.saturating_sub(1);
        let mark = self.mark(key)?;
        if last >= mark.top {
            mark.top = last;
            mark.bits = u16::MAX;
        }
        Ok(())
    }

    fn mark(&mut self, key: Key) -> Result<&mut Mark, Full> {
        let known = self.marks.iter().position(|mark| mark.origin == key.origin && mark.store == key.store);
        let fresh = Mark { origin: key.origin, store: key.store, top: key.number, bits: 0 };
        let at = match known {
            Some(at) => at,
            None if self.marks.push(fresh).is_ok() => self.marks.len() - 1,
            None => {
                let at = self.replaceable(key).ok_or(Full)?;
                *self.marks.get_mut(at).ok_or(Full)? = fresh;
                at
            }
        };
        self.marks.get_mut(at).ok_or(Full)
    }

    /// What to tell the origin of a settled block: of it, and of those near it.
    pub fn commit(&self, key: Key) -> Commit {
        let alone = Commit { key, bits: 1 };
        let Some(mark) = self.find(key).filter(|mark| mark.top < key.number + BITS && mark.top >= key.number) else {
            return alone;
        };
        // From the newest down becomes from the oldest up.
        let oldest = BITS - 1 - mark.bits.leading_zeros();
        let (Some(number), bits) = (mark.top.checked_sub(oldest), mark.bits.reverse_bits() >> (BITS - 1 - oldest))
        else {
            return alone;
        };
        Commit { key: key.with(number), bits }
    }
}

impl Mark {
    fn has(&self, number: u32) -> bool {
        match self.top.checked_sub(number) {
            None => false,
            Some(before) if before < BITS => self.bits & 1 << before != 0,
            Some(_) => true,
        }
    }

    fn note(&mut self, number: u32) {
        if let Some(ahead) = number.checked_sub(self.top).filter(|&ahead| ahead > 0) {
            self.bits = self.bits.checked_shl(ahead).unwrap_or(0);
            self.top = number;
        }
        let before = self.top - number;
        if before < BITS {
            self.bits |= 1 << before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Commit, Key, Marks, Standing};
    use crate::limits::ORIGINS_MAX;
    use crate::types::NodeId;

    fn key(number: u32) -> Key {
        Key { origin: NodeId(5), store: 9, number }
    }

    #[test]
    fn what_is_logged_is_known_whatever_the_order() {
        let mut marks = Marks::new();
        for number in [7, 5, 8] {
            assert_eq!(marks.standing(key(number)), Standing::New);
            assert!(marks.note(key(number)).is_ok());
            assert_eq!(marks.standing(key(number)), Standing::Settled);
        }
        assert_eq!(marks.standing(key(6)), Standing::New, "a hole stays one");
        assert_eq!(marks.commit(key(5)), Commit { key: key(5), bits: 0b1101 });
        assert!(marks.note(key(30)).is_ok());
        assert_eq!(marks.standing(key(6)), Standing::Settled, "somebody has committed it");
        assert_eq!(marks.commit(key(6)), Commit { key: key(6), bits: 1 });
        assert_eq!(marks.commit(key(30)), Commit { key: key(30), bits: 1 });
    }

    #[test]
    fn a_gap_settles_what_was_before_its_end() {
        let mut marks = Marks::new();
        assert!(marks.note_gap(key(3), 40).is_ok());
        assert_eq!(marks.standing(key(39)), Standing::Settled);
        assert_eq!(marks.standing(key(40)), Standing::New);
    }

    #[test]
    fn more_origins_than_there_is_room_for_are_refused_and_exchanged_boards_are_not() {
        let mut marks = Marks::new();
        let of = |origin: usize, store| Key { origin: NodeId(u16::try_from(origin).unwrap_or(0)), store, number: 1 };
        (1..=ORIGINS_MAX).for_each(|origin| assert!(marks.note(of(origin, 1)).is_ok()));
        assert_eq!(marks.standing(of(ORIGINS_MAX + 1, 1)), Standing::Refused);
        assert!(marks.note(of(ORIGINS_MAX + 1, 1)).is_err());
        assert_eq!(marks.standing(of(3, 2)), Standing::New);
        assert!(marks.note(of(3, 2)).is_ok());
        assert_eq!(marks.standing(of(3, 2)), Standing::Settled);
    }
}
