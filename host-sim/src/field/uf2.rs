//! The image of a board as a UF2 file: a user copies it to the drive that the board's bootloader shows.
//!
//! A UF2 file is a row of blocks of 512 bytes. Each carries 256 bytes of flash with their address, so that the bootloader
//! can take the blocks in any order, as a PC writes them.
//!
//! ```text
//! 0  first magic   4  second magic   8  flags   12  address   16  bytes of data   20  number of this block
//! 24 number of blocks   28  family of the chip   32  data   508  last magic          all little-endian words
//! ```
//!
//! The bootloader starts what lies behind the `SoftDevice`, which is Nordic's Bluetooth stack, whether anybody uses it or
//! not. So an image has to begin exactly there, and may reach neither into the board's own storage nor into the bootloader.

use std::collections::BTreeMap;
use std::fmt;

use common::board::flash_map::FlashMap;
use common::names::Board;
use emulator::elf::Segment;

/// Bytes of flash that a block carries. The bootloader takes no other number.
pub const DATA_BYTES: usize = 256;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = 512;

const FIRST_MAGIC: u32 = 0x0A32_4655;
const SECOND_MAGIC: u32 = 0x9E5D_5157;
const LAST_MAGIC: u32 = 0x0AB1_6F30;
/// The last word of the header is a family.
const HAS_FAMILY: u32 = 0x2000;
/// The nRF52840, as bootloaders of this kind call it.
pub const FAMILY: u32 = 0xADA5_2840;

/// The master boot record ends here, and the `SoftDevice` begins.
const BOOT_RECORD_END: u32 = 0x1000;
/// The bootloader begins here.
const BOOTLOADER: u32 = 0xF_4000;

/// What lies before an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftDevice {
    /// As the bootloader's `INFO_UF2.TXT` tells it.
    pub version: &'static str,
    /// Where it ends and the image begins.
    pub end: u32,
    /// The board of ours that comes with it.
    pub board: Board,
}

/// Those that boards come with.
pub const SOFT_DEVICES: [SoftDevice; 2] = [
    SoftDevice { version: "S140 version 6", end: 0x2_6000, board: Board::FeatherNrf52840 },
    SoftDevice { version: "S140 version 7", end: 0x2_7000, board: Board::XiaoNrf52840 },
];

/// Why a bootloader should not be given an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Empty,
    /// The image would overwrite what starts the board.
    OverBootRecord {
        start: u32,
    },
    OverSoftDevice {
        start: u32,
    },
    /// The bootloader would start something else.
    NotBehindSoftDevice {
        start: u32,
    },
    OverStorage {
        end: u32,
    },
    OverBootloader {
        end: u32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => return write!(f, "the image is empty; give the file that `cargo fw-xiao` builds"),
            Self::OverBootRecord { start } => {
                write!(f, "the image begins at {start:#x} and would overwrite the master boot record")?;
            }
            Self::OverSoftDevice { start } => {
                write!(f, "the image begins at {start:#x} and would overwrite the SoftDevice")?;
            }
            Self::NotBehindSoftDevice { start } => {
                write!(f, "the image begins at {start:#x}, where no bootloader looks for it")?;
            }
            Self::OverStorage { end } => {
                let storage = FlashMap::NRF52840.block_store().start;
                return write!(f, "the image ends at {end:#x} and would overwrite the board's storage at {storage:#x}");
            }
            Self::OverBootloader { end } => {
                return write!(f, "the image ends at {end:#x} and would overwrite the bootloader at {BOOTLOADER:#x}");
            }
        }
        let [six, seven] = &SOFT_DEVICES;
        write!(
            f,
            "; build it for a board with a UF2 bootloader: `cargo fw-xiao` ({:#x}) or `cargo fw-feather` ({:#x})",
            seven.end, six.end
        )
    }
}

impl std::error::Error for Refusal {}

/// A file for the bootloader's drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uf2 {
    pub soft_device: SoftDevice,
    /// Where the last block ends.
    pub end: u32,
    pub blocks: usize,
    pub bytes: Vec<u8>,
}

impl Uf2 {
    /// Packs what a probe would write. Bytes of a block that no segment sets stay erased.
    pub fn of(segments: &[Segment]) -> Result<Self, Refusal> {
        let soft_device = checked(segments)?;
        let data = pages(segments);
        let mut bytes = Vec::with_capacity(data.len() * BLOCK_BYTES);
        let blocks = data.len();
        for (number, (address, page)) in (0..).zip(&data) {
            push_block(&mut bytes, *address, page, number, blocks);
        }
        let end = data.last_key_value().map_or(soft_device.end, |(address, _)| address + word(DATA_BYTES));
        Ok(Self { soft_device, end, blocks, bytes })
    }
}

/// The `SoftDevice` that the image is built for, if there is nothing wrong with its place.
fn checked(segments: &[Segment]) -> Result<SoftDevice, Refusal> {
    let parts = || segments.iter().filter(|segment| !segment.bytes.is_empty());
    let start = parts().map(|part| part.address).min().ok_or(Refusal::Empty)?;
    let end = parts().map(|part| u64::from(part.address) + part.bytes.len() as u64).max().unwrap_or_default();
    let end = u32::try_from(end).unwrap_or(u32::MAX);
    if end > BOOTLOADER {
        return Err(Refusal::OverBootloader { end });
    }
    if end > FlashMap::NRF52840.block_store().start {
        return Err(Refusal::OverStorage { end });
    }
    if let Some(found) = SOFT_DEVICES.into_iter().find(|one| one.end == start) {
        return Ok(found);
    }
    let least = SOFT_DEVICES.map(|one| one.end).into_iter().min().unwrap_or_default();
    Err(match start {
        0..BOOT_RECORD_END => Refusal::OverBootRecord { start },
        _ if start < least => Refusal::OverSoftDevice { start },
        _ => Refusal::NotBehindSoftDevice { start },
    })
}

/// The flash that the segments set, in pieces of a block's size. In order, though no bootloader asks for that.
fn pages(segments: &[Segment]) -> BTreeMap<u32, [u8; DATA_BYTES]> {
    let mut pages = BTreeMap::new();
    for Segment { address, bytes } in segments {
        for (at, &byte) in (*address..).zip(bytes) {
            let offset = at % word(DATA_BYTES);
            pages.entry(at - offset).or_insert([0xFF; DATA_BYTES])[offset as usize] = byte;
        }
    }
    pages
}

fn push_block(file: &mut Vec<u8>, address: u32, data: &[u8; DATA_BYTES], number: usize, blocks: usize) {
    let begin = file.len();
    let header = [FIRST_MAGIC, SECOND_MAGIC, HAS_FAMILY, address, word(DATA_BYTES), word(number), word(blocks), FAMILY];
    for one in header {
        file.extend(one.to_le_bytes());
    }
    file.extend(data);
    file.resize(begin + BLOCK_BYTES - 4, 0);
    file.extend(LAST_MAGIC.to_le_bytes());
}

/// Counts within a megabyte of flash.
fn word(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
