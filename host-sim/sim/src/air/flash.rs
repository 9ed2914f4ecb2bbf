//! What a simulated driver keeps over power cuts for collection: the store of its own blocks, and the log of those it gathered.
//!
//! What an operation has put here is kept, as flash keeps it; what was only in the node's memory is lost with the power. The
//! store has room for a number of blocks; when it is full it overwrites a page of the oldest, as a board erases pages. The log
//! never fills: somebody reads it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use common::data::log_entry::{Contents, LogEntry};
use common::data::origin::Recovered;
use common::data::wire::Key;

/// Blocks that are overwritten together: those of a page.
const PAGE: usize = 32;

/// What happened in a flash, for the judge of collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlashEvent {
    Stored {
        store: u16,
        number: u32,
        block: Vec<u8>,
    },
    Logged {
        key: Key,
        block: Vec<u8>,
    },
    GapLogged {
        key: Key,
        end: u32,
    },
    /// The blocks of this store before this number are no longer there, since they are committed or were overwritten.
    Dropped {
        store: u16,
        before: u32,
    },
    Erased,
}

/// A desk that takes the nodes' logs in place of their flash: it gets each entry, and says whether it keeps it.
#[derive(Clone)]
pub struct Desk(Rc<RefCell<Keep>>);

type Keep = dyn FnMut(&[u8]) -> bool;

impl Desk {
    pub fn new(keep: impl FnMut(&[u8]) -> bool + 'static) -> Self {
        Self(Rc::new(RefCell::new(keep)))
    }

    fn keep(&self, entry: &[u8]) -> bool {
        (self.0.borrow_mut())(entry)
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Desk")
    }
}

/// Shared by all lives of a node.
pub type SharedFlash = Rc<RefCell<Flash>>;

#[derive(Debug)]
pub struct Flash {
    /// The name of the store, another one after it was erased.
    name: u16,
    capacity: usize,
    blocks: BTreeMap<u32, Vec<u8>>,
    next: u32,
    base: u32,
    log: Vec<Vec<u8>>,
    /// Whether nothing can be written in this life.
    is_failing: bool,
    /// Where a log entry must be before it counts, besides the log itself.
    desk: Option<Desk>,
    events: Vec<FlashEvent>,
    /// Blocks of which its PC was shown a copy. A PC keeps them, whatever becomes of the flash.
    shown: BTreeSet<Key>,
}

impl Flash {
    /// A new one, whose store has room for this many blocks.
    pub fn new(name: u16, capacity: usize) -> Self {
        Self {
            name,
            capacity: capacity.max(PAGE + 1),
            blocks: BTreeMap::new(),
            next: 0,
            base: 0,
            log: Vec::new(),
            is_failing: false,
            desk: None,
            events: Vec::new(),
            shown: BTreeSet::new(),
        }
    }

    pub fn erase(&mut self, name: u16) {
        let (events, desk) = (std::mem::take(&mut self.events), self.desk.take());
        let shown = std::mem::take(&mut self.shown);
        *self = Self { desk, events, shown, ..Self::new(name, self.capacity) };
        self.events.push(FlashEvent::Erased);
    }

    /// From now on an entry of the log counts once this desk has it.
    pub fn attach(&mut self, desk: Desk) {
        self.desk = Some(desk);
    }

    pub fn set_failing(&mut self, is_failing: bool) {
        self.is_failing = is_failing;
    }

    pub fn recovered(&self) -> Recovered {
        let oldest = self.blocks.keys().next().copied().unwrap_or(self.next);
        Recovered { store: self.name, next: self.next, base: self.base, oldest }
    }

    pub fn log(&self) -> impl Iterator<Item = LogEntry<'_>> {
        self.log.iter().filter_map(|bytes| LogEntry::read(bytes))
    }

    /// Stores a block; none if that failed, or the first block that was overwritten by nobody.
    pub fn store(&mut self, number: u32, block: &[u8]) -> Option<u32> {
        if self.is_failing {
            return None;
        }
        if self.blocks.len() >= self.capacity {
            let kept = self.blocks.keys().nth(PAGE).copied().unwrap_or(number);
            self.blocks = self.blocks.split_off(&kept);
            self.events.push(FlashEvent::Dropped { store: self.name, before: kept });
        }
        self.blocks.insert(number, block.to_vec());
        self.next = number + 1;
        self.events.push(FlashEvent::Stored { store: self.name, number, block: block.to_vec() });
        self.blocks.keys().next().copied()
    }

    pub fn fetch(&self, number: u32) -> Option<&[u8]> {
        self.blocks.get(&number).map(Vec::as_slice)
    }

    pub fn release(&mut self, base: u32) {
        if !self.is_failing && base > self.base {
            self.base = base;
            self.events.push(FlashEvent::Dropped { store: self.name, before: base });
        }
    }

    /// Appends to the log; false if that failed.
    pub fn append(&mut self, entry: &[u8]) -> bool {
        let Some(read) = LogEntry::read(entry).filter(|_| !self.is_failing) else { return false };
        if self.desk.as_ref().is_some_and(|desk| !desk.keep(entry)) {
            return false;
        }
        self.events.push(match read.contents {
            Contents::Block(block) => FlashEvent::Logged { key: read.key, block: block.to_vec() },
            Contents::Gap { end } => FlashEvent::GapLogged { key: read.key, end },
        });
        self.log.push(entry.to_vec());
        true
    }

    /// The PC on its cable is shown a copy of what the leader has logged.
    pub fn show(&mut self, entry: &[u8]) {
        self.shown.extend(LogEntry::read(entry).map(|entry| entry.key));
    }

    pub fn shown(&self) -> &BTreeSet<Key> {
        &self.shown
    }

    pub fn take_events(&mut self) -> Vec<FlashEvent> {
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::{Flash, FlashEvent, PAGE};

    #[test]
    fn a_full_store_overwrites_a_page_and_tells_what_is_left() {
        let page = u32::try_from(PAGE).unwrap();
        let mut flash = Flash::new(7, 2 * PAGE);
        for number in 0..2 * page {
            assert_eq!(flash.store(number, &[1]), Some(0));
        }
        assert_eq!(flash.store(2 * page, &[1]), Some(page));
        let found = flash.recovered();
        assert_eq!((found.base, found.oldest, found.next), (0, page, 2 * page + 1));
        flash.release(40);
        flash.release(39);
        assert_eq!(flash.recovered().base, 40);
        let dropped = |event| if let FlashEvent::Dropped { before, .. } = event { Some(before) } else { None };
        assert_eq!(flash.take_events().into_iter().filter_map(dropped).collect::<Vec<_>>(), [page, 40]);
        flash.erase(8);
        assert_eq!((flash.recovered().store, flash.recovered().next), (8, 0));
        assert_eq!(flash.take_events().last(), Some(&FlashEvent::Erased));
        flash.set_failing(true);
        assert_eq!((flash.store(0, &[1]), flash.append(&[])), (None, false));
    }
}
