//! Where a board keeps the blocks of its own readings until a leader has logged them, and after that for as long as there is room.
//!
//! ```text
//! item: name of the store 2 | number of the block 3 | base 3 | block
//! ```
//! `base` is the first block that no leader was known to have when this one was stored. A full store overwrites its oldest page,
//! committed or not; the node is told what is left, and declares what is missing ([`crate::data::origin`]). The store is named
//! when it is empty, by chance, so that blocks of an erased board are not taken for those of the board before.

use core::ops::Range;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::Vec;

use super::flash_queue::{FlashQueue, ITEM_MAX, Item, Then};
use super::storage::StoreError;
use crate::data::origin::Recovered;
use crate::limits::BLOCK_MAX;

const HEADER_BYTES: usize = 8;

const _: () = assert!(HEADER_BYTES + BLOCK_MAX <= ITEM_MAX);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    name: u16,
    number: u32,
    base: u32,
}

impl Header {
    fn write(self) -> [u8; HEADER_BYTES] {
        let [s0, s1] = self.name.to_le_bytes();
        let [n0, n1, n2, _] = self.number.to_le_bytes();
        let [b0, b1, b2, _] = self.base.to_le_bytes();
        [s0, s1, n0, n1, n2, b0, b1, b2]
    }

    fn read(item: &[u8]) -> Option<Self> {
        let &[s0, s1, n0, n1, n2, b0, b1, b2] = item.first_chunk::<HEADER_BYTES>()?;
        Some(Self {
            name: u16::from_le_bytes([s0, s1]),
            number: u32::from_le_bytes([n0, n1, n2, 0]),
            base: u32::from_le_bytes([b0, b1, b2, 0]),
        })
    }
}

/// The store, as far as it is in memory.
#[derive(Clone, Debug)]
pub struct BlockStore {
    queue: FlashQueue,
    found: Recovered,
    /// The block that was stored last. It is nearly always the one that is sent next, and then need not be looked for.
    last: Vec<u8, BLOCK_MAX, u8>,
}

impl BlockStore {
    /// Looks through the store in these addresses. An empty one gets this name.
    pub async fn open<F: MultiwriteNorFlash>(
        flash: &mut F,
        range: Range<u32>,
        name: u16,
        buffer: &mut Item,
    ) -> Result<Self, StoreError> {
        let queue = FlashQueue::new(range);
        let mut found = Recovered { store: name, next: 0, base: 0, oldest: 0 };
        let mut see = |item: &[u8]| {
            if let Some(Header { name, number, base }) = Header::read(item) {
                let is_first = found.next == 0 || found.store != name;
                let oldest = if is_first { number } else { found.oldest };
                found = Recovered { store: name, next: number + 1, base, oldest };
            }
            Then::Continue
        };
        queue.mend(flash).await?;
        queue.each(flash, buffer, &mut see).await?;
        Ok(Self { queue, found, last: Vec::new() })
    }

    /// What to tell the node after a boot.
    pub fn recovered(&self) -> Recovered {
        self.found
    }

    /// Stores a block, and returns the oldest that is still there.
    pub async fn store<F: MultiwriteNorFlash>(
        &mut self,
        flash: &mut F,
        number: u32,
        base: u32,
        block: &[u8],
        buffer: &mut Item,
    ) -> Result<u32, StoreError> {
        let header = Header { name: self.found.store, number, base };
        let (start, rest) = buffer.split_first_chunk_mut::<HEADER_BYTES>().ok_or(StoreError::Full)?;
        *start = header.write();
        rest.get_mut(..block.len()).ok_or(StoreError::Full)?.copy_from_slice(block);
        let item = buffer.get(..HEADER_BYTES + block.len()).ok_or(StoreError::Full)?;
        self.queue.push(flash, item, true).await?;
        let mut oldest = None;
        let mut see = |item: &[u8]| {
            oldest = Header::read(item);
            Then::Stop
        };
        self.queue.each(flash, buffer, &mut see).await?;
        self.found.oldest = oldest.ok_or(StoreError::Differs)?.number;
        self.found.next = number + 1;
        self.found.base = base;
        self.last = Vec::from_slice(block).unwrap_or_default();
        Ok(self.found.oldest)
    }

    /// Brings a block back; none if it is not there, or damaged.
    pub async fn fetch<'b, F: MultiwriteNorFlash>(
        &'b self,
        flash: &mut F,
        number: u32,
        buffer: &'b mut Item,
    ) -> Result<Option<&'b [u8]>, StoreError> {
        if number + 1 == self.found.next && !self.last.is_empty() {
            return Ok(Some(&self.last));
        }
        let mut length = None;
        let mut see = |item: &[u8]| match Header::read(item).zip(item.get(HEADER_BYTES..)) {
            Some((header, block)) if header.name == self.found.store && header.number == number => {
                length = Some(block.len());
                Then::Stop
            }
            _ => Then::Continue,
        };
        self.queue.each(flash, buffer, &mut see).await?;
        Ok(length.and_then(|length| buffer.get(HEADER_BYTES..HEADER_BYTES + length)))
    }

    /// Erases what makes no sense. Blocks that no leader has are lost, which nobody can declare; the store gets another name.
    pub async fn reset<F: MultiwriteNorFlash>(flash: &mut F, range: Range<u32>, name: u16) -> Result<Self, StoreError> {
        let queue = FlashQueue::new(range);
        queue.erase(flash).await?;
        Ok(Self { queue, found: Recovered { store: name, next: 0, base: 0, oldest: 0 }, last: Vec::new() })
    }
}
