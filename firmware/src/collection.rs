//! Readings in flash: carries out what the node wants done, one thing at a time, and reads the log to hosts.
//!
//! The node runs in an interrupt and the flash is served by the thread. A parcel of bytes goes with each piece of work, from one
//! to the other and back; the one that works on it has the parcel.

use core::cell::{Cell, RefCell};

use common::board::block_log::BlockLog;
use common::board::block_store::BlockStore;
use common::board::flash_queue::{ITEM_MAX, Item, Then};
use common::board::storage::StoreError;
use common::data::Chore;
use common::data::block::Sample;
use common::data::log_entry::ENTRY_MAX;
use common::data::origin::Recovered;
use common::host_link::{Bytes, ToHost};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use heapless::Vec;

use crate::boards::FLASH;
use crate::flash::Flash;
use crate::node::{self, TOLD};
use crate::{host, status, storage};

/// Entries of the log that a host is told at once: as many as fit the line to the PC.
const TOLD_MAX: usize = 6;

type Parcel = Vec<u8, ENTRY_MAX, u8>;

#[derive(Clone, Copy)]
pub enum Work {
    /// Look through store and log, and say what they hold.
    Recover,
    /// What the parcel is for.
    Chore(Chore),
}

/// What is found in flash after a boot.
#[derive(Clone, Copy)]
pub enum Found {
    /// An entry of the log, in the parcel.
    Entry,
    /// That was all; none if the flash has failed.
    All(Option<Recovered>),
}

/// The result of a chore.
#[derive(Clone, Copy)]
pub enum Finished {
    /// The oldest block that is left; none if storing failed.
    Stored {
        oldest: Option<u32>,
    },
    /// The block is in the parcel, if it is there.
    Fetched {
        is_there: bool,
    },
    Logged {
        is_logged: bool,
    },
}

static WORK: Signal<CriticalSectionRawMutex, Work> = Signal::new();
static FOUND: Signal<CriticalSectionRawMutex, Found> = Signal::new();
static PARCEL: Mutex<CriticalSectionRawMutex, RefCell<Parcel>> = Mutex::new(RefCell::new(Vec::new()));
static SAMPLE: Mutex<CriticalSectionRawMutex, Cell<Option<Sample>>> = Mutex::new(Cell::new(None));

/// Gives the thread something to do. The node does this only when the last thing is done.
pub fn begin(work: Work) {
    WORK.signal(work);
}

pub async fn wanted() -> Work {
    WORK.wait().await
}

/// What is found next after a boot.
pub async fn found() -> Found {
    FOUND.wait().await
}

pub fn parcel() -> Parcel {
    PARCEL.lock(|cell| cell.borrow().clone())
}

pub fn put_parcel(bytes: &[u8]) {
    PARCEL.lock(|cell| *cell.borrow_mut() = Vec::from_slice(bytes).unwrap_or_default());
}

/// Gives the node a sample.
pub async fn measured(sample: Sample) {
    SAMPLE.lock(|cell| cell.set(Some(sample)));
    TOLD.send(node::Told::Measured).await;
}

pub fn take_sample() -> Sample {
    SAMPLE.lock(Cell::take).unwrap_or_default()
}

/// What this board keeps of readings. Opened when the node starts.
pub struct Shelf {
    /// For a store that is empty.
    name: u16,
    blocks: Option<BlockStore>,
    log: Option<BlockLog>,
    item: Item,
    /// Whether it was said that the log is full.
    is_full_told: bool,
}

impl Shelf {
    pub const fn new(name: u16) -> Self {
        Self { name, blocks: None, log: None, item: [0; ITEM_MAX], is_full_told: false }
    }

    pub async fn serve(&mut self, flash: &mut Flash, work: Work) {
        let chore = match work {
            Work::Recover => return self.recover(flash).await,
            Work::Chore(chore) => chore,
        };
        let parcel = parcel();
        let finished = match chore {
            Chore::Store { number, base, .. } => {
                Finished::Stored { oldest: self.store(flash, number, base, &parcel).await }
            }
            Chore::Fetch { number } => Finished::Fetched { is_there: self.fetch(flash, number).await },
            Chore::Log { .. } => Finished::Logged { is_logged: self.append(flash, &parcel).await },
            Chore::Release { .. } => return,
        };
        TOLD.send(node::Told::Done(finished)).await;
    }

