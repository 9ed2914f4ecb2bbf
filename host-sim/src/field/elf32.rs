//! Reads the headers of a 32-bit little-endian ELF file: what an image loads, and its sections.

use std::fmt;

const MAGIC: [u8; 4] = [0x7F, b'E', b'L', b'F'];
const CLASS_32: u8 = 1;
const LITTLE_ENDIAN: u8 = 1;

const HEADER_SIZE: u32 = 52;
const SEGMENT_SIZE: u16 = 32;
const SECTION_SIZE: u16 = 40;

const PT_LOAD: u32 = 1;
const SHT_NOBITS: u32 = 8;
const SHF_WRITE: u32 = 1;
const SHF_ALLOC: u32 = 2;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElfError {
    /// It does not begin as an ELF file does.
    NotElf,
    /// It is for a 64-bit or a big-endian machine.
    OtherMachine,
    /// Something reaches beyond the end of the file.
    Truncated {
        /// What does.
        what: &'static str,
        /// Where it would end.
        end: u64,
        /// Where the file ends.
        length: u64,
    },
    /// The entries of a table have a size that the format does not know.
    EntrySize {
        /// Which table.
        what: &'static str,
        /// The size it gives.
        size: u16,
    },
    /// There is no such table, or it is empty.
    Missing {
        /// Which table.
        what: &'static str,
    },
    /// The name of a section does not end, or is no text.
    SectionName {
        /// Which section.
        index: usize,
    },
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf => write!(f, "not an ELF file"),
            Self::OtherMachine => {
                write!(f, "not an image for a 32-bit little-endian machine; give the file that `cargo fw` builds")
            }
            Self::Truncated { what, end, length } => {
                write!(f, "the file is cut off or damaged: {what} would end at byte {end} of {length}")
            }
            Self::EntrySize { what, size } => write!(f, "the entries of the {what} have an impossible {size} bytes"),
            Self::Missing { what } => write!(f, "there are no {what}; give the file as the linker wrote it"),
            Self::SectionName { index } => write!(f, "section {index} has no readable name"),
        }
    }
}

impl std::error::Error for ElfError {}

/// A section of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its address while the image runs.
    pub address: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Whether it takes memory while the image runs.
    pub in_memory: bool,
    /// Whether it may be written to then.
    pub writable: bool,
    /// Whether the file holds its contents; otherwise it starts as zeros or as anything.
    pub in_file: bool,
}

/// What the headers of an image say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The sizes in the file of everything that is loaded.
    pub load_sizes: Vec<u32>,
    /// The sections.
    pub sections: Vec<Section>,
}

impl Image {
    /// Reads the headers of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, ElfError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(ElfError::NotElf);
        }
        let header = slice(bytes, "the file header", 0, HEADER_SIZE)?;
        if header[4] != CLASS_32 || header[5] != LITTLE_ENDIAN {
            return Err(ElfError::OtherMachine);
        }
        Ok(Self { load_sizes: load_sizes(bytes, header)?, sections: sections(bytes, header)? })
    }
}

fn load_sizes(bytes: &[u8], header: &[u8]) -> Result<Vec<u32>, ElfError> {
    let table =
        Table { what: "program headers", at: word(header, 28), entry: half(header, 42), count: half(header, 44) };
    let mut sizes = Vec::new();
    for segment in table.entries(bytes, SEGMENT_SIZE)? {
        if word(segment, 0) == PT_LOAD {
            let contents = slice(bytes, "a loaded segment", word(segment, 4), word(segment, 16))?;
            sizes.extend(u32::try_from(contents.len()));
        }
    }
    // An image that loads nothing would pass every budget.
    if sizes.is_empty() { Err(ElfError::Missing { what: "segments to load" }) } else { Ok(sizes) }
}

fn sections(bytes: &[u8], header: &[u8]) -> Result<Vec<Section>, ElfError> {
    let table =
        Table { what: "section headers", at: word(header, 32), entry: half(header, 46), count: half(header, 48) };
    let entries = table.entries(bytes, SECTION_SIZE)?;
    let names = entries.get(usize::from(half(header, 50))).ok_or(ElfError::Missing { what: "section names" })?;
    let names = slice(bytes, "the table of section names", word(names, 16), word(names, 20))?;
    let read = |(index, entry): (usize, &&[u8])| {
        let name = name_at(names, word(entry, 0)).ok_or(ElfError::SectionName { index })?;
        let (kind, flags) = (word(entry, 4), word(entry, 8));
        Ok(Section {
            name,
            address: word(entry, 12),
            size: word(entry, 20),
            in_memory: flags & SHF_ALLOC != 0,
            writable: flags & SHF_WRITE != 0,
            in_file: kind != SHT_NOBITS,
        })
    };
    entries.iter().enumerate().map(read).collect()
}

struct Table {
    what: &'static str,
    at: u32,
    entry: u16,
    count: u16,
}

impl Table {
    /// The entries, each at least `size` long.
    fn entries<'b>(&self, bytes: &'b [u8], size: u16) -> Result<Vec<&'b [u8]>, ElfError> {
        if self.at == 0 || self.count == 0 {
            return Err(ElfError::Missing { what: self.what });
        }
        if self.entry < size {
            return Err(ElfError::EntrySize { what: self.what, size: self.entry });
        }
        let length = u32::from(self.entry) * u32::from(self.count);
        let table = slice(bytes, self.what, self.at, length)?;
        Ok(table.chunks_exact(usize::from(self.entry)).collect())
    }
}

