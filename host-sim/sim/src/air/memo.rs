//! Two aids to finding out who reaches whom: remembered results, and radios put in order without sorting.

use std::ops::Range;

use super::index::RadioIndex;

/// Results remembered: a power of two, more than there are distances between the radios of most grids in reach of each other.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 10;

/// The latest results of a function of one number. It gives exactly what the function would.
#[derive(Debug)]
pub struct Memo<T> {
    slots: Vec<Option<(u64, T)>>,
}

impl<T: Copy> Default for Memo<T> {
    fn default() -> Self {
        Self { slots: vec![None; SLOTS] }
    }
}

impl<T: Copy> Memo<T> {
    /// What the function gives for this number, which must be the same function every time.
    pub fn get(&mut self, number: f64, function: impl FnOnce(f64) -> T) -> T {
        let bits = number.to_bits();
        // The first bits of the product depend on all bits of the number.
        let slot = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SLOT_BITS);
        let slot = &mut self.slots[slot as usize];
        match slot {
            Some((known, result)) if *known == bits => *result,
            _ => slot.insert((bits, function(number))).1,
        }
    }
}

const WORD: usize = u64::BITS as usize;

/// Radios with a note each, entered in any order and taken out in ascending order. It has one bit per radio: looking through
/// them costs less than sorting.
#[derive(Debug)]
pub struct Roll<T> {
    present: Vec<u64>,
    notes: Vec<T>,
    /// Words outside of these, from the first to before the last, have no bit set.
    words: Range<usize>,
}

const NO_WORDS: Range<usize> = Range { start: usize::MAX, end: 0 };

impl<T: Copy + Default> Roll<T> {
    /// An empty roll for this many radios.
    pub fn new(radios: usize) -> Self {
        let words = radios.div_ceil(WORD);
        Self { present: vec![0; words], notes: vec![T::default(); radios], words: NO_WORDS }
    }

    pub fn enter(&mut self, RadioIndex(radio): RadioIndex, note: T) {
        let word = radio / WORD;
        self.present[word] |= 1 << (radio % WORD);
        self.notes[radio] = note;
        let Range { start, end } = self.words;
        self.words = start.min(word)..end.max(word + 1);
    }

    /// Takes all radios out, in ascending order.
    pub fn take(&mut self) -> impl Iterator<Item = (RadioIndex, T)> {
        let Range { start: mut at, end } = std::mem::replace(&mut self.words, NO_WORDS);
        let (present, notes) = (&mut self.present, &self.notes);
        std::iter::from_fn(move || {
            while at < end && present[at] == 0 {
                at += 1;
            }
            if at >= end {
                return None;
            }
            let radio = at * WORD + present[at].trailing_zeros() as usize;
            present[at] &= present[at] - 1;
            Some((RadioIndex(radio), notes[radio]))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use common::rng::Rng;

    use super::{Memo, RadioIndex, Roll, SLOTS};

    #[test]
    fn a_memo_tells_what_the_function_would() {
        let (mut memo, mut asked) = (Memo::default(), 0);
        for _ in 0..2 {
            // More numbers than it can remember.
            for number in (0..3 * SLOTS).map(|n| f64::from(u32::try_from(n).unwrap())) {
                let result = memo.get(number, |number| {
                    asked += 1;
                    number.sqrt()
                });
                assert_eq!(result.to_bits(), number.sqrt().to_bits());
            }
        }
        assert!(asked > 3 * SLOTS, "{asked}");
        let before = asked;
        for _ in 0..100 {
            memo.get(2.0, |_| {
                asked += 1;
                2_f64.sqrt()
            });
        }
        assert!(asked <= before + 1, "what was just asked is remembered");
    }

    #[test]
    fn a_roll_is_in_order_and_empty_afterwards() {
        let mut rng = Rng::new(6);
        let mut roll = Roll::new(1_000);
        for _ in 0..50 {
            let mut entered = BTreeMap::new();
            for _ in 0..rng.below(200) {
                let radio = RadioIndex(rng.below(1_000) as usize);
                let number = f64::from(rng.next_u32());
                roll.enter(radio, number);
                entered.insert(radio, number);
            }
            assert_eq!(roll.take().collect::<Vec<_>>(), entered.into_iter().collect::<Vec<_>>());
        }
        assert_eq!(roll.take().count(), 0);
    }
}
