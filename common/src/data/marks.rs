//! What a leader has logged of each store: the newest number and the fifteen before it.
//!
//! An origin has at most [`WINDOW_MAX`] blocks under way, beginning with its first that no leader has committed. So
//! when a block is logged, all that are sixteen or more numbers before it were committed by some leader or declared
//! lost, and sixteen bits suffice to tell the blocks that may still come from those that must not be logged again. That
//! also holds for marks that are rebuilt from a log after a restart.
//!
//! A lying member may send a block that its origin has not reached, and everything before it would seem settled. So a
//! number that does not follow those that are logged is only a *claim*, which settles nothing but itself until a block
//! near it comes. An honest origin, whose blocks went to another leader meanwhile, soon sends the next one; a single
//! lie has no successor.

use heapless::Vec;

use super::wire::{Commit, Key};
use crate::Full;
use crate::limits::{ORIGINS_MAX, WINDOW_MAX};
use crate::types::NodeId;

/// How many numbers a mark tells apart.
const BITS: u32 = 16;

/// A block follows another if it is at most this far ahead. Anything further would settle blocks that may still be
/// under way.
#[expect(clippy::cast_possible_truncation, reason = "a window is a few blocks")]
const NEAR: u32 = BITS - WINDOW_MAX as u32;

/// A number in three bytes, as on the air, because a leader has many marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Short([u8; 3]);

impl Short {
    /// Stands for no number.
    const NONE: Self = Self([0xFF; 3]);

    const fn of(number: u32) -> Self {
        let [low, middle, high, _] = number.to_le_bytes();
        Self([low, middle, high])
    }

    const fn get(self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    origin: NodeId,
    store: u16,
    /// The newest that is logged of those that follow one another; nothing where no bit is set.
    top: Short,
    /// A block that is logged too, far from those.
    claim: Short,
    /// Bit n says that the block n before the newest is logged.
    bits: u16,
}

/// How a block relates to the log.
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

    /// A gap that ends before this number is in the log. Its last block stands for it: the origin has none of the others.
    pub fn note_gap(&mut self, key: Key, end: u32) -> Result<(), Full> {
        self.note(key.with(end.saturating_sub(1)))
    }

    fn mark(&mut self, key: Key) -> Result<&mut Mark, Full> {
        let known = self.marks.iter().position(|mark| mark.origin == key.origin && mark.store == key.store);
        let fresh = Mark { origin: key.origin, store: key.store, top: Short::NONE, claim: Short::NONE, bits: 0 };
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
        let is_told = |mark: &&Mark| mark.before(key.number).is_some_and(|before| mark.has_bit(before));
        let Some(mark) = self.find(key).filter(is_told) else { return alone };
        // From the newest down becomes from the oldest up.
        let oldest = BITS - 1 - mark.bits.leading_zeros();
        let (Some(number), bits) =
            (mark.top.get().checked_sub(oldest), mark.bits.reverse_bits() >> (BITS - 1 - oldest))
        else {
            return alone;
        };
        Commit { key: key.with(number), bits }
    }
}

impl Mark {
    /// How many numbers a block is before the newest.
    fn before(&self, number: u32) -> Option<u32> {
        self.top.get().checked_sub(number)
    }

    fn has_bit(&self, before: u32) -> bool {
        before < BITS && self.bits & 1 << before != 0
    }

    fn has(&self, number: u32) -> bool {
        let is_settled = |before| self.has_bit(before) || before >= BITS && self.bits != 0;
        number == self.claim.get() || self.before(number).is_some_and(is_settled)
    }

    fn note(&mut self, number: u32) {
        if self.bits == 0 || number > self.top.get() + NEAR {
            match number.abs_diff(self.claim.get()) {
                0 => return,
                1..=NEAR if self.claim != Short::NONE => (self.top, self.bits) = (self.claim, 1),
                _ => {
                    self.claim = Short::of(number);
                    return;
                }
            }
        }
        if let Some(ahead) = number.checked_sub(self.top.get()).filter(|&ahead| ahead > 0) {
            self.bits = self.bits.checked_shl(ahead).unwrap_or(0);
            self.top = Short::of(number);
        }
        if let Some(before) = self.before(number).filter(|&before| before < BITS) {
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
        for number in [18, 24] {
            assert!(marks.note(key(number)).is_ok());
        }
        assert_eq!(marks.standing(key(6)), Standing::Settled, "somebody has committed it");
        assert_eq!(marks.commit(key(6)), Commit { key: key(6), bits: 1 });
        assert_eq!(marks.commit(key(18)), Commit { key: key(18), bits: 0b100_0001 });
    }

    #[test]
    fn a_block_that_does_not_follow_settles_only_itself() {
        for honest in [0, 40, 300] {
            let mut marks = Marks::new();
            (0..honest).for_each(|number| assert!(marks.note(key(number)).is_ok()));
            assert!(marks.note(key(5_000)).is_ok());
            assert_eq!(marks.standing(key(5_000)), Standing::Settled);
            assert_eq!(marks.commit(key(5_000)), Commit { key: key(5_000), bits: 1 });
            for number in honest..5_000 {
                assert_eq!(marks.standing(key(number)), Standing::New, "{number}, after {honest}");
                assert!(marks.note(key(number)).is_ok());
                assert_eq!(marks.standing(key(number)), Standing::Settled, "{number}, after {honest}");
            }
            assert_eq!(marks.commit(key(5_000)), Commit { key: key(5_000), bits: 1 });
            assert_eq!(marks.standing(key(5_001)), Standing::New);
        }
    }

    #[test]
    fn no_block_that_may_be_under_way_is_settled_by_one_that_follows() {
        for ahead in 1..100 {
            let mut marks = Marks::new();
            // The first of a window is still missing, and the last of it is logged.
            (0..20).chain([23]).for_each(|number| assert!(marks.note(key(number)).is_ok()));
            assert!(marks.note(key(23 + ahead)).is_ok());
            for number in 20..23 {
                assert_eq!(marks.standing(key(number)), Standing::New, "{number}, {ahead} ahead");
            }
        }
    }

    #[test]
    fn an_origin_that_went_on_with_another_leader_is_believed_with_its_second_block() {
        let mut marks = Marks::new();
        (0..20).for_each(|number| assert!(marks.note(key(number)).is_ok()));
        for number in [900, 902] {
            assert_eq!(marks.standing(key(number)), Standing::New);
            assert!(marks.note(key(number)).is_ok());
            assert_eq!(marks.standing(key(number)), Standing::Settled);
        }
        assert_eq!(marks.standing(key(901)), Standing::New);
        assert_eq!(marks.standing(key(700)), Standing::Settled);
        assert_eq!(marks.commit(key(900)), Commit { key: key(900), bits: 0b101 });
    }

    #[test]
    fn a_gap_is_known_by_its_last_block() {
        let mut marks = Marks::new();
        assert!(marks.note_gap(key(3), 40).is_ok());
        assert_eq!(marks.standing(key(39)), Standing::Settled);
        assert_eq!(marks.standing(key(38)), Standing::New, "the origin has lost it, and will not send it");
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
