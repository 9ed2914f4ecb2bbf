//! Which blocks the database lacks, and when to ask their origins for them. Does no input or output.
//!
//! The blocks of a store have numbers without holes. What was logged while no gateway ran, and copies that were lost, show
//! as numbers that are missing below the newest. Their origin still has most of them in flash, and gives up to sixteen at
//! once. One store is asked at a time; one that does not answer is asked again later, and later still.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use common::data::again::{Given, What};
use common::data::wire::{AGAIN_TURN, Again, Key as BlockKey};
use common::host_link::Question;
use common::types::NodeId;

/// A copy may be late: its number is not missing at once.
const SETTLE: Duration = Duration::from_secs(10);

/// A store that says nothing for so long is let be for a while, which doubles.
const PATIENCE: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(30);
const AGAIN_MAX: Duration = Duration::from_hours(1);

/// More stores than a network has. A board must not fill the memory with names that it makes up.
const STORES_MAX: usize = 4_096;

/// A node's store, by its network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoreKey {
    pub network: String,
    pub node: u16,
    pub device: u16,
}

/// What is known of a store.
#[derive(Clone, Debug)]
struct Store {
    /// No block from this one on has come.
    next: u32,
    /// Numbers before it that are missing, each range by its first.
    holes: BTreeMap<u32, u32>,
    /// It is not asked before.
    due: Instant,
    wait: Duration,
}

#[derive(Clone, Debug)]
struct Asked {
    store: StoreKey,
    number: u8,
    first: u32,
    /// What has not come yet.
    bits: u16,
    until: Instant,
}

#[derive(Clone, Debug, Default)]
pub struct CatchUp {
    stores: BTreeMap<StoreKey, Store>,
    asked: Option<Asked>,
    /// Of the last question.
    number: u8,
}

impl CatchUp {
    pub fn knows(&self, key: &StoreKey) -> bool {
        self.stores.contains_key(key)
    }

    /// A store with these blocks in the database, in order; returns how many below the newest are missing.
    pub fn begin(&mut self, now: Instant, key: StoreKey, stored: impl Iterator<Item = Range<u32>>) -> u32 {
        if self.stores.len() >= STORES_MAX {
            return 0;
        }
        let mut store = Store { next: 0, holes: BTreeMap::new(), due: now, wait: AGAIN };
        stored.for_each(|numbers| store.note(numbers));
        let missing = store.holes.iter().map(|(first, end)| end - first).sum();
        self.stores.insert(key, store);
        missing
    }

    /// These blocks of a store are in the database now, or lost for good.
    pub fn note(&mut self, now: Instant, key: &StoreKey, numbers: Range<u32>) {
        let Some(store) = self.stores.get_mut(key) else { return };
        if numbers.start > store.next {
            store.due = store.due.max(now + SETTLE);
        }
        store.note(numbers);
    }

    /// What to ask of whom now, of those networks that can be asked.
    pub fn poll(&mut self, now: Instant, is_there: impl Fn(&str) -> bool) -> Option<(StoreKey, Question)> {
        if self.asked.as_ref().is_some_and(|asked| now < asked.until) {
            return None;
        }
        if let Some(Asked { store, .. }) = self.asked.take()
            && let Some(silent) = self.stores.get_mut(&store)
        {
            silent.due = now + silent.wait;
            silent.wait = (silent.wait * 2).min(AGAIN_MAX);
        }
        let due = self.stores.iter().filter(|(_, store)| store.due <= now && !store.holes.is_empty());
        let (key, store) = due.filter(|(key, _)| is_there(&key.network)).min_by_key(|(_, store)| store.due)?;
        // The newest first, since the oldest may be gone.
        let (&start, &end) = store.holes.last_key_value()?;
        let first = start.max(end.saturating_sub(16));
        let bits = (0..16).filter(|bit| first + bit < end).fold(0, |bits, bit| bits | 1 << bit);
        self.number = self.number.wrapping_add(1);
        let key = key.clone();
        let name = BlockKey { origin: NodeId(key.node), store: key.device, number: first };
        let known = Again { first: name, bits }.known();
        self.asked = Some(Asked { store: key.clone(), number: self.number, first, bits, until: now + PATIENCE });
        Some((key, Question { number: self.number, turn: AGAIN_TURN, known }))
    }

    /// An answer has come; the block that it gives, if it is one that was asked for.
    pub fn hear<'b>(
        &mut self,
        now: Instant,
        network: &str,
        from: NodeId,
        number: u8,
        answer: &'b [u8],
    ) -> Option<(BlockKey, u32, &'b [u8])> {
        let asked = self.asked.as_mut()?;
        if (asked.number, asked.store.node, asked.store.network.as_str()) != (number, from.0, network) {
            return None;
        }
        let Given { which, what } = Given::read(answer).filter(|given| asked.bits & 1 << given.which != 0)?;
        asked.bits &= !(1 << which);
        asked.until = now + PATIENCE;
        let number = asked.first + u32::from(which);
        let store = self.stores.get_mut(&asked.store)?;
        (store.due, store.wait) = (store.due.max(now), AGAIN);
        let key = BlockKey { origin: from, store: asked.store.device, number };
        if asked.bits == 0 {
            self.asked = None;
        }
        // If it cannot be stored, the gateway ends.
        store.note(number..number + 1);
        match what {
            What::Block { age, block } => Some((key, age, block)),
            What::Gone { oldest } => {
                store.note(0..oldest.min(store.next));
                None
            }
        }
    }
}

