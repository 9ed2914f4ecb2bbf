//! Flashes the image of a board, as a debug probe does.

use std::fmt;

use crate::elf::{Elf, ElfError, Segment, Symbol};
use crate::memory::Memory;

/// No nRF52 has more flash.
const FLASH_MAX: usize = 1 << 20;

/// Why an image could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    Elf(ElfError),
    /// A segment lies where the board has no flash.
    NotInFlash {
        address: u32,
        length: usize,
        /// The size of the board's flash.
        flash: usize,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elf(error) => error.fmt(f),
            Self::NotInFlash { address, length, flash } => write!(
                f,
                "{length} bytes at {address:#010x} do not fit the board, which has {flash} bytes of flash from address 0"
            ),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<ElfError> for LoadError {
    fn from(error: ElfError) -> Self {
        Self::Elf(error)
    }
}

/// An image, ready to be flashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub segments: Vec<Segment>,
    pub symbols: Vec<Symbol>,
}

impl Image {
    pub fn parse(file: &[u8]) -> Result<Self, LoadError> {
        let elf = Elf::parse(file)?;
        Ok(Self { segments: elf.segments()?, symbols: elf.symbols()? })
    }

    /// Flashes a board.
    pub fn load(&self, memory: &mut Memory) -> Result<(), LoadError> {
        for segment in &self.segments {
            if !memory.load_flash(segment.address, &segment.bytes) {
                let (address, length, flash) = (segment.address, segment.bytes.len(), memory.flash().len());
                return Err(LoadError::NotInFlash { address, length, flash });
            }
        }
        Ok(())
    }

    /// What flash holds from address 0 to where the image ends; what the image leaves out is erased.
    pub fn beginning_of_flash(&self) -> Vec<u8> {
        let mut flash = Vec::new();
        for Segment { address, bytes } in &self.segments {
            let start = *address as usize;
            // The image of a board ends within its flash, or it would not load.
            if start + bytes.len() <= FLASH_MAX {
                flash.resize(flash.len().max(start + bytes.len()), 0xFF);
                flash[start..start + bytes.len()].copy_from_slice(bytes);
            }
        }
        flash
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.symbols.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.address)
    }
}

#[cfg(test)]
mod tests {
    use super::{Image, LoadError};
    use crate::elf::Segment;
    use crate::memory::Memory;

    /// Four bytes of code, then two bytes of initial values.
    fn small_image() -> Image {
        let code = Segment { address: 0x100, bytes: vec![1, 2, 3, 4] };
        let values = Segment { address: 0x104, bytes: vec![5, 6] };
        Image { segments: vec![code, values], symbols: Vec::new() }
    }

    #[test]
    fn segments_go_to_their_addresses() {
        let mut memory = Memory::new(4096, 64);
        small_image().load(&mut memory).expect("it fits");
        assert_eq!(memory.flash()[0x100..0x107], [1, 2, 3, 4, 5, 6, 0xFF]);
        let beginning = small_image().beginning_of_flash();
        assert_eq!(beginning, memory.flash()[..0x106]);
    }

    #[test]
    fn an_image_that_does_not_fit_is_refused_with_its_address() {
        let error = small_image().load(&mut Memory::new(0x102, 64));
        assert_eq!(error, Err(LoadError::NotInFlash { address: 0x100, length: 4, flash: 0x102 }));
    }
}
