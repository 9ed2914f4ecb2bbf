//! A node's own samples, from the moment when they are taken until a leader has logged them.
//!
//! ```text
//! samples -> open block -> closed block -> stored -> under way (at most four) -> committed -> may be overwritten
//!                                            |  overwritten before that: part of a gap, which is declared instead
//! ```
//! Custody stays here: a block is sent again until a commit comes, with waits that double. `base` is the first block
//! that is neither committed nor in a declared gap, `oldest` the first that the store still has, `next` the number of
//! the next to be stored. If `oldest` is above `base`, the blocks between them are lost, and nothing else is sent until
//! a leader has logged that. The driver stores `base` with every block, so after a restart it is at worst too low: then
//! a gap is declared that also names committed blocks, which loses nothing.

use super::block::{Block, Sample, Taken};
use super::wire::{Commit, NUMBER_MAX};
use crate::limits::WINDOW_MAX;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

const WINDOW: u8 = 4;
const _: () = assert!(WINDOW as usize == WINDOW_MAX);

/// How long to wait for a commit: at first, and at most.
const COMMIT_WAIT_MS: u64 = 2_000;
const COMMIT_WAIT_MAX_MS: u64 = 60_000;

/// Under backpressure the time between blocks doubles at most this often, and never beyond a minute: samples that are
/// not yet in a stored block are lost with the power.
const STRETCH_MAX: u8 = 3;
const EVERY_MAX: Duration = Duration::from_millis(60_000);

/// What a store contains after a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Its name, drawn when it was set up.
    pub store: u16,
    /// The number of the next block.
    pub next: u32,
    /// The first block that was not known to be committed when the newest one was stored, or the first one that is not
    /// released where that is later.
    pub base: u32,
    /// The first block that it still has; the next one where it has none.
    pub oldest: u32,
}

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Block(u32),
    /// The blocks from `first` to before `end` are lost.
    Gap {
        first: u32,
        end: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    /// When it is to be sent, again or for the first time.
    due: Instant,
    tries: u8,
    /// Counts every time that it is sent, to any leader.
    turn: u8,
    /// Whether it waits in the queue.
    is_queued: bool,
    is_committed: bool,
}

impl Flight {
    const NEW: Self = Self { due: Instant::ZERO, tries: 0, turn: 0, is_queued: false, is_committed: false };
}

#[derive(Clone, Debug)]
pub struct Origin {
    /// The store's name; none before it is known, and nothing is gathered until then.
    store: Option<u16>,
    open: Block,
    /// When the open block is closed; never if it is empty.
    closes: Instant,
    closed: Block,
    pub next: u32,
    pub base: u32,
    oldest: u32,
    /// Up to where the driver knows what is committed.
    released: u32,
    flights: [Flight; WINDOW_MAX],
    /// How many of them may be under way: one at first and after a commit that did not come in time, one more for each that did.
    window: u8,
    every: Duration,
    stretch: u8,
    /// Whether the phase of the blocks is drawn: boards that start together do not all send together.
    has_phase: bool,
    /// Samples that could not be kept.
    pub unstored: u32,
}

impl Default for Origin {
    fn default() -> Self {
        Self::new()
    }
}

impl Origin {
    pub const fn new() -> Self {
        Self {
            store: None,
            open: Block::new(),
            closes: Instant::NEVER,
            closed: Block::new(),
            next: 0,
            base: 0,
            oldest: 0,
            released: 0,
            flights: [Flight::NEW; WINDOW_MAX],
            window: 1,
            every: EVERY_MAX,
            stretch: 0,
            has_phase: false,
            unstored: 0,
        }
    }

    pub fn recover(&mut self, Recovered { store, next, base, oldest }: Recovered) {
        let next = next.max(oldest);
        *self = Self {
            store: Some(store),
            next,
            base: base.min(next),
            oldest,
            released: base,
            every: self.every,
            ..Self::new()
        };
    }

    pub fn store(&self) -> Option<u16> {
        self.store
    }

    /// Another time between blocks; the open one is closed by then, too.
    pub fn set_every(&mut self, now: Instant, every: Duration) {
        if every < self.every {
            self.close_by(now + every);
        }
        self.every = every;
    }

    /// The first block that the store still has.
    pub fn oldest(&self) -> u32 {
        self.oldest
    }

