//! Decoded instructions, kept so that each is decoded once.
//!
//! Flash has a slot for every halfword, emptied where flash changes. RAM is written all the time and seldom executed, so
//! its slots are few and remember the bits they were decoded from: a slot whose bits changed is decoded again.

use std::ops::Range;

use super::decode::decode;
use super::op::{Decoded, Op};

const RAM_SLOTS: usize = 1024;

/// The slots of flash are made in portions of this many: an image seldom fills the flash.
const PORTION: usize = 4096;

#[derive(Clone, Copy)]
struct RamSlot {
    address: u32,
    bits: u32,
    decoded: Decoded,
}

const EMPTY: RamSlot = RamSlot { address: u32::MAX, bits: 0, decoded: Decoded { op: Op::Nop, size: 0 } };

pub struct Code {
    flash: Vec<Decoded>,
    ram: Vec<RamSlot>,
}

impl Default for Code {
    fn default() -> Self {
        Self { flash: Vec::new(), ram: vec![EMPTY; RAM_SLOTS] }
    }
}

impl Code {
    /// The instruction at an address in flash, if it was decoded.
    #[inline(always)]
    pub fn known(&self, address: u32) -> Option<Decoded> {
        self.flash.get(address as usize >> 1).copied().filter(|decoded| decoded.size != 0)
    }

    /// Decodes an instruction in flash.
    pub fn decode_flash(&mut self, address: u32, first: u16, second: u16) -> Decoded {
        let slot = address as usize >> 1;
        if slot >= self.flash.len() {
            self.flash.resize((slot / PORTION + 1) * PORTION, Decoded::NOT_YET);
        }
        let decoded = decode(address, first, second);
        self.flash[slot] = decoded;
        decoded
    }

    /// The instruction at an address in RAM.
    pub fn decode_ram(&mut self, address: u32, first: u16, second: u16) -> Decoded {
        let bits = u32::from(first) << 16 | u32::from(second);
        let slot = &mut self.ram[address as usize >> 1 & (RAM_SLOTS - 1)];
        if slot.address != address || slot.bits != bits {
            *slot = RamSlot { address, bits, decoded: decode(address, first, second) };
        }
        slot.decoded
    }

    /// Forgets what was decoded from a part of flash.
    pub fn forget(&mut self, changed: &Range<u32>) {
        // A long instruction may begin one halfword before the change.
        let start = (changed.start as usize >> 1).saturating_sub(1).min(self.flash.len());
        let end = (changed.end as usize).div_ceil(2).clamp(start, self.flash.len());
        self.flash[start..end].fill(Decoded::NOT_YET);
    }

    /// Forgets everything.
    pub fn forget_all(&mut self) {
        self.flash.clear();
        self.ram.fill(EMPTY);
    }
}
