//! What a board keeps in flash: its history with the epoch, how long it has run, a configuration from the cable, and the network's
//! orders.
//!
//! A log-structured map (`sequential-storage`) over some pages of NOR flash. A value is written beside the one before it,
//! with a checksum, and counts only once it is whole; so a loss of power at any instant leaves the old or the new value.
//! Writing stops the processor for a while and erasing a page for tens of milliseconds, so a board writes once at boot and
//! then rarely.
//!
//! A board never wipes storage that makes no sense: its epochs would start over, and it would use nonces again. Such a
//! board only listens, reports the fault, and waits for a person.

use core::fmt;
use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;
use postcard::experimental::max_size::MaxSize;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};
use serde::{Deserialize, Serialize};

use crate::board::flash_queue::Guarded;
use crate::board::history::{History, Run};
use crate::config::Config;
use crate::config::page::PAGE_MAX;
use crate::orders::kept::{KEPT_MAX, KEPT_PIECE_MAX};

/// The keys of the map. Boards in the field rely on them.
const HISTORY: u8 = 1;
const CHECKPOINT: u8 = 2;
const CONFIG: u8 = 3;
const ORDERS: u8 = 4;

/// The largest value that is encoded here: a configuration page behind the checksum of the page it replaces.
const VALUE_MAX: usize = 1 + 4 + PAGE_MAX;
/// The largest value of all: orders behind the number of their network.
pub const ORDERS_MAX: usize = 4 + KEPT_MAX;
/// Room for a key and a value, in whole words.
const BUFFER: usize = (1 + ORDERS_MAX).next_multiple_of(8);

const _: () = assert!(VALUE_MAX <= ORDERS_MAX);

const _: () = assert!(History::POSTCARD_MAX_SIZE <= VALUE_MAX);

/// Why something could not be stored or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The pages cannot hold a map: they are not aligned, or too few.
    Range,
    /// The flash refused.
    Flash,
    /// What is in flash makes no sense.
    Corrupted,
    Full,
    /// What was read back is not what was written.
    Differs,
    /// Every epoch has been used.
    Exhausted,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Range => "the storage's pages are not aligned or too few",
            Self::Flash => "the flash refused",
            Self::Corrupted => "the storage makes no sense; erase its pages and give the board a new key",
            Self::Full => "the storage is full",
            Self::Differs => "what was read back is not what was written",
            Self::Exhausted => "every epoch has been used; give the board a new key and erase its storage",
        })
    }
}

impl core::error::Error for StoreError {}

impl<E> From<sequential_storage::Error<E>> for StoreError {
    fn from(error: sequential_storage::Error<E>) -> Self {
        use sequential_storage::Error;
        match error {
            Error::Storage { .. } => Self::Flash,
            Error::FullStorage | Error::ItemTooBig | Error::BufferTooBig | Error::BufferTooSmall(_) => Self::Full,
            _ => Self::Corrupted,
        }
    }
}

/// How long a run has lasted, written now and then while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
struct Checkpoint {
    epoch: u16,
    uptime_s: u32,
}

/// A boot that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub history: History,
    /// The number of this boot; none before the board has waited.
    pub epoch: Option<u16>,
}

/// A configuration that came over the cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override<'a> {
    /// The checksum of the configuration page that it replaced, if there was one. It counts only while the page is
    /// still that one.
    pub replaces: Option<u32>,
    /// The configuration as a page; none if the host asked for the demo network.
    #[serde(borrow)]
    pub page: Option<&'a [u8]>,
}

type Map<'f, F> = MapStorage<u8, Guarded<'f, F>, Cache<Uncached, Uncached, Uncached, u8>>;

/// The map in these addresses. It is opened for each call, as the queues are, so that a board has one copy of what both do with
/// pages and items.
fn map<'f, F: NorFlash>(flash: &'f mut F, range: &Range<u32>) -> Result<Map<'f, F>, StoreError> {
    let config = MapConfig::try_new(range.clone()).map_err(|_| StoreError::Range)?;
    Ok(MapStorage::new(Guarded(flash), config, Cache::new_uncached()))
}

pub struct Store<F> {
    flash: F,
    range: Range<u32>,
    buffer: [u8; BUFFER],
}

impl<F: NorFlash> Store<F> {
    /// The storage in these addresses of a flash.
    pub fn new(flash: F, range: Range<u32>) -> Result<Self, StoreError> {
        let mut store = Self { flash, range, buffer: [0; BUFFER] };
        map(&mut store.flash, &store.range)?;
        Ok(store)
    }

    /// The history as last stored; empty on a new board.
    pub async fn history(&mut self) -> Result<History, StoreError> {
        self.read(HISTORY).await.map(Option::unwrap_or_default)
    }

