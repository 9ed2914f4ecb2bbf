//! Checksums: of pages, of what survives a reset, of open frames, and of what boards and PCs say to each other.

use crc::{CRC_16_IBM_SDLC, CRC_32_ISO_HDLC, Crc};

/// A board computes them bit by bit: the tables would take 1.5 KB of its flash, and nothing there waits for a checksum.
#[cfg(target_os = "none")]
type How = crc::NoTable;
#[cfg(not(target_os = "none"))]
type How = crc::Table<1>;

pub static CRC_32: Crc<u32, How> = Crc::<u32, How>::new(&CRC_32_ISO_HDLC);
pub static CRC_16: Crc<u16, How> = Crc::<u16, How>::new(&CRC_16_IBM_SDLC);
