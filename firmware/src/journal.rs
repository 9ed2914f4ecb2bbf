//! The journal: what the node tells, and how it hears others, kept in flash for a PC that comes later.
//!
//! The node runs in an interrupt and only adds to the draft; the thread that owns the flash writes it.

use core::cell::RefCell;

use common::board::flash_queue::{ITEM_MAX, Item, Then};
use common::board::journal::{Draft, ENTRIES_MAX, Entry, Journal, PERIOD};
use common::host_link::{Bytes, ToHost};
use common::node::Node;
use common::notice::Notice;
use common::time::Instant;
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;

use crate::boards::FLASH;
use crate::flash::Flash;
use crate::{clock, host, node, storage};

/// Items that a host is told at once: as many as fit the line to the PC.
const TOLD_MAX: usize = 6;

static DRAFT: Mutex<CriticalSectionRawMutex, RefCell<Draft>> = Mutex::new(RefCell::new(Draft::new()));

fn note(entry: &Entry, comes_again: bool) -> bool {
    let mut buf = [0; ENTRIES_MAX];
    // Interrupts wait while it is copied, not while it is written.
    entry.write(&mut buf).is_some_and(|bytes| DRAFT.lock(|cell| cell.borrow_mut().note(bytes, comes_again)))
}

/// Keeps what the node tells, but for the steps of its algorithm.
pub fn keep(at: Instant, notice: Notice) {
    if !matches!(notice, Notice::Event(_)) {
        note(&Entry::Notice { at_ms: at.as_millis(), notice }, false);
    }
}

/// Keeps how well the node hears others, when it is time; the next time.
pub fn look_round(now: Instant, due: Instant, node: &Node) -> Instant {
    if now < due {
        return due;
    }
    let mut neighbours = heapless::Vec::new();
    for hearing in node.hearing() {
        // Those that no longer fit have no link.
        if neighbours.push(hearing).is_err() {
            break;
        }
    }
    let is_kept = note(&Entry::Neighbours { at_ms: now.as_millis(), neighbours }, true);
    if is_kept { now + PERIOD } else { due }
}

/// The part of the journal that is in flash.
pub struct Ring {
    journal: Option<Journal>,
    item: Item,
}

impl Ring {
    pub const fn new() -> Self {
        Self { journal: None, item: [0; ITEM_MAX] }
    }

    /// Opened when it is first needed.
    async fn open(&mut self, flash: &mut Flash) -> Option<&mut Journal> {
        if self.journal.is_none() {
            self.journal = match Journal::open(flash, FLASH.journal(), &mut self.item).await {
                Ok(journal) => Some(journal),
                Err(_) => Journal::reset(flash, FLASH.journal()).await.ok(),
            };
        }
        self.journal.as_mut()
    }

    /// Writes what is due.
    pub async fn serve(&mut self, flash: &mut Flash) {
        let epoch = node::snapshot().and_then(|snapshot| snapshot.epoch).unwrap_or(0);
        let Some(mut item) = DRAFT.lock(|cell| cell.borrow_mut().take(clock::uptime_s(), epoch)) else { return };
        let Some(journal) = self.open(flash).await else { return };
        if let Err(error) = journal.append(flash, &mut item).await {
            storage::warn(error);
            self.journal = None;
        }
    }

    /// Tells the host some items.
    pub async fn tell(&mut self, flash: &mut Flash, from: u32) {
        self.open(flash).await;
        let Some(journal) = &self.journal else {
            host::say(ToHost::JournalTold { next: 0, end: 0 });
            return;
        };
        let (mut told, mut next) = (0, journal.end());
        let mut tell = |number, item: &[u8]| {
            if told == TOLD_MAX {
                next = number;
                return Then::Stop;
            }
            told += 1;
            if let Ok(item) = Bytes::new(item) {
                host::say(ToHost::Journal(item));
            }
            Then::Continue
        };
        if let Err(error) = journal.read(flash, from, &mut self.item, &mut tell).await {
            storage::warn(error);
        }
        host::say(ToHost::JournalTold { next, end: journal.end() });
    }
}