    /// Adds a sample to the open block.
    pub fn sample(&mut self, now: Instant, epoch: u16, sample: Sample, rng: &mut Rng) {
        if self.store.is_none() || self.next >= NUMBER_MAX {
            self.unstored = self.unstored.saturating_add(1);
            return;
        }
        let taken = Taken { clock_ms: now.as_millis(), sample };
        if self.open.push(epoch, taken).is_err() {
            self.close();
            if self.open.push(epoch, taken).is_err() {
                self.unstored = self.unstored.saturating_add(1);
            }
        }
        if self.closes == Instant::NEVER {
            let every = Duration::from_micros(self.every.as_micros() << self.stretch).min(EVERY_MAX.max(self.every));
            let is_first = !core::mem::replace(&mut self.has_phase, true);
            let share = if is_first { u64::from(rng.below(1_024)) } else { 1_024 };
            self.closes = now + Duration::from_micros(every.as_micros() * share / 1_024);
        }
    }

    /// The open block is closed by this time.
    pub fn close_by(&mut self, at: Instant) {
        if self.closes != Instant::NEVER {
            self.closes = self.closes.min(at);
        }
    }

    /// Closes the open block, if the one before has been stored.
    fn close(&mut self) {
        if self.closed.is_empty() && !self.open.is_empty() {
            self.closed = core::mem::take(&mut self.open);
            self.closes = Instant::NEVER;
        }
    }

    pub fn tick(&mut self, now: Instant) {
        if self.closes <= now {
            self.close();
        }
    }

    /// When the open block is closed; never, while the one before it is not stored.
    pub fn closing(&self) -> Instant {
        if self.closed.is_empty() { self.closes } else { Instant::NEVER }
    }

    /// When something is next to be sent.
    pub fn due(&self) -> Instant {
        self.candidates().map(|(_, flight)| flight.due).min().unwrap_or(Instant::NEVER)
    }

    /// The block that is to be stored now, with its number.
    pub fn to_store(&self) -> Option<(u32, &Block)> {
        (!self.closed.is_empty()).then_some((self.next, &self.closed))
    }

    /// The closed block is stored, or could not be.
    pub fn stored(&mut self, is_stored: bool) {
        if is_stored {
            self.next += 1;
        } else {
            self.unstored = self.unstored.saturating_add(1);
        }
        self.closed = Block::new();
    }

    /// The store no longer has what is before this block.
    pub fn overwritten(&mut self, oldest: u32) {
        self.oldest = self.oldest.max(oldest.min(self.next));
    }

    /// A block that should be in the store cannot be read.
    pub fn unreadable(&mut self, now: Instant, number: u32) {
        if number == self.base {
            self.oldest = self.oldest.max(number + 1);
        } else if let Some(flight) = self.flight(number) {
            // It is declared once those before it are through.
            flight.due = now + Duration::from_millis(COMMIT_WAIT_MS);
        }
    }

    fn has_gap(&self) -> bool {
        self.oldest > self.base
    }

    /// The blocks of the window that are not committed and not in the queue.
    fn candidates(&self) -> impl Iterator<Item = (u32, &Flight)> {
        let count = if self.has_gap() { 1 } else { self.next.saturating_sub(self.base).min(u32::from(self.window)) };
        let numbers = self.base..self.base.saturating_add(count);
        numbers.zip(&self.flights).filter(|(_, flight)| !flight.is_queued && !flight.is_committed)
    }

    /// What is due to be sent.
    pub fn wanted(&self, now: Instant) -> Option<Wanted> {
        let (number, _) = self.candidates().find(|(_, flight)| flight.due <= now)?;
        let gap = Wanted::Gap { first: self.base, end: self.oldest };
        Some(if self.has_gap() { gap } else { Wanted::Block(number) })
    }

