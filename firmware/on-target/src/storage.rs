//! What the flash keeps, and how long it takes.
//!
//! Tests write eight pages of their own, just below the board's storage: a board's epochs and its configuration stay.

use common::board::flash_map::{FlashMap, PAGE_BYTES, STORAGE_PAGES};
use common::board::history::{Ending, Run};
use common::board::storage::{Store, StoreError};
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_futures::block_on;
use embassy_nrf::Peri;
use embassy_nrf::nvmc::Nvmc;
use embassy_nrf::peripherals::NVMC;
use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};

use crate::stopwatch;

#[cfg(feature = "chip-nrf52840")]
const MAP: FlashMap = FlashMap::NRF52840;
#[cfg(not(feature = "chip-nrf52840"))]
const MAP: FlashMap = FlashMap::NRF52833;

const END: u32 = MAP.storage().start;
const START: u32 = END - STORAGE_PAGES * PAGE_BYTES;

/// The longest that the product specification allows for the erasure of a page, with something to spare.
pub const ERASE_US_MAX: u32 = 90_000;
/// And for a word.
pub const WRITE_US_MAX: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, defmt::Format)]
pub struct Times {
    pub erase_us: u32,
    pub write_us: u32,
    /// Whether a written word reads back, and an erased one as ones.
    pub is_kept: bool,
}

/// Erases a page, writes a word, and reads it. None if the flash refuses.
pub fn measure(flash: &mut Peri<'_, NVMC>) -> Option<Times> {
    let mut flash = Nvmc::new(flash.reborrow());
    let word = 0x5EED_1E55_u32.to_le_bytes();
    let mut read = [0; 8];
    let began = stopwatch::for_meters();
    flash.erase(START, START + PAGE_BYTES).ok()?;
    let erased = stopwatch::for_meters();
    flash.write(START, &word).ok()?;
    let written = stopwatch::for_meters();
    flash.read(START, &mut read).ok()?;
    let [a, b, c, d, rest @ ..] = read;
    Some(Times {
        erase_us: erased.wrapping_sub(began),
        write_us: written.wrapping_sub(erased),
        is_kept: [a, b, c, d] == word && rest == [0xFF; 4],
    })
}

/// Boots this many times on empty pages, and returns the epoch of the last.
pub fn boots(flash: &mut Peri<'_, NVMC>, times: u32) -> Result<u16, StoreError> {
    Nvmc::new(flash.reborrow()).erase(START, END).map_err(|_| StoreError::Flash)?;
    let mut epoch = 0;
    for _ in 0..times {
        // A new one each time, as after a reset.
        let mut store = Store::new(BlockingAsync::new(Nvmc::new(flash.reborrow())), START..END)?;
        epoch = block_on(store.begin_boot(Run { lasted_s: 60, ending: Ending::Deliberate }))?.history.epoch;
    }
    Ok(epoch)
}