fn slice<'b>(bytes: &'b [u8], what: &'static str, at: u32, length: u32) -> Result<&'b [u8], ElfError> {
    let end = u64::from(at) + u64::from(length);
    let range = usize::try_from(at).ok().zip(usize::try_from(end).ok());
    let found = range.and_then(|(from, to)| bytes.get(from..to));
    found.ok_or(ElfError::Truncated { what, end, length: bytes.len() as u64 })
}

fn name_at(names: &[u8], at: u32) -> Option<String> {
    let rest = names.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
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
pub(crate) mod tests {
    use super::{ElfError, HEADER_SIZE, Image, SECTION_SIZE, SEGMENT_SIZE};

    const NAMES: &[u8] = b"\0.text\0.data\0.bss\0.uninit\0.comment\0.shstrtab\0";
    const CONTENTS: u32 = HEADER_SIZE + 2 * SEGMENT_SIZE as u32;

    fn names_size() -> u32 {
        u32::try_from(NAMES.len()).expect("a short table")
    }

    /// Where the section headers begin: after the code, the initial values and the names.
    fn sections_at() -> u32 {
        CONTENTS + 16 + 8 + names_size()
    }

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn halves(values: &[u16]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// An image with 16 bytes of code, 8 of initialised and 120 of other variables. Its section table comes last, so
    /// that no shorter file is whole.
    pub(crate) fn small_image() -> Vec<u8> {
        let name = |name: &str| {
            let at = NAMES.windows(name.len()).position(|window| window == name.as_bytes());
            u32::try_from(at.expect("every section is in the table of names")).expect("a short table")
        };
        let mut file = b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend(halves(&[2, 40]));
        file.extend(words(&[1, 0x101, HEADER_SIZE, sections_at(), 0]));
        file.extend(halves(&[52, SEGMENT_SIZE, 2, SECTION_SIZE, 7, 6]));
        // kind, offset, virtual and physical address, size in file and in memory, flags, alignment
        file.extend(words(&[1, CONTENTS, 0x100, 0x100, 16, 16, 5, 4]));
        file.extend(words(&[1, CONTENTS + 16, 0x2000_0000, 0x110, 8, 128, 6, 4]));
        file.extend([0xAA; 24]);
        file.extend(NAMES);
        // name, kind, flags, address, offset, size, link, info, alignment, entry size
        file.extend(words(&[0; 10]));
        file.extend(words(&[name(".text"), 1, 6, 0x100, CONTENTS, 16, 0, 0, 4, 0]));
        file.extend(words(&[name(".data"), 1, 3, 0x2000_0000, CONTENTS + 16, 8, 0, 0, 4, 0]));
        file.extend(words(&[name(".bss"), 8, 3, 0x2000_0008, CONTENTS + 24, 100, 0, 0, 4, 0]));
        file.extend(words(&[name(".uninit"), 8, 3, 0x2000_006C, CONTENTS + 24, 20, 0, 0, 4, 0]));
        file.extend(words(&[name(".comment"), 1, 0x30, 0, CONTENTS, 9, 0, 0, 1, 1]));
        file.extend(words(&[name(".shstrtab"), 3, 0, 0, CONTENTS + 24, names_size(), 0, 0, 1, 0]));
        file
    }

    fn with_bytes(at: usize, bytes: &[u8]) -> Result<Image, ElfError> {
        let mut file = small_image();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        Image::parse(&file)
    }

    #[test]
    fn headers_are_read_as_they_stand() {
        let image = Image::parse(&small_image()).expect("a well-formed image");
        assert_eq!(image.load_sizes, [16, 8]);
        let bss = &image.sections[3];
        assert_eq!((bss.name.as_str(), bss.address, bss.size), (".bss", 0x2000_0008, 100));
        assert!(bss.in_memory && bss.writable && !bss.in_file);
        let text = &image.sections[1];
        assert!(text.in_memory && !text.writable && text.in_file);
        assert!(!image.sections[5].in_memory, "comments are not loaded");
    }

    #[test]
    fn no_shorter_file_is_taken_for_whole() {
        let file = small_image();
        for length in 0..file.len() {
            let error = Image::parse(&file[..length]).expect_err("cut off");
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
        assert_eq!(with_bytes(42, &[31]), Err(ElfError::EntrySize { what: "program headers", size: 31 }));
        assert_eq!(with_bytes(44, &[0]), Err(ElfError::Missing { what: "program headers" }));
        assert_eq!(with_bytes(32, &[0; 4]), Err(ElfError::Missing { what: "section headers" }));
        assert_eq!(with_bytes(50, &[7]), Err(ElfError::Missing { what: "section names" }));
        let second_section = sections_at() as usize + usize::from(SECTION_SIZE);
        assert_eq!(with_bytes(second_section, &[0xFF; 4]), Err(ElfError::SectionName { index: 1 }));
        let far = with_bytes(28, &[0xFF; 4]).expect_err("beyond the end");
        assert!(far.to_string().contains("program headers would end at byte 4294967359 of"), "{far}");
    }

    #[test]
    fn an_image_that_loads_nothing_is_no_image() {
        let mut file = small_image();
        for segment in [HEADER_SIZE, HEADER_SIZE + u32::from(SEGMENT_SIZE)] {
            file[segment as usize] = 4;
        }
        assert_eq!(Image::parse(&file), Err(ElfError::Missing { what: "segments to load" }));
    }

    #[test]
    fn no_damaged_byte_makes_the_reader_panic() {
        let file = small_image();
        for at in 0..file.len() {
            for value in [0, 1, 0x7F, 0x80, 0xFF] {
                let mut damaged = file.clone();
                damaged[at] = value;
                if let Ok(image) = Image::parse(&damaged) {
                    assert!(image.load_sizes.len() <= 2, "byte {at} as {value} made segments out of nothing");
                }
            }
        }
    }
}
