//! Reads the image that a linker wrote: a 32-bit little-endian ELF file for an ARM.
//!
//! `object` knows the format. This module adds what its errors leave out: which part of the file is broken, and where the
//! file should have ended.

use std::fmt;

use object::LittleEndian;
use object::elf::{EM_ARM, FileHeader32, ProgramHeader32, SectionHeader32};
use object::elf::{PT_LOAD, SHF_ALLOC, SHF_WRITE, SHT_NOBITS, SHT_SYMTAB};
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _, SectionTable, Sym as _};

type Header = FileHeader32<LittleEndian>;
type ProgramHeader = ProgramHeader32<LittleEndian>;
type SectionHeader = SectionHeader32<LittleEndian>;

const MAGIC: [u8; 4] = object::elf::ELFMAG;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElfError {
    /// The file does not begin as an ELF file does.
    NotElf,
    /// The file is for a 64-bit or big-endian machine, or not for an ARM.
    OtherMachine,
    /// Something reaches beyond the end of the file.
    Truncated {
        what: &'static str,
        /// Where `what` would end.
        end: u64,
        /// The length of the file.
        length: u64,
    },
    /// The entries of a table have a size that the format does not know.
    EntrySize { what: &'static str, size: u16 },
    /// A table is absent or empty.
    Missing { what: &'static str },
    /// The name of a section does not end, or is not text.
    SectionName { index: usize },
    /// Anything else that `object` objects to.
    Damaged { what: String },
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf => write!(f, "not an ELF file; give the file that `cargo fw` builds"),
            Self::OtherMachine => {
                write!(f, "not an image for a 32-bit little-endian ARM; give the file that `cargo fw` builds")
            }
            Self::Truncated { what, end, length } => {
                write!(f, "the file is cut off or damaged: {what} would end at byte {end} of {length}")
            }
            Self::EntrySize { what, size } => write!(f, "the entries of the {what} have an impossible {size} bytes"),
            Self::Missing { what } => write!(f, "there are no {what}; give the file as the linker wrote it"),
            Self::SectionName { index } => write!(f, "section {index} has no readable name"),
            Self::Damaged { what } => write!(f, "the file is damaged: {what}"),
        }
    }
}

impl std::error::Error for ElfError {}

impl From<object::Error> for ElfError {
    fn from(error: object::Error) -> Self {
        Self::Damaged { what: error.to_string() }
    }
}

/// Bytes that are written to flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The *physical* address, where a debug probe puts the bytes. Initial values of variables lie in flash; the program
    /// itself copies them to RAM.
    pub address: u32,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    /// The address while the image runs.
    pub address: u32,
    pub size: u32,
    /// Whether it takes memory while the image runs.
    pub in_memory: bool,
    /// Whether the running image may write to it.
    pub writable: bool,
    /// Whether the file holds its contents; otherwise the contents start as zeros or undefined.
    pub in_file: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// Odd for a function: the lowest bit says that it is Thumb code.
    pub address: u32,
}

/// An ELF file whose header is in order.
#[derive(Clone, Copy)]
pub struct Elf<'f> {
    bytes: &'f [u8],
    header: &'f Header,
}