    /// Begins a boot: closes the run before it, whose length is the longer of what memory and flash know of it. A board that
    /// need not wait also takes the next epoch and may send; one that must takes it only then, with
    /// [`next_epoch`](Self::next_epoch).
    pub async fn begin_boot(&mut self, before: Run) -> Result<Begun, StoreError> {
        let history = self.history().await?;
        let kept = self.read::<Checkpoint>(CHECKPOINT).await?.filter(|checkpoint| checkpoint.epoch == history.epoch);
        let lasted_s = kept.map_or(before.lasted_s, |checkpoint| checkpoint.uptime_s.max(before.lasted_s));
        let mut history = history.with_run(Run { lasted_s, ..before });
        let epoch = if history.hold_off().is_zero() {
            Some(history.advance_epoch().ok_or(StoreError::Exhausted)?)
        } else {
            None
        };
        self.write_history(&history).await?;
        if epoch.is_none() && kept.is_some() {
            // What is known of the last run says nothing about this one, which has no epoch of its own yet.
            self.write(CHECKPOINT, &Checkpoint { epoch: history.epoch, uptime_s: 0 }).await?;
        }
        Ok(Begun { history, epoch })
    }

    /// Takes the next epoch within a run.
    pub async fn next_epoch(&mut self) -> Result<u16, StoreError> {
        let mut history = self.history().await?;
        let epoch = history.advance_epoch().ok_or(StoreError::Exhausted)?;
        self.write_history(&history).await?;
        Ok(epoch)
    }

    /// Remembers how long the present run has lasted.
    pub async fn checkpoint(&mut self, uptime_s: u32) -> Result<(), StoreError> {
        let epoch = self.history().await?.epoch;
        self.write(CHECKPOINT, &Checkpoint { epoch, uptime_s }).await
    }

    /// Stores a configuration that came over the cable, and reads it back.
    pub async fn set_override(&mut self, wanted: Override<'_>) -> Result<(), StoreError> {
        self.write(CONFIG, &wanted).await?;
        if self.config_override().await? == Some(wanted) { Ok(()) } else { Err(StoreError::Differs) }
    }

    /// The configuration that last came over the cable.
    pub async fn config_override(&mut self) -> Result<Option<Override<'_>>, StoreError> {
        let bytes = self.fetch(CONFIG).await?;
        bytes.map(|bytes| postcard::from_bytes(bytes).map_err(|_| StoreError::Corrupted)).transpose()
    }

    /// Stores what the node keeps of orders ([`Orders::keep`](crate::orders::Orders::keep)), behind the number of its
    /// [network](Config::network).
    pub async fn set_orders(&mut self, kept: &[u8]) -> Result<(), StoreError> {
        self.put(ORDERS, kept).await
    }

    /// The orders that were stored last, piece by piece; none if they are another network's.
    pub async fn orders(&mut self, config: &Config) -> Result<impl Iterator<Item = &[u8]>, StoreError> {
        let bytes = self.fetch(ORDERS).await?;
        let (&network, kept) = bytes.and_then(<[u8]>::split_first_chunk).unwrap_or((&[0; 4], &[]));
        let is_this = config.is_network(u32::from_le_bytes(network));
        Ok(if is_this { kept } else { &[] }.chunks(KEPT_PIECE_MAX))
    }

    /// The flash, for what else is in it.
    pub fn flash(&mut self) -> &mut F {
        &mut self.flash
    }

    pub fn into_flash(self) -> F {
        self.flash
    }

    async fn write_history(&mut self, history: &History) -> Result<(), StoreError> {
        self.write(HISTORY, history).await?;
        if self.history().await? == *history { Ok(()) } else { Err(StoreError::Differs) }
    }

    async fn read<T: for<'de> Deserialize<'de>>(&mut self, key: u8) -> Result<Option<T>, StoreError> {
        let bytes = self.fetch(key).await?;
        bytes.map(|bytes| postcard::from_bytes(bytes).map_err(|_| StoreError::Corrupted)).transpose()
    }

    async fn write(&mut self, key: u8, value: &impl Serialize) -> Result<(), StoreError> {
        let mut bytes = [0; VALUE_MAX];
        let bytes: &[u8] = postcard::to_slice(value, &mut bytes).map_err(|_| StoreError::Full)?;
        self.put(key, bytes).await
    }

    // There is one copy of these two for all kinds of values, because they are large.
    async fn fetch(&mut self, key: u8) -> Result<Option<&[u8]>, StoreError> {
        let mut map = map(&mut self.flash, &self.range)?;
        Ok(map.fetch_item::<&[u8]>(&mut self.buffer, &key).await?)
    }

    async fn put(&mut self, key: u8, bytes: &[u8]) -> Result<(), StoreError> {
        let mut map = map(&mut self.flash, &self.range)?;
        Ok(map.store_item(&mut self.buffer, &key, &bytes).await?)
    }
}