    fn flight(&mut self, number: u32) -> Option<&mut Flight> {
        self.flights.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    /// The try of a block that is sent next.
    pub fn turn(&mut self, number: u32) -> u8 {
        self.flight(number).map_or(0, |flight| flight.turn & 0x0F)
    }

    pub fn queued(&mut self, number: u32) {
        if let Some(flight) = self.flight(number) {
            flight.is_queued = true;
            // Four bits of it travel; 0 is for what was never sent.
            flight.turn = flight.turn.checked_add(1).unwrap_or(16);
        }
    }

    /// There was no room for a block.
    pub fn postpone(&mut self, number: u32, until: Instant) {
        if let Some(flight) = self.flight(number) {
            flight.due = until;
        }
    }

    /// A block has left the queue: now its commit is waited for.
    pub fn left(&mut self, now: Instant, number: u32, rng: &mut Rng) {
        let chance = u64::from(rng.below(512));
        let Some(flight) = self.flight(number) else { return };
        flight.is_queued = false;
        let wait = (COMMIT_WAIT_MS << flight.tries.min(5)).min(COMMIT_WAIT_MAX_MS);
        flight.tries = flight.tries.saturating_add(1);
        // A quarter less to a quarter more.
        flight.due = now + Duration::from_micros(wait * 1_000 * (768 + chance) / 1_024);
        if flight.tries > 1 {
            self.window = 1;
            self.slow_down();
        }
    }

    /// Others cannot take what this node sends: blocks become rarer and larger.
    pub fn slow_down(&mut self) {
        self.stretch = (self.stretch + 1).min(STRETCH_MAX);
    }

    /// There is another leader: whatever is not committed is sent to it, from then on.
    pub fn begin_again(&mut self, from: Instant) {
        self.window = 1;
        for flight in self.flights.iter_mut().filter(|flight| !flight.is_committed) {
            flight.due = from;
            flight.tries = 0;
        }
    }

    /// A leader has logged some blocks, or a gap.
    pub fn commit(&mut self, Commit { key, bits }: Commit) {
        if self.store != Some(key.store) {
            return;
        }
        if bits == 0 {
            // A gap may have grown since, and then ends later; what is new of it is declared again.
            if key.number > self.base && key.number <= self.oldest {
                self.advance(key.number - self.base);
            }
            return;
        }
        let (base, next) = (self.base, self.next);
        let numbers = (0..16).filter(|bit| bits & 1 << bit != 0).map(|bit| key.number.saturating_add(bit));
        for number in numbers.filter(|number| (base..next).contains(number)) {
            // Nobody can have logged what was not sent. Where it was sent before a restart, the leader will say so again.
            let Some(flight) = self.flight(number).filter(|flight| flight.turn > 0) else { continue };
            let is_in_time = flight.tries <= 1 && !core::mem::replace(&mut flight.is_committed, true);
            flight.is_committed = true;
            if is_in_time {
                self.window = (self.window + 1).min(WINDOW);
                self.stretch = self.stretch.saturating_sub(1);
            }
        }
        let committed = self.flights.iter().take_while(|flight| flight.is_committed).count();
        self.advance(u32::try_from(committed).unwrap_or(0));
    }

    fn advance(&mut self, blocks: u32) {
        let shift = usize::try_from(blocks).unwrap_or(usize::MAX).min(WINDOW_MAX);
        self.flights.rotate_left(shift);
        self.flights.iter_mut().rev().take(shift).for_each(|flight| *flight = Flight::NEW);
        self.base += blocks;
    }

    /// Up to where blocks are committed, where that is news for the driver.
    pub fn take_release(&mut self) -> Option<u32> {
        let is_news = self.released < self.base;
        self.released = self.released.max(self.base);
        is_news.then_some(self.base)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{Origin, Recovered, Wanted};
    use crate::data::block::Sample;
    use crate::data::wire::{Commit, Key};
    use crate::limits::WINDOW_MAX;
    use crate::rng::Rng;
    use crate::time::{Duration, Instant};
    use crate::types::NodeId;

    const NOW: Instant = Instant::from_millis(1_000_000);

    /// A node whose store is new and has this many blocks, none of them committed.
    fn with_blocks(blocks: u32) -> Origin {
        let mut origin = Origin::new();
        origin.recover(Recovered { store: 7, next: 0, base: 0, oldest: 0 });
        (0..blocks).for_each(|_| origin.stored(true));
        origin
    }

    fn commit(number: u32, bits: u16) -> Commit {
        Commit { key: Key { origin: NodeId(1), store: 7, number }, bits }
    }

    #[test]
    fn at_most_a_window_is_under_way_and_commits_move_it_on() {
        let (mut origin, mut rng) = (with_blocks(13), Rng::new(1));
        assert_eq!(send(&mut origin, &mut rng), [0], "one at first");
        origin.commit(commit(0, u16::MAX));
        assert_eq!(origin.base, 1, "nobody can have logged the others, which were not sent");
        assert_eq!(send(&mut origin, &mut rng), [1, 2], "one more after each commit");
        origin.commit(commit(1, 0b11));
        assert_eq!(send(&mut origin, &mut rng), [3, 4, 5, 6]);
        assert_eq!(origin.wanted(NOW), None, "no more than {WINDOW_MAX}");
        origin.commit(commit(4, 0b11));
        assert_eq!((origin.base, origin.wanted(NOW)), (3, None), "the first is still missing");
        origin.commit(commit(3, 0b1));
        assert_eq!((origin.take_release(), origin.take_release()), (Some(6), None));
        assert_eq!(origin.wanted(NOW), Some(Wanted::Block(7)));
        let other = Commit { key: Key { store: 8, ..commit(6, 1).key }, bits: 1 };
        origin.commit(other);
        assert_eq!(origin.base, 6, "another store's");
        let later = NOW + Duration::from_millis(2_500);
        assert_eq!(origin.wanted(later), Some(Wanted::Block(6)), "no commit in two seconds and a half");
        origin.queued(6);
        origin.left(later, 6, &mut rng);
        assert_eq!(origin.wanted(later), None, "one at a time again");
    }

    /// Sends whatever may be sent; the numbers of the blocks.
    fn send(origin: &mut Origin, rng: &mut Rng) -> Vec<u32> {
        let mut sent = Vec::new();
        while let Some(Wanted::Block(number)) = origin.wanted(NOW) {
            origin.queued(number);
            origin.left(NOW, number, rng);
            sent.push(number);
        }
        sent
    }

    #[test]
    fn waits_for_commits_double_and_a_new_leader_ends_them() {
        let (mut origin, mut rng) = (with_blocks(1), Rng::new(2));
        let mut now = NOW;
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            origin.queued(0);
            origin.left(now, 0, &mut rng);
            let wait = origin.due().since(now).as_micros();
            assert!((seconds * 750_000..seconds * 1_250_000).contains(&wait), "{wait} µs, not {seconds} s");
            now = origin.due();
        }
        origin.begin_again(NOW);
        assert_eq!(origin.wanted(NOW), Some(Wanted::Block(0)));
    }

    #[test]
    fn what_was_overwritten_is_declared_before_anything_else_is_sent() {
        let mut origin = with_blocks(9);
        origin.overwritten(5);
        assert_eq!(origin.wanted(NOW), Some(Wanted::Gap { first: 0, end: 5 }));
        origin.overwritten(6);
        origin.commit(commit(5, 0));
        assert_eq!(origin.wanted(NOW), Some(Wanted::Gap { first: 5, end: 6 }), "it has grown meanwhile");
        origin.commit(commit(6, 0));
        assert_eq!(origin.wanted(NOW), Some(Wanted::Block(6)));
        origin.unreadable(NOW, 6);
        assert_eq!(origin.wanted(NOW), Some(Wanted::Gap { first: 6, end: 7 }));
    }

    #[test]
    fn samples_become_blocks_and_none_is_lost_in_silence() {
        let (mut origin, mut rng) = (with_blocks(0), Rng::new(3));
        origin.set_every(NOW, Duration::from_millis(10_000));
        let sample = Sample { values: [Some(1); 8] };
        origin.sample(NOW, 1, sample, &mut rng);
        let closes = origin.closing();
        assert!(closes < NOW + Duration::from_millis(10_000));
        origin.tick(closes);
        assert_eq!(origin.to_store().map(|(number, _)| number), Some(0));
        (0..40).for_each(|_| origin.sample(closes, 1, sample, &mut rng));
        assert!(origin.unstored > 0, "the driver does not store, and two blocks are full");
        origin.stored(true);
        origin.sample(closes, 1, sample, &mut rng);
        assert_eq!(origin.to_store().map(|(number, _)| number), Some(1));
    }

    #[test]
    fn a_shorter_time_between_blocks_counts_for_the_open_one() {
        let (mut origin, mut rng) = (with_blocks(0), Rng::new(3));
        origin.set_every(NOW, Duration::from_millis(86_400_000));
        origin.has_phase = true;
        origin.sample(NOW, 1, Sample { values: [Some(1); 8] }, &mut rng);
        assert_eq!(origin.closing(), NOW + Duration::from_millis(86_400_000));
        origin.set_every(NOW, Duration::from_millis(10_000));
        assert_eq!(origin.closing(), NOW + Duration::from_millis(10_000));
    }
}
