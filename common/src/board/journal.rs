//! What a board without a cable keeps of a field test: who led, which links came and went, and how well neighbours were heard.
//!
//! ```text
//! item of a ring in flash: number 4 | epoch 2 | entries lost before it 1 | entries in postcard's encoding, one after the other
//! ```
//! Entries gather in a [`Draft`] in memory, which becomes an item every [`PERIOD`] with the neighbours, or when it is full. Items go
//! round in [`FlashMap::journal`](super::flash_map::FlashMap::journal), each over the oldest. A draft becomes an item at most every
//! [`PAUSE_S`], whatever happens, so that a network in trouble wears no flash out: what does not fit meanwhile is dropped and
//! counted. A loss of power takes the draft with it.

use core::ops::Range;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::Vec;
use serde::{Deserialize, Serialize};

use super::flash_queue::{FlashQueue, ITEM_MAX, Item, Then};
use super::storage::StoreError;
use crate::limits::JOURNAL_ITEM_MAX;
use crate::node::fleet::Hearing;
use crate::notice::Notice;
use crate::time::Duration;

/// How often neighbours are told: 30 times an hour, 2.4 kB with twelve of them.
pub const PERIOD: Duration = Duration::from_millis(120_000);

/// The least time between two items, in seconds.
pub const PAUSE_S: u32 = 30;

const HEADER_BYTES: usize = 4 + 2 + 1;

const _: () = assert!(ITEM_MAX == JOURNAL_ITEM_MAX);

/// Room for the entries of an item.
pub const ENTRIES_MAX: usize = ITEM_MAX - HEADER_BYTES;

/// With less room than this left, an item is closed: no notice takes more.
const NOTICE_ROOM: usize = 24;

/// Neighbours of an entry, those with a link first. An entry has room for as many, whatever their ids.
pub const HEARD_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// The node had something to tell.
    Notice {
        /// Since the boot.
        at_ms: u64,
        notice: Notice,
    },
    /// How well it hears others.
    Neighbours {
        /// Since the boot.
        at_ms: u64,
        neighbours: Vec<Hearing, HEARD_MAX, u8>,
    },
}

impl Entry {
    /// Writes it; the part of `buf` that it takes, none if it does not fit.
    pub fn write<'b>(&self, buf: &'b mut [u8; ENTRIES_MAX]) -> Option<&'b [u8]> {
        postcard::to_slice(self, buf).ok().map(|written| &*written)
    }
}

/// The item that is being filled.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    entries: Vec<u8, ENTRIES_MAX, u8>,
    lost: u8,
    is_due: bool,
    /// Not before then, in seconds since the boot.
    not_before_s: u32,
}

impl Draft {
    pub const fn new() -> Self {
        Self { entries: Vec::new(), lost: 0, is_due: false, not_before_s: 0 }
    }

    /// Takes an entry as it was written. Where it does not fit it is lost and counted, unless it can come again; false says
    /// that it was not taken.
    pub fn note(&mut self, entry: &[u8], comes_again: bool) -> bool {
        let is_taken = self.entries.extend_from_slice(entry).is_ok();
        self.is_due |= !is_taken || comes_again || self.entries.len() + NOTICE_ROOM > ENTRIES_MAX;
        if !is_taken && !comes_again {
            self.lost = self.lost.saturating_add(1);
        }
        is_taken
    }

    /// The item that is due, without its number.
    pub fn take(&mut self, now_s: u32, epoch: u16) -> Option<Vec<u8, ITEM_MAX, u8>> {
        if !self.is_due || now_s < self.not_before_s {
            return None;
        }
        let mut item = Vec::new();
        let [low, high] = epoch.to_le_bytes();
        item.extend_from_slice(&[0, 0, 0, 0, low, high, self.lost]).ok()?;
        item.extend_from_slice(&self.entries).ok()?;
        *self = Self { not_before_s: now_s.saturating_add(PAUSE_S), ..Self::new() };
        Some(item)
    }
}

/// An item as it is in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept<'b> {
    /// Counts the items, over boots.
    pub number: u32,
    pub epoch: u16,
    /// Entries that did not fit since the item before it.
    pub lost: u8,
    entries: &'b [u8],
}

impl<'b> Kept<'b> {
    pub fn read(item: &'b [u8]) -> Option<Self> {
        let (&[n0, n1, n2, n3, low, high, lost], entries) = item.split_first_chunk::<HEADER_BYTES>()?;
        Some(Self {
            number: u32::from_le_bytes([n0, n1, n2, n3]),
            epoch: u16::from_le_bytes([low, high]),
            lost,
            entries,
        })
    }

    /// Its entries, in order, up to the first that makes no sense.
    pub fn entries(self) -> impl Iterator<Item = Entry> + 'b {
        let mut rest = self.entries;
        core::iter::from_fn(move || {
            let (entry, after) = postcard::take_from_bytes(rest).ok()?;
            rest = after;
            Some(entry)
        })
    }
}

/// The ring in flash.
#[derive(Clone, Debug)]
pub struct Journal {
    queue: FlashQueue,
    /// The number of the next item.
    next: u32,
}

