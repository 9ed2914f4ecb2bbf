//! A capture of the air that Wireshark opens.
//!
//! The format is pcapng: a section header, one interface whose link type is IEEE 802.15.4 with checksum, and one enhanced
//! packet block per frame with its start in microseconds of the world's time. Each block has a comment that names the
//! sender by its number, which need not be its address: forgers use those of others.
//!
//! Every frame that begins is recorded, and whole, even if its sender loses power in the middle of it.

use std::io::{self, Write};

use super::index::RadioIndex;
use super::sink::Sink;
use super::trace::NodeNumber;
use super::world::Watcher;
use common::mac::phy::fcs;
use common::mac::phy::{FCS_BYTES, PSDU_MAX};

use super::airtime_us;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LENGTH_UNKNOWN: u64 = u64::MAX;

/// The link type of 802.15.4 frames that end with their checksum.
const IEEE802_15_4_WITHFCS: u16 = 195;

const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_APPLICATION: u16 = 4;
const OPTION_RESOLUTION: u16 = 9;

/// Timestamps count units of 10⁻⁶ seconds.
const MICROSECONDS: u8 = 6;

/// Records every frame on the air.
#[derive(Debug)]
#[must_use = "the end of the capture and its errors come with finish"]
pub struct Capture<W: Write> {
    out: Sink<W>,
    frames: u64,
}

impl<W: Write> Capture<W> {
    pub fn new(out: W) -> Self {
        let mut capture = Self { out: Sink::new(out), frames: 0 };
        let mut section = Block::new(SECTION_HEADER);
        section.add(&BYTE_ORDER_MAGIC.to_le_bytes());
        section.add(&1_u16.to_le_bytes());
        section.add(&0_u16.to_le_bytes());
        section.add(&LENGTH_UNKNOWN.to_le_bytes());
        section.add_option(OPTION_APPLICATION, b"ringleader");
        section.add_option(OPTION_END, b"");
        capture.out.write(&section.end());
        let mut interface = Block::new(INTERFACE);
        interface.add(&IEEE802_15_4_WITHFCS.to_le_bytes());
        interface.add(&0_u16.to_le_bytes());
        interface.add(&low_half(PSDU_MAX as u64).to_le_bytes());
        interface.add_option(OPTION_INTERFACE_NAME, b"air");
        interface.add_option(OPTION_RESOLUTION, &[MICROSECONDS]);
        interface.add_option(OPTION_END, b"");
        capture.out.write(&interface.end());
        capture
    }

    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Records one frame; its comment names its sender by this number. Its last two bytes are the checksum's, whatever is in
    /// them: the radio fills them in.
    pub fn record(&mut self, world_us: u64, from: NodeNumber, psdu: &[u8]) {
        let mut packet = Block::new(ENHANCED_PACKET);
        let interface = 0_u32;
        packet.add(&interface.to_le_bytes());
        packet.add(&low_half(world_us >> 32).to_le_bytes());
        packet.add(&low_half(world_us).to_le_bytes());
        // Captured and original length: nothing is cut off.
        let length = low_half(psdu.len() as u64);
        packet.add(&length.to_le_bytes());
        packet.add(&length.to_le_bytes());
        match psdu.len().checked_sub(FCS_BYTES) {
            Some(end) => {
                packet.add(&psdu[..end]);
                packet.add(&fcs(&psdu[..end]).to_le_bytes());
            }
            // Too short for a checksum: not a frame, but it was on the air.
            None => packet.add(psdu),
        }
        packet.pad();
        packet.add_option(OPTION_COMMENT, format!("node {from}, {} us on the air", airtime_us(psdu.len())).as_bytes());
        packet.add_option(OPTION_END, b"");
        self.out.write(&packet.end());
        self.frames += 1;
    }

    /// Ends the capture and gives the file back, or the first error that writing it met.
    pub fn finish(self) -> io::Result<W> {
        self.out.finish()
    }
}

impl<S, W: Write> Watcher<S> for Capture<W> {
    fn frame(&mut self, world_us: u64, from: RadioIndex, psdu: &[u8]) {
        self.record(world_us, NodeNumber(from.0), psdu);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the other half is written elsewhere or is zero")]
const fn low_half(wide: u64) -> u32 {
    wide as u32
}

/// A block in the making: type, length, content, and the length again.
struct Block(Vec<u8>);

impl Block {
    fn new(kind: u32) -> Self {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend([0; 4]);
        Self(bytes)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Fields begin at multiples of four bytes.
    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn add_option(&mut self, code: u16, value: &[u8]) {
        self.add(&code.to_le_bytes());
        self.add(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
        self.add(value);
        self.pad();
    }

    fn end(mut self) -> Vec<u8> {
        let length = low_half(self.0.len() as u64 + 4).to_le_bytes();
        self.0[4..8].copy_from_slice(&length);
        self.add(&length);
        self.0
    }
}

#[cfg(test)]
mod tests;
