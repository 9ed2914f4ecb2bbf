//! Where on a chip a board keeps what it must not forget.
//!
//! ```text
//! image ... | journal | readings: the store of blocks, then the log | storage: 8 pages | configuration page, written by a probe | reserved
//! ```
//!
//! Only images with a journal (`crate::board::journal`) end before it; the others may take its pages as well. The board itself
//! writes it, readings ([`crate::board::block_store`], [`crate::board::block_log`]) and storage
//! ([`crate::board::storage`]). The configuration page holds what [`crate::config::page`] describes and nothing else. Only a probe writes it: erasing
//! and writing a page are two steps, and a board whose supply failed between them would have no configuration at all. A
//! configuration that comes over the cable goes into the storage, where the old value stays until the new one is whole,
//! together with [`crate::config::page::checksum`] of the configuration page at that moment. At boot the stored one counts
//! while the page still has that checksum; any other means that a probe has written a newer configuration since.
//!
//! On the nRF52840 the last 128 KiB stay free on every board, 0xE0000 to the end. The dongle's factory bootloader is there,
//! and so is the UF2 bootloader of other boards: it lies from 0xF4000 on, and receives its own update from 0xE0000 on. One
//! map for the chip is worth more than 128 KiB that no board needs.

use crate::names::Board;

/// Bytes that are erased at once, on every nRF52.
pub const PAGE_BYTES: u32 = 4_096;

/// Pages that the board itself writes: epoch, history, configuration from the cable.
pub const STORAGE_PAGES: u32 = 8;

/// The flash of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashMap {
    /// The chip as probe-rs calls it.
    pub chip: &'static str,
    pub flash_bytes: u32,
    /// What is reserved at the end.
    pub reserved_bytes: u32,
    /// Pages of the journal.
    pub journal_pages: u32,
    /// Pages of the store of the board's own blocks.
    pub store_pages: u32,
    /// Pages of the log into which it gathers those of others while it leads.
    pub log_pages: u32,
}

impl FlashMap {
    /// nRF52840: 1 MiB.
    pub const NRF52840: Self = Self {
        chip: "nRF52840_xxAA",
        flash_bytes: 1 << 20,
        reserved_bytes: 128 << 10,
        journal_pages: 16,
        store_pages: 64,
        log_pages: 48,
    };

    /// nRF52833: 512 KiB.
    pub const NRF52833: Self = Self {
        chip: "nRF52833_xxAA",
        flash_bytes: 512 << 10,
        reserved_bytes: 0,
        journal_pages: 8,
        store_pages: 32,
        log_pages: 32,
    };

    pub const fn of(board: Board) -> Self {
        match board {
            Board::Nrf52840Dk | Board::Nrf52840Dongle | Board::XiaoNrf52840 | Board::FeatherNrf52840 => Self::NRF52840,
            Board::Nrf52833Dk | Board::MicrobitV2 => Self::NRF52833,
        }
    }

    pub const fn config_page(&self) -> u32 {
        self.flash_bytes - self.reserved_bytes - PAGE_BYTES
    }

    /// The addresses of the storage, its end not included.
    pub const fn storage(&self) -> core::ops::Range<u32> {
        self.config_page() - STORAGE_PAGES * PAGE_BYTES..self.config_page()
    }

    /// The addresses of the log.
    pub const fn block_log(&self) -> core::ops::Range<u32> {
        let end = self.storage().start;
        end - self.log_pages * PAGE_BYTES..end
    }

    /// The addresses of the store of blocks. The image ends before it.
    pub const fn block_store(&self) -> core::ops::Range<u32> {
        let end = self.block_log().start;
        end - self.store_pages * PAGE_BYTES..end
    }

    /// The addresses of the journal. An image that has one ends before it.
    pub const fn journal(&self) -> core::ops::Range<u32> {
        let end = self.block_store().start;
        end - self.journal_pages * PAGE_BYTES..end
    }
}

pub const NRF52840_CONFIG_PAGE: u32 = FlashMap::NRF52840.config_page();

pub const NRF52833_CONFIG_PAGE: u32 = FlashMap::NRF52833.config_page();

const _: () = assert!(crate::config::page::PAGE_MAX <= PAGE_BYTES as usize);
// The maps for the linker (`firmware/memory`) say the same.
const _: () = assert!(FlashMap::NRF52840.block_store().start == 0x6_7000);
const _: () = assert!(FlashMap::NRF52833.block_store().start == 0x3_7000);
// Boards in the field and files that were made for them rely on these.
const _: () = assert!(NRF52840_CONFIG_PAGE == 0xD_F000 && NRF52833_CONFIG_PAGE == 0x7_F000);