impl Journal {
    /// Looks for the newest item in these addresses.
    pub async fn open<F: MultiwriteNorFlash>(
        flash: &mut F,
        range: Range<u32>,
        buffer: &mut Item,
    ) -> Result<Self, StoreError> {
        let mut journal = Self { queue: FlashQueue::new(range), next: 0 };
        let mut look = |item: &[u8]| {
            if let Some(kept) = Kept::read(item) {
                journal.next = kept.number.wrapping_add(1);
            }
            Then::Continue
        };
        journal.queue.mend(flash).await?;
        journal.queue.clone().each(flash, buffer, &mut look).await?;
        Ok(journal)
    }

    /// Erases everything.
    pub async fn reset<F: MultiwriteNorFlash>(flash: &mut F, range: Range<u32>) -> Result<Self, StoreError> {
        let journal = Self { queue: FlashQueue::new(range), next: 0 };
        journal.queue.erase(flash).await?;
        Ok(journal)
    }

    /// The number of the next item.
    pub fn end(&self) -> u32 {
        self.next
    }

    /// Writes an item over the oldest.
    pub async fn append<F: MultiwriteNorFlash>(&mut self, flash: &mut F, item: &mut [u8]) -> Result<(), StoreError> {
        *item.first_chunk_mut().ok_or(StoreError::Range)? = self.next.to_le_bytes();
        self.queue.push(flash, item, true).await?;
        self.next = self.next.wrapping_add(1);
        Ok(())
    }

    /// Shows items from a number on, until it is told to stop.
    pub async fn read<F: MultiwriteNorFlash>(
        &self,
        flash: &mut F,
        from: u32,
        buffer: &mut Item,
        see: &mut dyn FnMut(u32, &[u8]) -> Then,
    ) -> Result<(), StoreError> {
        let mut look = |item: &[u8]| match Kept::read(item) {
            Some(kept) if kept.number >= from => see(kept.number, item),
            _ => Then::Continue,
        };
        self.queue.each(flash, buffer, &mut look).await
    }
}

#[cfg(test)]
mod tests {
    use super::{Draft, ENTRIES_MAX, Entry, HEARD_MAX, Kept, PAUSE_S};
    use crate::node::fleet::Hearing;
    use crate::notice::Notice;
    use crate::types::NodeId;

    fn leader(at_ms: u64) -> Entry {
        Entry::Notice { at_ms, notice: Notice::Leader(Some(NodeId(7))) }
    }

    fn note(draft: &mut Draft, entry: &Entry, comes_again: bool) -> bool {
        draft.note(entry.write(&mut [0; ENTRIES_MAX]).unwrap(), comes_again)
    }

    #[test]
    fn the_most_neighbours_fit_an_item_whatever_they_are() {
        let worst = Hearing { id: NodeId(u16::MAX), heard: 32, expected: 32, rssi_dbm: -100 };
        let entry =
            Entry::Neighbours { at_ms: u64::from(u32::MAX), neighbours: [worst; HEARD_MAX].into_iter().collect() };
        let mut draft = Draft::new();
        assert!(note(&mut draft, &entry, true));
        let item = draft.take(0, 5).unwrap();
        let kept = Kept::read(&item).unwrap();
        assert_eq!((kept.epoch, kept.lost), (5, 0));
        assert!(kept.entries().eq([entry]));
    }

    #[test]
    fn an_item_is_written_when_it_is_full_or_has_neighbours_and_not_too_often() {
        let mut draft = Draft::new();
        assert!(note(&mut draft, &leader(1), false));
        assert_eq!(draft.take(100, 5), None, "there may be more");
        assert!(note(&mut draft, &Entry::Neighbours { at_ms: 2, neighbours: heapless::Vec::new() }, true));
        let item = draft.take(100, 5).unwrap();
        assert_eq!(Kept::read(&item).unwrap().entries().count(), 2);
        // A storm of notices: what does not fit is counted.
        let all = 200;
        let taken = (0..all).filter(|at| note(&mut draft, &leader(*at), false)).count();
        assert_eq!(draft.take(100 + PAUSE_S - 1, 5), None);
        let item = draft.take(100 + PAUSE_S, 5).unwrap();
        let kept = Kept::read(&item).unwrap();
        assert_eq!((kept.entries().count(), usize::from(kept.lost)), (taken, 200 - taken));
    }

    #[test]
    fn neighbours_that_do_not_fit_come_again_and_are_not_lost() {
        let heard = Hearing { id: NodeId(65_000), heard: 9, expected: 10, rssi_dbm: -70 };
        let neighbours = Entry::Neighbours { at_ms: 9, neighbours: [heard; HEARD_MAX].into_iter().collect() };
        let mut draft = Draft::new();
        assert!((0..5).all(|at| note(&mut draft, &leader(at), false)));
        assert!(!note(&mut draft, &neighbours, true));
        assert_eq!(Kept::read(&draft.take(0, 1).unwrap()).unwrap().lost, 0);
        assert!(note(&mut draft, &neighbours, true));
    }
}