impl Store {
    fn note(&mut self, Range { start, end }: Range<u32>) {
        // A gap of nothing is made up.
        if start >= end {
            return;
        }
        if start > self.next {
            self.holes.insert(self.next, start);
        }
        self.next = self.next.max(end);
        let touched: Vec<(u32, u32)> = self
            .holes
            .range(..end)
            .rev()
            .take_while(|&(_, &hole_end)| hole_end > start)
            .map(|(&a, &b)| (a, b))
            .collect();
        for (hole, hole_end) in touched {
            self.holes.remove(&hole);
            if hole < start {
                self.holes.insert(hole, start);
            }
            if end < hole_end {
                self.holes.insert(end, hole_end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use common::data::block::{Block, Sample, Taken};
    use common::data::wire::{Again, Ask};
    use common::host_link::Question;
    use common::types::NodeId;

    use super::{AGAIN, CatchUp, PATIENCE, SETTLE, StoreKey};

    fn key(node: u16) -> StoreKey {
        StoreKey { network: "garden".to_owned(), node, device: 700 }
    }

    fn blocks(question: Question) -> Again {
        let Question { number, turn, known } = question;
        Ask { turn, hops_left: 1, asker: NodeId(1), number, known }.again().unwrap()
    }

    fn block() -> Vec<u8> {
        let mut block = Block::new();
        block.push(2, Taken { clock_ms: 40_000, sample: Sample { values: [Some(1); 8] } }).unwrap();
        block.bytes().to_vec()
    }

    fn given(which: u8) -> Vec<u8> {
        [&[which, 50, 0, 0][..], &block()].concat()
    }

    #[test]
    fn what_is_missing_is_asked_for_from_the_newest_on() {
        let (now, mut catch_up) = (Instant::now(), CatchUp::default());
        assert_eq!(catch_up.begin(now, key(5), [3..5, 30..31].into_iter()), 3 + 25);
        let (to, question) = catch_up.poll(now, |_| true).unwrap();
        assert_eq!((to, blocks(question).first.number, blocks(question).bits), (key(5), 14, u16::MAX));
        assert!(catch_up.poll(now, |_| true).is_none(), "one at a time");
        for which in 0..16 {
            let answer = given(which);
            assert_eq!(catch_up.hear(now, "field", NodeId(5), question.number, &answer), None, "another network");
            let (key, age, _) = catch_up.hear(now, "garden", NodeId(5), question.number, &answer).unwrap();
            assert_eq!((key.number, age), (14 + u32::from(which), 50));
            assert_eq!(catch_up.hear(now, "garden", NodeId(5), question.number, &answer), None, "once");
        }
        let (_, question) = catch_up.poll(now, |_| true).unwrap();
        assert_eq!((blocks(question).first.number, blocks(question).bits), (5, 0x1FF));
        // The origin has nothing that old any more.
        assert_eq!(catch_up.hear(now, "garden", NodeId(5), question.number, &[0, 13, 0, 0]), None);
        let last = given(8);
        let (key, ..) = catch_up.hear(now, "garden", NodeId(5), question.number, &last).unwrap();
        assert_eq!(key.number, 13);
        assert!(catch_up.poll(now + PATIENCE, |_| true).is_none(), "nothing is missing that is still somewhere");
    }

    #[test]
    fn who_is_silent_is_let_be_and_others_have_their_turn() {
        let (now, mut catch_up) = (Instant::now(), CatchUp::default());
        for node in [5, 6] {
            assert_eq!(catch_up.begin(now, key(node), std::iter::once(1..2)), 1);
        }
        let asked = |catch_up: &mut CatchUp, at| catch_up.poll(at, |_| true).map(|(to, _)| to.node);
        assert!(catch_up.poll(now, |_| false).is_none(), "no board of that network is there");
        let first = asked(&mut catch_up, now).unwrap();
        let second = asked(&mut catch_up, now + PATIENCE).unwrap();
        assert_ne!(first, second);
        assert_eq!(asked(&mut catch_up, now + PATIENCE * 2), None);
        let later = now + PATIENCE + AGAIN;
        assert_eq!(asked(&mut catch_up, later), Some(first));
        assert_eq!(asked(&mut catch_up, later + PATIENCE), Some(second));
        assert_eq!(asked(&mut catch_up, later + PATIENCE + AGAIN), None, "twice as long");
    }

    #[test]
    fn a_copy_that_is_late_is_not_missing_yet() {
        let (now, mut catch_up) = (Instant::now(), CatchUp::default());
        assert_eq!(catch_up.begin(now, key(5), std::iter::once(0..4)), 0);
        #[expect(clippy::reversed_empty_ranges, reason = "as a board might say")]
        catch_up.note(now, &key(5), 9..2);
        catch_up.note(now, &key(5), 6..7);
        assert!(catch_up.poll(now, |_| true).is_none());
        catch_up.note(now, &key(5), 5..6);
        let (_, question) = catch_up.poll(now + SETTLE + Duration::from_millis(1), |_| true).unwrap();
        assert_eq!((blocks(question).first.number, blocks(question).bits), (4, 1));
    }
}