    async fn recover(&mut self, flash: &mut Flash) {
        // The node preempts the thread: it has seen an entry before the next line runs.
        let mut show = |entry: &[u8]| {
            put_parcel(entry);
            FOUND.signal(Found::Entry);
        };
        self.log = match BlockLog::open(flash, FLASH.block_log(), &mut self.item, &mut show).await {
            Ok(log) => Some(log),
            Err(error) => {
                damaged("the log of readings", error);
                BlockLog::reset(flash, FLASH.block_log()).await.ok()
            }
        };
        self.blocks = match BlockStore::open(flash, FLASH.block_store(), self.name, &mut self.item).await {
            Ok(blocks) => Some(blocks),
            Err(error) => {
                damaged("the store of readings", error);
                BlockStore::reset(flash, FLASH.block_store(), self.name).await.ok()
            }
        };
        FOUND.signal(Found::All(self.blocks.as_ref().map(BlockStore::recovered)));
    }

    async fn store(&mut self, flash: &mut Flash, number: u32, base: u32, block: &[u8]) -> Option<u32> {
        let blocks = self.blocks.as_mut()?;
        let store = blocks.recovered().store;
        match blocks.store(flash, number, base, block, &mut self.item).await {
            Ok(oldest) => {
                if let Ok(block) = Bytes::new(block) {
                    host::say(ToHost::Stored { store, number, block });
                }
                Some(oldest)
            }
            Err(error) => {
                storage::warn(error);
                None
            }
        }
    }

    async fn fetch(&mut self, flash: &mut Flash, number: u32) -> bool {
        let Some(blocks) = &self.blocks else { return false };
        match blocks.fetch(flash, number, &mut self.item).await {
            Ok(Some(block)) => {
                put_parcel(block);
                true
            }
            Ok(None) => false,
            Err(error) => {
                storage::warn(error);
                false
            }
        }
    }

    async fn append(&mut self, flash: &mut Flash, entry: &[u8]) -> bool {
        let Some(log) = &mut self.log else { return false };
        match log.append(flash, entry, &mut self.item).await {
            Ok(position) => {
                self.is_full_told = false;
                if let Ok(entry) = Bytes::new(entry) {
                    host::say(ToHost::Logged { position, entry });
                }
                true
            }
            Err(StoreError::Full) => {
                if !core::mem::replace(&mut self.is_full_told, true) {
                    defmt::warn!("the log of readings is full: read it with a PC, which then makes room");
                }
                false
            }
            Err(error) => {
                storage::warn(error);
                false
            }
        }
    }

    /// Tells the host some entries of the log.
    pub async fn tell_log(&mut self, flash: &mut Flash, from: u32) {
        let Some(log) = &self.log else {
            host::say(ToHost::LogTold { next: 0, end: 0 });
            return;
        };
        let (mut told, mut next) = (0, log.end());
        let mut tell = |position, entry: &[u8]| {
            if told == TOLD_MAX {
                next = position;
                return Then::Stop;
            }
            told += 1;
            if let Ok(entry) = Bytes::new(entry) {
                host::say(ToHost::Logged { position, entry });
            }
            Then::Continue
        };
        if let Err(error) = log.read(flash, from, &mut self.item, &mut tell).await {
            storage::warn(error);
        }
        host::say(ToHost::LogTold { next, end: log.end() });
    }

    pub async fn release_log(&mut self, flash: &mut Flash, before: u32) {
        let Some(log) = &mut self.log else { return };
        if let Err(error) = log.release(flash, before, &mut self.item).await {
            storage::warn(error);
        }
    }
}

fn damaged(what: &str, error: StoreError) {
    defmt::error!("{=str} makes no sense and is erased: {}", what, error);
    status::set_fault();
}
