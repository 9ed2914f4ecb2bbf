//! The flash of the chip, in which a page is erased in slices.
//!
//! Erasing flash halts the processor, and a whole page takes it 85 ms: the board would be deaf, and its neighbours would lose a
//! burst of frames. The chip can also erase a page bit by bit. A slice takes three milliseconds, less than one long frame, and
//! begins while nothing is being received or sent, if such a moment comes soon. What a page holds before its last slice is
//! not defined; a board that loses its power then erases the page from the beginning.

use common::board::watchdog::Part;
use embassy_futures::yield_now;
use embassy_nrf::Peri;
use embassy_nrf::nvmc::{Error, FLASH_SIZE, Nvmc, PAGE_SIZE};
use embassy_nrf::pac::nvmc::vals::Wen;
use embassy_nrf::pac::radio::vals::State;
use embassy_nrf::pac::{NVMC, RADIO};
use embassy_nrf::peripherals;
use embassy_time::{Duration, Timer};
use embedded_storage::nor_flash as blocking;
use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

use crate::progress;

const SLICE_MS: u8 = 3;
/// Together they take as long as the slowest chip needs for a page, 89.7 ms.
const SLICES: usize = 30;

/// Between two slices: time to receive a frame, to answer it, and to be answered.
const GAP: Duration = Duration::from_millis(7);

/// How often a busy radio is looked at, and how often at most: a neighbour's frame and its answers are over by then.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const LOOKS_MAX: usize = 20;

/// After this many reads a look through the flash lets other tasks of the thread have their turn: a full log takes some tenths
/// of a second, in which bytes from a host would be lost.
const READS_MAX: u8 = 64;

pub struct Flash {
    chip: Nvmc<'static>,
    /// Reads since others last had their turn.
    reads: u8,
}

impl Flash {
    pub fn new(flash: Peri<'static, peripherals::NVMC>) -> Self {
        Self { chip: Nvmc::new(flash), reads: 0 }
    }
}

impl ErrorType for Flash {
    type Error = Error;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = <Nvmc<'static> as blocking::ReadNorFlash>::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        self.reads += 1;
        if self.reads == READS_MAX {
            self.reads = 0;
            yield_now().await;
        }
        blocking::ReadNorFlash::read(&mut self.chip, offset, bytes)
    }

    fn capacity(&self) -> usize {
        FLASH_SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = <Nvmc<'static> as blocking::NorFlash>::WRITE_SIZE;
    const ERASE_SIZE: usize = PAGE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        let is_aligned = [from, to].iter().all(|&end| (end as usize).is_multiple_of(PAGE_SIZE));
        if !is_aligned {
            return Err(Error::Unaligned);
        }
        if to < from || to as usize > FLASH_SIZE {
            return Err(Error::OutOfBounds);
        }
        for page in (from..to).step_by(PAGE_SIZE) {
            for _ in 0..SLICES {
                erase_slice(page).await;
            }
            progress::tick(Part::Storage);
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        blocking::NorFlash::write(&mut self.chip, offset, bytes)
    }
}

impl MultiwriteNorFlash for Flash {}

/// Erases a slice of the page in a quiet moment.
async fn erase_slice(page: u32) {
    for look in 1..=LOOKS_MAX {
        // With interrupts masked, so that no frame is handled between the look and the slice.
        let is_erased = critical_section::with(|_| {
            let is_time = is_quiet() || look == LOOKS_MAX;
            if is_time {
                erase_now(page);
            }
            is_time
        });
        if is_erased {
            break;
        }
        Timer::after(LOOK_EVERY).await;
    }
    // Before the radio has started, nobody is waiting.
    if RADIO.state().read().state() != State::Disabled {
        Timer::after(GAP).await;
    }
}

/// Whether the radio listens and hears no frame, or is off.
fn is_quiet() -> bool {
    match RADIO.state().read().state() {
        State::Disabled => true,
        State::Rx => RADIO.events_framestart().read() == 0 || RADIO.events_phyend().read() != 0,
        _ => false,
    }
}

/// The processor is halted meanwhile.
fn erase_now(page: u32) {
    NVMC.config().write(|w| w.set_wen(Wen::Een));
    NVMC.erasepagepartialcfg().write(|w| w.set_duration(SLICE_MS));
    NVMC.erasepagepartial().write_value(page);
    while !NVMC.ready().read().ready() {}
    NVMC.config().write(|w| w.set_wen(Wen::Ren));
}
