//! Decoded instructions, kept so that each is decoded once.
//!
//! Flash has a slot for every halfword, emptied where flash changes. RAM is written all the time and seldom executed, so
//! its slots are few and remember the bits they were decoded from: a slot whose bits changed is decoded again.
//!
//! The executor looks at an instruction where it lies, by the number of its slot: copying it first took longer than
//! executing it. Slot 0 is for what comes from elsewhere.

use std::ops::Range;

use super::decode::decode;
use super::op::fast::fast;
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
    /// Slot 0, and one for every halfword of flash.
    pub slots: Vec<Decoded>,
    ram: Vec<RamSlot>,
}

impl Default for Code {
    fn default() -> Self {
        Self { slots: vec![Decoded::NOT_YET], ram: vec![EMPTY; RAM_SLOTS] }
    }
}

const fn slot_of(address: u32) -> usize {
    (address as usize >> 1) + 1
}

/// An instruction as it is executed.
fn decode_fast(address: u32, first: u16, second: u16) -> Decoded {
    let Decoded { op, size } = decode(address, first, second);
    Decoded { op: fast(op), size }
}

impl Code {
    /// The slot of an instruction in flash, if it was decoded.
    #[inline(always)]
    pub fn known(&self, address: u32) -> Option<usize> {
        let slot = slot_of(address);
        self.slots.get(slot).is_some_and(|decoded| decoded.size != 0).then_some(slot)
    }

    /// Decodes an instruction in flash and says in which slot it is.
    pub fn decode_flash(&mut self, address: u32, first: u16, second: u16) -> usize {
        let slot = slot_of(address);
        if slot >= self.slots.len() {
            self.slots.resize((slot / PORTION + 1) * PORTION, Decoded::NOT_YET);
        }
        self.slots[slot] = decode_fast(address, first, second);
        slot
    }

    /// Decodes an instruction in RAM, unless it is known already, and says in which slot it is.
    pub fn decode_ram(&mut self, address: u32, first: u16, second: u16) -> usize {
        let bits = u32::from(first) << 16 | u32::from(second);
        let known = &mut self.ram[address as usize >> 1 & (RAM_SLOTS - 1)];
        if known.address != address || known.bits != bits {
            *known = RamSlot { address, bits, decoded: decode_fast(address, first, second) };
        }
        self.slots[0] = known.decoded;
        0
    }

    /// Forgets what was decoded from a part of flash.
    pub fn forget(&mut self, changed: &Range<u32>) {
        // A long instruction may begin one halfword before the change.
        let start = slot_of(changed.start.saturating_sub(2)).min(self.slots.len());
        let end = slot_of(changed.end.saturating_add(1)).clamp(start, self.slots.len());
        self.slots[start..end].fill(Decoded::NOT_YET);
    }

    /// Forgets everything.
    pub fn forget_all(&mut self) {
        self.slots.truncate(1);
        self.ram.fill(EMPTY);
    }
}
