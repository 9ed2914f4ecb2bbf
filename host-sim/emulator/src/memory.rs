//! Flash and RAM of a board.
//!
//! Flash begins at address 0 and RAM at `0x2000_0000`, as on every nRF52. The processor reads both directly and writes RAM
//! directly. A store to flash goes through the peripherals, because only the flash controller knows whether it is allowed.
//! Peripherals use [`Memory::dma_read`] and [`Memory::dma_write`], which only reach RAM: `EasyDMA` cannot read flash.

use std::ops::Range;

use crate::io::{BusError, Width};

pub const RAM_START: u32 = 0x2000_0000;

/// The unit in which flash is erased.
pub const PAGE_BYTES: u32 = 4096;

/// What RAM holds at power-on. Real RAM holds anything; a fixed value is reproducible, and shows what was written.
pub const POWER_ON_BYTE: u8 = 0xA5;

const ERASED: u8 = 0xFF;

#[derive(Clone, Debug)]
pub struct Memory {
    flash: Vec<u8>,
    ram: Vec<u8>,
    /// A range that covers every byte of flash that changed since the last call of `take_flash_changes`.
    flash_changes: Option<Range<u32>>,
}

impl Memory {
    /// Erased flash, and RAM as it is at power-on.
    pub fn new(flash_bytes: usize, ram_bytes: usize) -> Self {
        Self { flash: vec![ERASED; flash_bytes], ram: vec![POWER_ON_BYTE; ram_bytes], flash_changes: None }
    }

    /// 1 MiB of flash and 256 KiB of RAM.
    pub fn nrf52840() -> Self {
        Self::new(1024 * 1024, 256 * 1024)
    }

    /// 512 KiB of flash and 128 KiB of RAM.
    pub fn nrf52833() -> Self {
        Self::new(512 * 1024, 128 * 1024)
    }

    pub fn flash(&self) -> &[u8] {
        &self.flash
    }

    pub fn ram(&self) -> &[u8] {
        &self.ram
    }

    /// RAM loses its contents, flash keeps them.
    pub fn lose_power(&mut self) {
        self.ram.fill(POWER_ON_BYTE);
    }

    pub fn is_flash(&self, address: u32) -> bool {
        (address as usize) < self.flash.len()
    }

    pub fn is_ram(&self, address: u32) -> bool {
        (address.wrapping_sub(RAM_START) as usize) < self.ram.len()
    }

    /// Reads flash or RAM; `None` outside both.
    #[inline]
    pub fn read(&self, address: u32, width: Width) -> Option<u32> {
        let ram_offset = address.wrapping_sub(RAM_START) as usize;
        let (bytes, at) =
            if ram_offset < self.ram.len() { (&self.ram, ram_offset) } else { (&self.flash, address as usize) };
        let bytes = bytes.get(at..)?;
        match width {
            Width::Byte => bytes.first().map(|&byte| u32::from(byte)),
            Width::Half => bytes.first_chunk().map(|&half| u32::from(u16::from_le_bytes(half))),
            Width::Word => bytes.first_chunk().map(|&word| u32::from_le_bytes(word)),
        }
    }

    /// Writes RAM, and returns false if the address lies elsewhere.
    #[inline]
    #[must_use]
    pub fn write_ram(&mut self, address: u32, width: Width, value: u32) -> bool {
        let Some(bytes) = self.ram.get_mut(address.wrapping_sub(RAM_START) as usize..) else { return false };
        let [low, second, _, _] = value.to_le_bytes();
        match width {
            Width::Byte => bytes.first_mut().map(|byte| *byte = low),
            Width::Half => bytes.first_chunk_mut().map(|half| *half = [low, second]),
            Width::Word => bytes.first_chunk_mut().map(|word| *word = value.to_le_bytes()),
        }
        .is_some()
    }

    /// Reads RAM for a peripheral.
    pub fn dma_read(&self, address: u32, into: &mut [u8]) -> Result<(), BusError> {
        let range = self.dma_range(address, into.len())?;
        into.copy_from_slice(&self.ram[range]);
        Ok(())
    }

    /// Writes RAM for a peripheral.
    pub fn dma_write(&mut self, address: u32, data: &[u8]) -> Result<(), BusError> {
        let range = self.dma_range(address, data.len())?;
        self.ram[range].copy_from_slice(data);
        Ok(())
    }

    fn dma_range(&self, address: u32, length: usize) -> Result<Range<usize>, BusError> {
        let start = address.wrapping_sub(RAM_START) as usize;
        let end = start.checked_add(length).filter(|&end| end <= self.ram.len());
        end.map(|end| start..end)
            .ok_or_else(|| BusError { address, what: format!("EasyDMA of {length} bytes, which are not all in RAM") })
    }

