//! Messages waiting to be sent or acknowledged: each is kept once, however many neighbours are to get it.
//!
//! The pool is in the order of sending. The messages for one neighbour are a queue: the first of them has the number
//! [`Session::oldest`](super::session::Session::oldest), the next the one after.

use heapless::Vec;

use super::body::Parcel;
use crate::Full;
use crate::limits::{POOL_MAX, TABLE_MAX};
use crate::short_list::retain;

/// A slot of the neighbour table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub usize);

impl Slot {
    /// Every slot of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TABLE_MAX).map(Self)
    }
}

/// A message that waits in the pool. Those before it were to be sent earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolIndex(usize);

impl PoolIndex {
    /// Behind every message.
    pub const END: Self = Self(usize::MAX);
}

/// A set of slots in the neighbour table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slots(pub u32);

impl Slots {
    /// The set of one slot.
    pub const fn of(slot: Slot) -> Self {
        Self(1 << (slot.0 & 31))
    }

    /// Whether a slot is in the set.
    pub const fn contains(self, slot: Slot) -> bool {
        self.0 & Self::of(slot).0 != 0
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether nobody is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The slots, ascending.
    pub fn iter(self) -> impl Iterator<Item = Slot> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let slot = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            usize::try_from(slot).ok().map(Slot)
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    message: Parcel,
    to: Slots,
    is_latest_value: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    waiting: Vec<Waiting, POOL_MAX, u8>,
    high_water: u8,
}

impl Pool {
    pub const fn new() -> Self {
        Self { waiting: Vec::new(), high_water: 0 }
    }

    pub fn add(&mut self, message: Parcel, to: Slots, is_latest_value: bool) -> Result<(), Full> {
        self.waiting.push(Waiting { message, to, is_latest_value }).map_err(|_| Full)?;
        self.high_water = self.high_water.max(u8::try_from(self.waiting.len()).unwrap_or(u8::MAX));
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.waiting.is_full()
    }

    /// How many more messages fit.
    pub fn room(&self) -> usize {
        POOL_MAX - self.waiting.len()
    }

    /// The most messages that ever waited.
    pub fn high_water(&self) -> u8 {
        self.high_water
    }

    /// The messages for one slot in order, each with its index in the pool.
    pub fn queue(&self, slot: Slot) -> impl Iterator<Item = (PoolIndex, &Parcel)> {
        let is_for = move |waiting: &Waiting| waiting.to.contains(slot);
        self.waiting
            .iter()
            .enumerate()
            .filter(move |(_, waiting)| is_for(waiting))
            .map(|(at, waiting)| (PoolIndex(at), &waiting.message))
    }

    /// Whether the first `count` messages for a slot are states.
    pub fn are_states(&self, slot: Slot, count: u8) -> bool {
        let mut first = self.waiting.iter().filter(|waiting| waiting.to.contains(slot)).take(usize::from(count));
        first.all(|waiting| waiting.is_latest_value)
    }

    /// How many messages wait for a slot.
    pub fn count(&self, slot: Slot) -> usize {
        self.queue(slot).count()
    }

    /// The first `count` messages for a slot are delivered.
    pub fn delivered(&mut self, slot: Slot, count: u8) {
        let first = self.waiting.iter_mut().filter(|waiting| waiting.to.contains(slot)).take(usize::from(count));
        first.for_each(|waiting| waiting.to = waiting.to.without(Slots::of(slot)));
        retain(&mut self.waiting, |waiting| !waiting.to.is_empty());
    }

    /// Drops everything that is for none of these slots.
    pub fn keep(&mut self, slots: Slots) {
        for waiting in &mut self.waiting {
            waiting.to = Slots(waiting.to.0 & slots.0);
        }
        retain(&mut self.waiting, |waiting| !waiting.to.is_empty());
    }

    /// Drops everything for a slot.
    pub fn forget(&mut self, slot: Slot) {
        self.delivered(slot, u8::MAX);
    }

    /// Drops the older states for a slot that were not sent to it: those behind its first `sent` messages.
    pub fn replace_older(&mut self, slot: Slot, sent: u8) {
        let unsent = self.waiting.iter_mut().filter(|waiting| waiting.to.contains(slot)).skip(usize::from(sent));
        unsent
            .filter(|waiting| waiting.is_latest_value)
            .for_each(|waiting| waiting.to = waiting.to.without(Slots::of(slot)));
        retain(&mut self.waiting, |waiting| !waiting.to.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::{Pool, Slot, Slots};
    use crate::link::body::Parcel;

    fn pool(messages: &[(&[u8], u32, bool)]) -> Pool {
        let mut pool = Pool::new();
        for &(bytes, to, is_latest_value) in messages {
            let Ok(message) = Parcel::from_slice(bytes) else { panic!("it fits") };
            assert!(pool.add(message, Slots(to), is_latest_value).is_ok());
        }
        pool
    }

    fn queue(pool: &Pool, slot: Slot) -> std::vec::Vec<&[u8]> {
        pool.queue(slot).map(|(_, message)| &**message).collect()
    }

    #[test]
    fn each_slot_has_a_queue_of_its_own() {
        let mut pool = pool(&[(b"a", 0b011, false), (b"b", 0b110, false), (b"c", 0b010, false)]);
        assert_eq!(queue(&pool, Slot(1)), [b"a", b"b", b"c"]);
        pool.delivered(Slot(1), 2);
        assert_eq!(queue(&pool, Slot(1)), [b"c"]);
        assert_eq!(queue(&pool, Slot(0)), [b"a"]);
        pool.forget(Slot(2));
        assert_eq!(pool.count(Slot(2)), 0);
        pool.delivered(Slot(0), 1);
        assert_eq!(pool.waiting.len(), 1);
        assert_eq!(pool.high_water(), 3);
    }

    #[test]
    fn only_states_can_be_given_up_for_newer_ones() {
        let pool = pool(&[(b"1", 0b11, true), (b"2", 0b01, true), (b"x", 0b01, false)]);
        let counts = |slot| (1..=3).filter(|&count| pool.are_states(slot, count)).max();
        assert_eq!((counts(Slot(0)), counts(Slot(1))), (Some(2), Some(3)), "the third of slot 0 is no state");
    }

    #[test]
    fn a_newer_state_replaces_only_what_was_not_sent() {
        let mut pool = pool(&[(b"1", 0b11, true), (b"x", 0b01, false), (b"2", 0b01, true)]);
        pool.replace_older(Slot(0), 1);
        assert_eq!(queue(&pool, Slot(0)), [b"1", b"x"], "the first was sent, the second is no state");
        pool.replace_older(Slot(1), 0);
        assert_eq!(pool.count(Slot(1)), 0);
    }
}
