//! Loads the image that a linker wrote: a 32-bit little-endian ELF file.
//!
//! Segments go to their *physical* addresses, as a debug probe does it: initial values of variables lie in flash, and the
//! program itself copies them to RAM.

use std::fmt;

use crate::memory::Memory;

const MAGIC: [u8; 4] = [0x7F, b'E', b'L', b'F'];
const CLASS_32: u8 = 1;
const LITTLE_ENDIAN: u8 = 1;
const MACHINE_ARM: u16 = 40;
const PT_LOAD: u32 = 1;
const SHT_SYMTAB: u32 = 2;
/// No nRF52 has more flash.
const FLASH_MAX: usize = 1 << 20;

/// Why an image could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// It does not begin as an ELF file for a 32-bit little-endian ARM does.
    NotAnImage,
    /// Something reaches beyond the end of the file.
    Truncated {
        /// What does.
        what: &'static str,
    },
    /// It loads nothing.
    Empty,
    /// A segment lies where the board has no flash.
    NotInFlash {
        /// Where it would begin.
        address: u32,
        /// How long it is.
        length: usize,
        /// How much flash there is.
        flash: usize,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnImage => write!(f, "not an image for a 32-bit ARM; give the ELF file that `cargo fw` builds"),
            Self::Truncated { what } => write!(f, "the file is cut off or damaged: {what} reach beyond its end"),
            Self::Empty => write!(f, "the file loads nothing; give it as the linker wrote it"),
            Self::NotInFlash { address, length, flash } => write!(
                f,
                "{length} bytes at {address:#010x} do not fit the board, which has {flash} bytes of flash from address 0"
            ),
        }
    }
}

impl std::error::Error for LoadError {}

/// Bytes and where they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The physical address.
    pub address: u32,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// An image, ready to be flashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What is loaded.
    pub segments: Vec<Segment>,
    /// Names and addresses of everything that has a name, as the file orders them.
    pub symbols: Vec<(String, u32)>,
}

impl Image {
    /// Reads an ELF file.
    pub fn parse(file: &[u8]) -> Result<Self, LoadError> {
        let header = slice(file, "the file header", 0, 52).map_err(|_| LoadError::NotAnImage)?;
        if !header.starts_with(&MAGIC) || header[4] != CLASS_32 || header[5] != LITTLE_ENDIAN {
            return Err(LoadError::NotAnImage);
        }
        if half(header, 18) != MACHINE_ARM {
            return Err(LoadError::NotAnImage);
        }
        let segments = segments(file, header)?;
        if segments.is_empty() {
            return Err(LoadError::Empty);
        }
        Ok(Self { segments, symbols: symbols(file, header)? })
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

    /// Where something with a name lies.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.symbols.iter().find(|(known, _)| known == name).map(|&(_, address)| address)
    }
}

fn segments(file: &[u8], header: &[u8]) -> Result<Vec<Segment>, LoadError> {
    let mut segments = Vec::new();
    for entry in table(file, "the program headers", word(header, 28), half(header, 42), half(header, 44), 32)? {
        let (kind, offset, physical, length) = (word(entry, 0), word(entry, 4), word(entry, 12), word(entry, 16));
        if kind == PT_LOAD && length > 0 {
            let bytes = slice(file, "the contents of a segment", offset, length)?.to_vec();
            segments.push(Segment { address: physical, bytes });
        }
    }
    Ok(segments)
}

fn symbols(file: &[u8], header: &[u8]) -> Result<Vec<(String, u32)>, LoadError> {
    let sections = table(file, "the section headers", word(header, 32), half(header, 46), half(header, 48), 40)?;
    let mut symbols = Vec::new();
    for section in sections.iter().filter(|section| word(section, 4) == SHT_SYMTAB) {
        let contents = slice(file, "the symbols", word(section, 16), word(section, 20))?;
        let Some(names) = sections.get(word(section, 24) as usize) else { continue };
        let names = slice(file, "the names of the symbols", word(names, 16), word(names, 20))?;
        for symbol in contents.chunks_exact(16) {
            let name = names.get(word(symbol, 0) as usize..).unwrap_or_default();
            let length = name.iter().position(|&byte| byte == 0).unwrap_or(0);
            if length > 0 {
                symbols.push((String::from_utf8_lossy(&name[..length]).into_owned(), word(symbol, 4)));
            }
        }
    }
    Ok(symbols)
}

/// The entries of a table, each at least `least` bytes long. A table that is absent has none.
fn table<'f>(
    file: &'f [u8],
    what: &'static str,
    at: u32,
    entry: u16,
    count: u16,
    least: u16,
) -> Result<Vec<&'f [u8]>, LoadError> {
    if at == 0 || count == 0 {
        return Ok(Vec::new());
    }
    if entry < least {
        return Err(LoadError::Truncated { what });
    }
    let contents = slice(file, what, at, u32::from(entry) * u32::from(count))?;
    Ok(contents.chunks_exact(usize::from(entry)).collect())
}

fn slice<'f>(file: &'f [u8], what: &'static str, at: u32, length: u32) -> Result<&'f [u8], LoadError> {
    let end = (at as usize).checked_add(length as usize).ok_or(LoadError::Truncated { what })?;
    file.get(at as usize..end).ok_or(LoadError::Truncated { what })
}

/// The 32-bit number at a place in a header whose length was checked.
fn word(header: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// The 16-bit number at a place in a header whose length was checked.
fn half(header: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([header[at], header[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::{Image, LoadError};
    use crate::memory::Memory;

    /// An image with four bytes of code and two of initial values, and no sections.
    fn small_image() -> Vec<u8> {
        let mut file = b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend([2, 0, 40, 0]);
        file.extend([1, 0x101, 52, 0, 0].into_iter().flat_map(u32::to_le_bytes));
        file.extend([52, 32, 2, 40, 0, 0].into_iter().flat_map(u16::to_le_bytes));
        // kind, offset, virtual and physical address, size in file and in memory, flags, alignment
        file.extend([1, 116, 0x100, 0x100, 4, 4, 5, 4].into_iter().flat_map(u32::to_le_bytes));
        file.extend([1, 120, 0x2000_0000, 0x104, 2, 8, 6, 4].into_iter().flat_map(u32::to_le_bytes));
        file.extend([1, 2, 3, 4, 5, 6]);
        file
    }

    #[test]
    fn segments_go_to_their_physical_addresses() {
        let mut memory = Memory::new(4096, 64);
        Image::parse(&small_image()).expect("a whole image").load(&mut memory).expect("it fits");
        assert_eq!(memory.flash()[0x100..0x107], [1, 2, 3, 4, 5, 6, 0xFF]);
    }

    #[test]
    fn what_does_not_fit_is_said_with_its_place() {
        let error = Image::parse(&small_image()).expect("a whole image").load(&mut Memory::new(0x102, 64));
        assert_eq!(error, Err(LoadError::NotInFlash { address: 0x100, length: 4, flash: 0x102 }));
    }

    #[test]
    fn no_shorter_file_is_taken_for_whole() {
        let file = small_image();
        for length in 0..file.len() {
            assert!(Image::parse(&file[..length]).is_err(), "{length} bytes of {}", file.len());
        }
        assert_eq!(Image::parse(b"#!/bin/sh"), Err(LoadError::NotAnImage));
    }
}