    /// Programs flash: bits can only be cleared, never set. Returns false if the bytes are not all in flash.
    #[must_use]
    pub fn program_flash(&mut self, address: u32, data: &[u8]) -> bool {
        let start = address as usize;
        let Some(cells) = start.checked_add(data.len()).and_then(|end| self.flash.get_mut(start..end)) else {
            return false;
        };
        for (cell, &byte) in cells.iter_mut().zip(data) {
            *cell &= byte;
        }
        self.note_flash_change(start..start + data.len());
        true
    }

    /// Erases the page that holds an address, and returns false if there is none.
    #[must_use]
    pub fn erase_page(&mut self, address: u32) -> bool {
        let start = (address & !(PAGE_BYTES - 1)) as usize;
        let Some(page) = self.flash.get_mut(start..start + PAGE_BYTES as usize) else { return false };
        page.fill(ERASED);
        self.note_flash_change(start..start + PAGE_BYTES as usize);
        true
    }

    pub fn erase_flash(&mut self) {
        self.flash.fill(ERASED);
        self.note_flash_change(0..self.flash.len());
    }

    /// Replaces the contents of flash, as a debug probe does. Returns false if the bytes do not fit.
    #[must_use]
    pub fn load_flash(&mut self, address: u32, data: &[u8]) -> bool {
        let start = address as usize;
        let Some(cells) = start.checked_add(data.len()).and_then(|end| self.flash.get_mut(start..end)) else {
            return false;
        };
        cells.copy_from_slice(data);
        self.note_flash_change(start..start + data.len());
        true
    }

    fn note_flash_change(&mut self, range: Range<usize>) {
        let end = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let (start, end) = (end(range.start), end(range.end));
        self.flash_changes = Some(match self.flash_changes.take() {
            Some(changed) => changed.start.min(start)..changed.end.max(end),
            None => start..end,
        });
    }

    /// What changed in flash since the last call. Instructions decoded from there are stale.
    pub(crate) fn take_flash_changes(&mut self) -> Option<Range<u32>> {
        self.flash_changes.take()
    }

    /// How many bytes from `start` on still hold their power-on value. From the bottom of the stack, it is the space that was
    /// never used.
    pub fn untouched(&self, start: u32) -> u32 {
        let from = self.ram.get(start.wrapping_sub(RAM_START) as usize..).unwrap_or_default();
        let run = from.iter().take_while(|&&byte| byte == POWER_ON_BYTE).count();
        u32::try_from(run).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{Memory, PAGE_BYTES, RAM_START};
    use crate::io::Width;

    #[test]
    fn accesses_end_where_the_memories_end() {
        let mut memory = Memory::new(8192, 64);
        assert!(memory.write_ram(RAM_START + 60, Width::Word, 0x1234_5678));
        assert_eq!(memory.read(RAM_START + 62, Width::Half), Some(0x1234));
        assert!(!memory.write_ram(RAM_START + 61, Width::Word, 0), "one byte reaches beyond");
        assert_eq!(memory.read(RAM_START + 63, Width::Half), None);
        assert_eq!(memory.read(8191, Width::Byte), Some(0xFF));
        assert_eq!(memory.read(8190, Width::Word), None);
        assert_eq!(memory.read(RAM_START - 1, Width::Byte), None);
    }

    #[test]
    fn easy_dma_reaches_ram_alone() {
        let mut memory = Memory::new(8192, 64);
        memory.dma_write(RAM_START + 4, &[1, 2, 3]).expect("inside RAM");
        let mut read = [0; 3];
        memory.dma_read(RAM_START + 4, &mut read).expect("inside RAM");
        assert_eq!(read, [1, 2, 3]);
        let error = memory.dma_read(0x100, &mut read).expect_err("flash");
        assert_eq!(error.address, 0x100);
        assert!(memory.dma_write(RAM_START + 62, &[0; 3]).is_err(), "one byte reaches beyond");
    }

    #[test]
    fn flash_only_loses_bits_until_its_page_is_erased() {
        let mut memory = Memory::new(2 * PAGE_BYTES as usize, 64);
        assert!(memory.program_flash(PAGE_BYTES, &[0x0F]) && memory.program_flash(PAGE_BYTES, &[0xF5]));
        assert_eq!(memory.flash()[PAGE_BYTES as usize], 0x05);
        assert_eq!(memory.take_flash_changes(), Some(PAGE_BYTES..PAGE_BYTES + 1));
        assert!(memory.erase_page(PAGE_BYTES + 17));
        assert_eq!(memory.flash()[PAGE_BYTES as usize], 0xFF);
        assert!(!memory.program_flash(2 * PAGE_BYTES, &[0]) && !memory.erase_page(2 * PAGE_BYTES));
    }

    #[test]
    fn untouched_ram_ends_at_the_first_written_byte() {
        let mut memory = Memory::new(8192, 64);
        assert!(memory.write_ram(RAM_START + 40, Width::Byte, 0));
        assert_eq!(memory.untouched(RAM_START + 8), 32);
        memory.lose_power();
        assert_eq!(memory.untouched(RAM_START + 8), 56);
    }
}