impl<'f> Elf<'f> {
    pub fn parse(bytes: &'f [u8]) -> Result<Self, ElfError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(ElfError::NotElf);
        }
        require(bytes, "the file header", 0, size_of::<Header>() as u64)?;
        let header = Header::parse(bytes).map_err(|_| ElfError::OtherMachine)?;
        if header.endian().is_err() || header.e_machine(LittleEndian) != EM_ARM {
            return Err(ElfError::OtherMachine);
        }
        Ok(Self { bytes, header })
    }

    /// What is written to flash; at least one segment.
    pub fn segments(&self) -> Result<Vec<Segment>, ElfError> {
        let mut segments = Vec::new();
        for entry in self.program_headers()? {
            if entry.p_type(LittleEndian) != PT_LOAD {
                continue;
            }
            let (offset, size) = entry.file_range(LittleEndian);
            let contents = require(self.bytes, "a loaded segment", offset, size)?;
            if !contents.is_empty() {
                segments.push(Segment { address: entry.p_paddr(LittleEndian), bytes: contents.to_vec() });
            }
        }
        // An image that loads nothing would keep to every budget and do nothing on a board.
        if segments.is_empty() { Err(ElfError::Missing { what: "segments to load" }) } else { Ok(segments) }
    }

    pub fn sections(&self) -> Result<Vec<Section>, ElfError> {
        let table = self.section_table()?.ok_or(ElfError::Missing { what: "section headers" })?;
        let read = |(index, entry): (usize, &SectionHeader)| {
            let name = table.section_name(LittleEndian, entry).ok();
            let name = name.and_then(|name| str::from_utf8(name).ok()).ok_or(ElfError::SectionName { index })?;
            let flags = entry.sh_flags(LittleEndian);
            Ok(Section {
                name: name.to_owned(),
                address: entry.sh_addr(LittleEndian),
                size: entry.sh_size(LittleEndian),
                in_memory: flags & SHF_ALLOC != 0,
                writable: flags & SHF_WRITE != 0,
                in_file: entry.sh_type(LittleEndian) != SHT_NOBITS,
            })
        };
        table.iter().enumerate().map(read).collect()
    }

    /// Everything that has a name, in the order of the file. A stripped file has no symbols, but still runs.
    pub fn symbols(&self) -> Result<Vec<Symbol>, ElfError> {
        let Some(sections) = self.section_table()? else { return Ok(Vec::new()) };
        for section in sections.iter().filter(|section| section.sh_type(LittleEndian) == SHT_SYMTAB) {
            let names = sections.section(section.link(LittleEndian));
            for (what, part) in [("the symbol table", Ok(section)), ("the table of symbol names", names)] {
                if let Some((offset, size)) = part?.file_range(LittleEndian) {
                    require(self.bytes, what, offset, size)?;
                }
            }
        }
        let table = sections.symbols(LittleEndian, self.bytes, SHT_SYMTAB)?;
        let mut symbols = Vec::new();
        for symbol in table.iter() {
            let name = table.symbol_name(LittleEndian, symbol)?;
            if !name.is_empty() {
                let name = String::from_utf8_lossy(name).into_owned();
                symbols.push(Symbol { name, address: symbol.st_value(LittleEndian) });
            }
        }
        Ok(symbols)
    }

    /// What the file holds of the section with this name, if there is one.
    pub fn contents(&self, name: &str) -> Option<&'f [u8]> {
        let (_, section) = self.section_table().ok()??.section_by_name(LittleEndian, name.as_bytes())?;
        section.data(LittleEndian, self.bytes).ok()
    }

    fn program_headers(&self) -> Result<&'f [ProgramHeader], ElfError> {
        let what = "program headers";
        let count = self.header.phnum(LittleEndian, self.bytes)?;
        let (offset, size) = (self.header.e_phoff(LittleEndian), self.header.e_phentsize(LittleEndian));
        if offset == 0 || count == 0 {
            return Err(ElfError::Missing { what });
        }
        require_table::<ProgramHeader>(self.bytes, what, offset, size, count)?;
        Ok(self.header.program_headers(LittleEndian, self.bytes)?)
    }

    /// The section headers with their names, if the file has section headers at all.
    fn section_table(&self) -> Result<Option<SectionTable<'f, Header>>, ElfError> {
        let offset = self.header.e_shoff(LittleEndian);
        let count = self.header.shnum(LittleEndian, self.bytes)?;
        if offset == 0 || count == 0 {
            return Ok(None);
        }
        let size = self.header.e_shentsize(LittleEndian);
        require_table::<SectionHeader>(self.bytes, "section headers", offset, size, count)?;
        let headers = self.header.section_headers(LittleEndian, self.bytes)?;
        let missing = ElfError::Missing { what: "section names" };
        let index = self.header.section_strings_index(LittleEndian, self.bytes).map_err(|_| missing.clone())?;
        let names = headers.get(index.0).and_then(|names| names.file_range(LittleEndian)).ok_or(missing)?;
        require(self.bytes, "the table of section names", names.0, names.1)?;
        Ok(Some(self.header.sections(LittleEndian, self.bytes)?))
    }
}

/// Fails unless a table has entries of the size of `T` and lies within the file.
fn require_table<T>(
    bytes: &[u8],
    what: &'static str,
    offset: u32,
    entry_size: u16,
    count: usize,
) -> Result<(), ElfError> {
    if usize::from(entry_size) != size_of::<T>() {
        return Err(ElfError::EntrySize { what, size: entry_size });
    }
    require(bytes, what, u64::from(offset), u64::from(entry_size) * count as u64).map(drop)
}

