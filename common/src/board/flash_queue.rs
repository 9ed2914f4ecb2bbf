//! A first-in, first-out queue of items in some pages of NOR flash, as the store of blocks and the log both are.
//!
//! `sequential-storage` keeps it: an item is written behind the one before, with a checksum, and counts only once it is whole. So a
//! loss of power at any instant leaves all earlier items and the new one, or all earlier items. Pages are used in turn.
//!
//! An erasure that loses its power leaves a page in which some words are erased, some are not, and some hold anything, its marks at
//! both ends included. Two rules make that harmless. A page is looked at before its first word is written, and erased again if it
//! is not blank (`Guarded`). And of two pages in a row that both seem half full, the second is the one that was being erased
//! ([`FlashQueue::mend`]): pages are only ever erased behind the one that is being filled.
//!
//! The queue borrows the flash for each call, because a board has one flash and several things in it. Nothing is cached: an item
//! is found by going through those before it, which takes a full queue some tenths of a second.

use core::ops::Range;

use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::queue::{QueueConfig, QueueStorage};

use super::storage::StoreError;

type NoCache = Cache<Uncached, Uncached, Uncached, ()>;

/// Room for the longest item, in whole words.
pub const ITEM_MAX: usize = 120;

/// A buffer for an item.
pub type Item = [u8; ITEM_MAX];

/// What to do after an item was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Continue,
    Stop,
    /// Remove it, and stop.
    Remove,
}

/// The queue in these addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlashQueue {
    range: Range<u32>,
}

impl FlashQueue {
    pub const fn new(range: Range<u32>) -> Self {
        Self { range }
    }

    fn open<'f, F: NorFlash>(&self, flash: &'f mut F) -> Result<QueueStorage<Guarded<'f, F>, NoCache>, StoreError> {
        let config = QueueConfig::try_new(self.range.clone()).map_err(|_| StoreError::Range)?;
        Ok(QueueStorage::new(Guarded(flash), config, Cache::new_uncached()))
    }

    /// Erases what an erasure left that lost its power. To be called once after a boot.
    pub async fn mend<F: NorFlash>(&self, flash: &mut F) -> Result<(), StoreError> {
        let size = u32::try_from(F::ERASE_SIZE).map_err(|_| StoreError::Range)?;
        let pages = || self.range.clone().step_by(F::ERASE_SIZE);
        let Some(last) = pages().next_back() else { return Err(StoreError::Range) };
        let mut was_half_full = is_half_full(flash, last).await?;
        for page in pages() {
            let is_half_full = is_half_full(flash, page).await?;
            if is_half_full && was_half_full {
                flash.erase(page, page + size).await.map_err(|_| StoreError::Flash)?;
            }
            was_half_full = is_half_full;
        }
        Ok(())
    }

    /// Appends an item. If there is no room, the oldest page makes some if it may be overwritten.
    pub async fn push<F: NorFlash>(&self, flash: &mut F, item: &[u8], may_overwrite: bool) -> Result<(), StoreError> {
        Ok(self.open(flash)?.push(item, may_overwrite).await?)
    }

    /// Shows all items, from the oldest on, until it is told to stop. There is one copy for all callers, because it is large.
    pub async fn each<F: MultiwriteNorFlash>(
        &self,
        flash: &mut F,
        buffer: &mut Item,
        see: &mut dyn FnMut(&[u8]) -> Then,
    ) -> Result<(), StoreError> {
        let mut queue = self.open(flash)?;
        let mut items = queue.iter().await?;
        while let Some(item) = items.next(buffer).await? {
            match see(&item) {
                Then::Continue => {}
                Then::Stop => break,
                Then::Remove => {
                    item.pop().await?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Erases all pages.
    pub async fn erase<F: NorFlash>(&self, flash: &mut F) -> Result<(), StoreError> {
        flash.erase(self.range.start, self.range.end).await.map_err(|_| StoreError::Flash)
    }
}

/// Whether a page has its first mark and not its last, as `sequential-storage` tells them.
async fn is_half_full<F: NorFlash>(flash: &mut F, page: u32) -> Result<bool, StoreError> {
    let last = page + u32::try_from(F::ERASE_SIZE - F::READ_SIZE).map_err(|_| StoreError::Range)?;
    let mut is_marked = [false; 2];
    for (at, is_marked) in [page, last].into_iter().zip(&mut is_marked) {
        let mut mark = [0xFF; 4];
        let mark = mark.get_mut(..F::READ_SIZE).ok_or(StoreError::Range)?;
        flash.read(at, mark).await.map_err(|_| StoreError::Flash)?;
        *is_marked = mark.iter().map(|byte| byte.count_zeros()).sum::<u32>() >= 4;
    }
    Ok(is_marked == [true, false])
}

/// A flash in which no page is begun that is not blank.
pub(super) struct Guarded<'f, F>(pub &'f mut F);

impl<F: NorFlash> Guarded<'_, F> {
    /// Whether a page has nothing but erased bytes.
    async fn is_blank(&mut self, page: u32) -> Result<bool, F::Error> {
        let mut bytes = [0; 64];
        for at in (page..).step_by(bytes.len()).take(F::ERASE_SIZE / bytes.len()) {
            self.0.read(at, &mut bytes).await?;
            if bytes != [0xFF; 64] {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<F: NorFlash> ErrorType for Guarded<'_, F> {
    type Error = F::Error;
}

impl<F: NorFlash> ReadNorFlash for Guarded<'_, F> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.0.read(offset, bytes).await
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl<F: NorFlash> NorFlash for Guarded<'_, F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        self.0.erase(from, to).await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        // Only the mark that begins a page is written there, and only once.
        if (offset as usize).is_multiple_of(F::ERASE_SIZE) && !self.is_blank(offset).await? {
            self.0.erase(offset, offset + u32::try_from(F::ERASE_SIZE).unwrap_or(0)).await?;
        }
        self.0.write(offset, bytes).await
    }
}

impl<F: MultiwriteNorFlash> MultiwriteNorFlash for Guarded<'_, F> {}
