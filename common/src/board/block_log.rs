//! The log into which a leading board gathers the blocks of all.
//!
//! ```text
//! item: position 4 | entry of the log, or RELEASED 1 and the position before which a host has everything 4
//! ```
//! Positions count the entries, over boots. An entry stays until a host has said that it has it safe. Then it stays on, for the marks
//! that a restarted leader makes of its log, until the room is needed. If no entry may be overwritten the log is full: it takes
//! no more, the leader commits nothing, and the origins keep their blocks.

use core::ops::Range;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::flash_queue::{FlashQueue, ITEM_MAX, Item, Then};
use super::storage::StoreError;
use crate::data::log_entry::ENTRY_MAX;

const POSITION_BYTES: usize = 4;

/// Instead of the kind of an entry.
const RELEASED: u8 = 0x80;
const RELEASED_BYTES: usize = 1 + 4;

const _: () = assert!(POSITION_BYTES + ENTRY_MAX <= ITEM_MAX);

/// An item of the log.
enum Line<'b> {
    Entry(&'b [u8]),
    Released { before: u32 },
}

fn read(item: &[u8]) -> Option<(u32, Line<'_>)> {
    let (position, rest) = item.split_first_chunk::<POSITION_BYTES>()?;
    let line = match *rest {
        [RELEASED, b0, b1, b2, b3] => Line::Released { before: u32::from_le_bytes([b0, b1, b2, b3]) },
        _ => Line::Entry(rest),
    };
    Some((u32::from_le_bytes(*position), line))
}

/// The log, as far as it is in memory.
#[derive(Clone, Debug)]
pub struct BlockLog {
    queue: FlashQueue,
    /// The position of the next entry.
    next: u32,
    /// A host has everything before this position.
    released: u32,
}

impl BlockLog {
    /// Looks through the log in these addresses and shows every entry.
    pub async fn open<F: MultiwriteNorFlash>(
        flash: &mut F,
        range: Range<u32>,
        buffer: &mut Item,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Self, StoreError> {
        let mut log = Self { queue: FlashQueue::new(range), next: 0, released: 0 };
        let mut look = |item: &[u8]| {
            match read(item) {
                Some((position, Line::Entry(entry))) => {
                    log.next = log.next.max(position.saturating_add(1));
                    see(entry);
                }
                Some((position, Line::Released { before })) => {
                    log.next = log.next.max(position);
                    log.released = log.released.max(before);
                }
                None => {}
            }
            Then::Continue
        };
        log.queue.mend(flash).await?;
        log.queue.clone().each(flash, buffer, &mut look).await?;
        log.released = log.released.min(log.next);
        Ok(log)
    }

    /// The position of the entry that is written next.
    pub fn end(&self) -> u32 {
        self.next
    }

    /// A host has everything before this position.
    pub fn released(&self) -> u32 {
        self.released
    }

    /// Appends an entry, and returns its position. Once this returns it is not lost, not even with the power.
    pub async fn append<F: MultiwriteNorFlash>(
        &mut self,
        flash: &mut F,
        entry: &[u8],
        buffer: &mut Item,
    ) -> Result<u32, StoreError> {
        let position = self.next;
        let mut item = [0; ITEM_MAX];
        let (start, rest) = item.split_first_chunk_mut::<POSITION_BYTES>().ok_or(StoreError::Full)?;
        *start = position.to_le_bytes();
        rest.get_mut(..entry.len()).ok_or(StoreError::Full)?.copy_from_slice(entry);
        self.push(flash, item.get(..POSITION_BYTES + entry.len()).ok_or(StoreError::Full)?, buffer).await?;
        self.next = position.checked_add(1).ok_or(StoreError::Full)?;
        Ok(position)
    }

    /// Writes an item. If there is no room, the oldest items go, as long as a host has them.
    async fn push<F: MultiwriteNorFlash>(
        &self,
        flash: &mut F,
        item: &[u8],
        buffer: &mut Item,
    ) -> Result<(), StoreError> {
        loop {
            match self.queue.push(flash, item, false).await {
                Err(StoreError::Full) => {
                    let mut is_free = false;
                    let mut see = |item: &[u8]| {
                        is_free = read(item).is_none_or(|(position, _)| position < self.released);
                        if is_free { Then::Remove } else { Then::Stop }
                    };
                    self.queue.each(flash, buffer, &mut see).await?;
                    if !is_free {
                        return Err(StoreError::Full);
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// Shows entries from a position on, until it is told to stop; what a host has released is not shown.
    pub async fn read<F: MultiwriteNorFlash>(
        &self,
        flash: &mut F,
        from: u32,
        buffer: &mut Item,
        see: &mut dyn FnMut(u32, &[u8]) -> Then,
    ) -> Result<(), StoreError> {
        let from = from.max(self.released);
        let mut look = |item: &[u8]| match read(item) {
            Some((position, Line::Entry(entry))) if position >= from => see(position, entry),
            _ => Then::Continue,
        };
        self.queue.each(flash, buffer, &mut look).await
    }

    /// A host has everything before this position safe.
    pub async fn release<F: MultiwriteNorFlash>(
        &mut self,
        flash: &mut F,
        before: u32,
        buffer: &mut Item,
    ) -> Result<(), StoreError> {
        let before = before.min(self.next);
        if before <= self.released {
            return Ok(());
        }
        self.released = before;
        let [p0, p1, p2, p3] = self.next.to_le_bytes();
        let [b0, b1, b2, b3] = before.to_le_bytes();
        let item: [u8; POSITION_BYTES + RELEASED_BYTES] = [p0, p1, p2, p3, RELEASED, b0, b1, b2, b3];
        self.push(flash, &item, buffer).await
    }

    /// Erases what makes no sense.
    pub async fn reset<F: MultiwriteNorFlash>(flash: &mut F, range: Range<u32>) -> Result<Self, StoreError> {
        let queue = FlashQueue::new(range);
        queue.erase(flash).await?;
        Ok(Self { queue, next: 0, released: 0 })
    }
}