/// The part of the file that begins at `offset`, or an error that says where it would have ended.
fn require<'f>(bytes: &'f [u8], what: &'static str, offset: u64, size: u64) -> Result<&'f [u8], ElfError> {
    let end = offset.saturating_add(size);
    let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
    let found = range.and_then(|(from, to)| bytes.get(from..to));
    found.ok_or(ElfError::Truncated { what, end, length: bytes.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::{Elf, ElfError, Section, Segment, Symbol};

    const HEADER_SIZE: u32 = 52;
    const SEGMENT_SIZE: u16 = 32;
    const SECTION_SIZE: u16 = 40;
    const SYMBOL_SIZE: u32 = 16;
    const SECTION_NAMES_SIZE: u32 = 61;
    const SYMBOL_NAMES_SIZE: u32 = 14;

    const SECTION_NAMES: [u8; SECTION_NAMES_SIZE as usize] =
        *b"\0.text\0.data\0.bss\0.uninit\0.comment\0.shstrtab\0.symtab\0.strtab\0";
    const SYMBOL_NAMES: [u8; SYMBOL_NAMES_SIZE as usize] = *b"\0main\0counter\0";
    const CODE_AT: u32 = HEADER_SIZE + 2 * SEGMENT_SIZE as u32;
    const CODE_SIZE: u32 = 16;
    const DATA_SIZE: u32 = 8;
    const DATA_AT: u32 = CODE_AT + CODE_SIZE;
    const SECTION_NAMES_AT: u32 = DATA_AT + DATA_SIZE;
    const SYMBOLS_AT: u32 = SECTION_NAMES_AT + SECTION_NAMES_SIZE;
    const SYMBOL_NAMES_AT: u32 = SYMBOLS_AT + 3 * SYMBOL_SIZE;
    const SECTIONS_AT: u32 = SYMBOL_NAMES_AT + SYMBOL_NAMES_SIZE;

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn halves(values: &[u16]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn name_in(names: &[u8], name: &str) -> u32 {
        let at = names.windows(name.len()).position(|window| window == name.as_bytes());
        u32::try_from(at.expect("every name is in its table")).expect("a short table")
    }

    /// An image with 16 bytes of code, 8 of initialised and 120 of other variables. Its section table comes last, so
    /// that no shorter file is complete.
    fn small_image() -> Vec<u8> {
        let section = |name: &str| name_in(&SECTION_NAMES, name);
        let symbol = |name: &str| name_in(&SYMBOL_NAMES, name);
        let mut file = b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend(halves(&[2, 40]));
        file.extend(words(&[1, 0x101, HEADER_SIZE, SECTIONS_AT, 0]));
        file.extend(halves(&[52, SEGMENT_SIZE, 2, SECTION_SIZE, 9, 6]));
        // kind, offset, virtual and physical address, size in file and in memory, flags, alignment
        file.extend(words(&[1, CODE_AT, 0x100, 0x100, CODE_SIZE, CODE_SIZE, 5, 4]));
        file.extend(words(&[1, DATA_AT, 0x2000_0000, 0x110, DATA_SIZE, 128, 6, 4]));
        file.extend([0xAA; CODE_SIZE as usize]);
        file.extend([0xBB; DATA_SIZE as usize]);
        file.extend(SECTION_NAMES);
        // name, value, size, kind and visibility and section
        file.extend(words(&[0; 4]));
        file.extend(words(&[symbol("main"), 0x101, 16, 0x0001_0012]));
        file.extend(words(&[symbol("counter"), 0x2000_0000, 8, 0x0002_0011]));
        file.extend(SYMBOL_NAMES);
        // name, kind, flags, address, offset, size, link, info, alignment, entry size
        file.extend(words(&[0; 10]));
        file.extend(words(&[section(".text"), 1, 6, 0x100, CODE_AT, CODE_SIZE, 0, 0, 4, 0]));
        file.extend(words(&[section(".data"), 1, 3, 0x2000_0000, DATA_AT, DATA_SIZE, 0, 0, 4, 0]));
        file.extend(words(&[section(".bss"), 8, 3, 0x2000_0008, SECTION_NAMES_AT, 100, 0, 0, 4, 0]));
        file.extend(words(&[section(".uninit"), 8, 3, 0x2000_006C, SECTION_NAMES_AT, 20, 0, 0, 4, 0]));
        file.extend(words(&[section(".comment"), 1, 0x30, 0, CODE_AT, 9, 0, 0, 1, 1]));
        file.extend(words(&[section(".shstrtab"), 3, 0, 0, SECTION_NAMES_AT, SECTION_NAMES_SIZE, 0, 0, 1, 0]));
        file.extend(words(&[section(".symtab"), 2, 0, 0, SYMBOLS_AT, 3 * SYMBOL_SIZE, 8, 1, 4, SYMBOL_SIZE]));
        file.extend(words(&[section(".strtab"), 3, 0, 0, SYMBOL_NAMES_AT, SYMBOL_NAMES_SIZE, 0, 0, 1, 0]));
        file
    }

    /// Everything that this module reads.
    type Contents = (Vec<Segment>, Vec<Section>, Vec<Symbol>);

    fn read(file: &[u8]) -> Result<Contents, ElfError> {
        let elf = Elf::parse(file)?;
        Ok((elf.segments()?, elf.sections()?, elf.symbols()?))
    }

    fn with_bytes(at: usize, bytes: &[u8]) -> Result<Contents, ElfError> {
        let mut file = small_image();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        read(&file)
    }

    #[test]
    fn segments_sections_and_symbols_are_read_as_they_stand() {
        let (segments, sections, symbols) = read(&small_image()).expect("a well-formed image");
        let loaded: Vec<_> = segments.iter().map(|segment| (segment.address, segment.bytes.as_slice())).collect();
        assert_eq!(loaded, [(0x100, &[0xAA; 16][..]), (0x110, &[0xBB; 8])], "at their physical addresses");
        let bss = &sections[3];
        assert_eq!((bss.name.as_str(), bss.address, bss.size), (".bss", 0x2000_0008, 100));
        assert!(bss.in_memory && bss.writable && !bss.in_file);
        let text = &sections[1];
        assert!(text.in_memory && !text.writable && text.in_file);
        assert!(!sections[5].in_memory, "comments are not loaded");
        let named: Vec<_> = symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.address)).collect();
        assert_eq!(named, [("main", 0x101), ("counter", 0x2000_0000)]);
    }

    #[test]
    fn a_file_may_lie_at_any_address() {
        let mut shifted = vec![0];
        shifted.extend(small_image());
        assert_eq!(read(&shifted[1..]), read(&small_image()));
    }

    #[test]
    fn no_shorter_file_is_taken_for_complete() {
        let file = small_image();
        for length in 0..file.len() {
            let error = read(&file[..length]).expect_err("cut off");
            let expected = if length < 4 {
                error == ElfError::NotElf
            } else {
                matches!(error, ElfError::Truncated { end, length: told, .. }
                    if end > length as u64 && told == length as u64)
            };
            assert!(expected, "{length} bytes: {error}");
        }
    }

    #[test]
    fn damage_is_named() {
        assert_eq!(with_bytes(0, b"\x7FOLF"), Err(ElfError::NotElf));
        assert_eq!(with_bytes(4, &[2]), Err(ElfError::OtherMachine));
        assert_eq!(with_bytes(5, &[2]), Err(ElfError::OtherMachine));
        assert_eq!(with_bytes(18, &[62]), Err(ElfError::OtherMachine), "an x86");
        assert_eq!(with_bytes(42, &[31]), Err(ElfError::EntrySize { what: "program headers", size: 31 }));
        assert_eq!(with_bytes(44, &[0]), Err(ElfError::Missing { what: "program headers" }));
        assert_eq!(with_bytes(32, &[0; 4]), Err(ElfError::Missing { what: "section headers" }));
        assert_eq!(with_bytes(50, &[9]), Err(ElfError::Missing { what: "section names" }));
        let second_section = SECTIONS_AT as usize + usize::from(SECTION_SIZE);
        assert_eq!(with_bytes(second_section, &[0xFF; 4]), Err(ElfError::SectionName { index: 1 }));
        let far = with_bytes(28, &[0xFF; 4]).expect_err("beyond the end");
        assert!(far.to_string().contains("program headers would end at byte 4294967359 of"), "{far}");
        let symbols = SECTIONS_AT as usize + 7 * usize::from(SECTION_SIZE) + 16;
        let far = with_bytes(symbols, &[0xFF; 4]).expect_err("beyond the end");
        assert!(far.to_string().contains("the symbol table would end at byte 4294967343 of"), "{far}");
    }

    #[test]
    fn an_image_that_loads_nothing_is_no_image() {
        let mut file = small_image();
        for segment in [HEADER_SIZE, HEADER_SIZE + u32::from(SEGMENT_SIZE)] {
            file[segment as usize] = 4;
        }
        assert_eq!(read(&file), Err(ElfError::Missing { what: "segments to load" }));
    }

    #[test]
    fn a_file_without_sections_still_loads() {
        let mut file = small_image();
        file[32..36].fill(0);
        let elf = Elf::parse(&file).expect("a header");
        assert_eq!((elf.segments().map(|segments| segments.len()), elf.symbols()), (Ok(2), Ok(Vec::new())));
    }

    #[test]
    fn no_damaged_byte_makes_the_reader_panic() {
        let file = small_image();
        for at in 0..file.len() {
            for value in [0, 1, 0x7F, 0x80, 0xFF] {
                let mut damaged = file.clone();
                damaged[at] = value;
                if let Ok((segments, ..)) = read(&damaged) {
                    assert!(segments.len() <= 2, "byte {at} as {value} made segments out of nothing");
                }
            }
        }
    }
}
