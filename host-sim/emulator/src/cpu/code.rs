//! Decoded instructions, kept so that each is decoded once.
//!
//! Flash has a slot for every halfword, which is emptied when flash changes. RAM is written all the time and seldom
//! executed, so its slots are few and remember the bits that they were decoded from: a slot whose bits changed is decoded
//! again.
//!
//! The executor uses an instruction in place, by the number of its slot: copying it first took longer than executing it.
//! Slot 0 is for code outside flash.

use std::ops::Range;
use std::sync::Arc;

use super::cycles::cost;
use super::decode::{decode, is_wide};
use super::op::Decoded;
use super::op::fast::fast;

const RAM_SLOTS: usize = 1024;

/// The slots of flash are allocated in portions of this many, because an image seldom fills the flash.
const PORTION: usize = 4096;

#[derive(Clone, Copy)]
struct RamSlot {
    address: u32,
    bits: u32,
    decoded: Decoded,
}

const EMPTY: RamSlot = RamSlot { address: u32::MAX, bits: 0, decoded: Decoded::NOT_YET };

/// The decoded instructions of an image. All boards that run it share them: one table fits the caches of a PC, sixteen
/// would not.
pub type Slots = Arc<[Decoded]>;

#[derive(Clone)]
pub struct Code {
    /// Slot 0, and one for every halfword of flash as far as there is code. Shared until a board changes its flash.
    pub slots: Slots,
    ram: Vec<RamSlot>,
}

impl Default for Code {
    fn default() -> Self {
        Self { slots: Arc::new([Decoded::NOT_YET]), ram: vec![EMPTY; RAM_SLOTS] }
    }
}

const fn slot_of(address: u32) -> usize {
    (address as usize >> 1) + 1
}

/// Decodes every halfword at the beginning of flash. Some of it is data, which is never executed.
pub fn decode_all(flash: &[u8]) -> Slots {
    let half = |at: u32| {
        let at = at as usize;
        flash.get(at..at + 2).map_or(u16::MAX, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    };
    let decoded = (0..flash.len() / 2).map(|number| decode_fast(u32::try_from(2 * number).unwrap_or(u32::MAX), half));
    std::iter::once(Decoded::NOT_YET).chain(decoded).collect()
}

/// Decodes the instruction at an address into the form in which it is executed, with its cost. `half` reads a halfword.
fn decode_fast(address: u32, half: impl Fn(u32) -> u16) -> Decoded {
    let at = |address: u32| decode(address, half(address), half(address.wrapping_add(2)));
    let Decoded { op, size, .. } = at(address);
    let next = at(address.wrapping_add(u32::from(size))).op;
    let cost = cost(op, next, |target| is_wide(u32::from(half(target))));
    Decoded { op: fast(op), size, cost }
}

impl Code {
    /// The slot of an instruction in flash, if it has been decoded.
    #[inline(always)]
    pub fn known(&self, address: u32) -> Option<usize> {
        let slot = slot_of(address);
        self.slots.get(slot).is_some_and(|decoded| decoded.size != 0).then_some(slot)
    }

    /// Decodes an instruction in flash and returns its slot.
    pub fn decode_flash(&mut self, address: u32, half: impl Fn(u32) -> u16) -> usize {
        let slot = slot_of(address);
        if slot >= self.slots.len() {
            let more = (slot / PORTION + 1) * PORTION - self.slots.len();
            self.slots = self.slots.iter().copied().chain(std::iter::repeat_n(Decoded::NOT_YET, more)).collect();
        }
        self.own()[slot] = decode_fast(address, half);
        slot
    }

    /// Decodes an instruction in RAM, unless it is already known, and returns its slot.
    pub fn decode_ram(&mut self, address: u32, half: impl Fn(u32) -> u16) -> usize {
        let bits = u32::from(half(address)) << 16 | u32::from(half(address.wrapping_add(2)));
        let known = &mut self.ram[address as usize >> 1 & (RAM_SLOTS - 1)];
        if known.address != address || known.bits != bits {
            *known = RamSlot { address, bits, decoded: decode_fast(address, half) };
        }
        let decoded = known.decoded;
        self.own()[0] = decoded;
        0
    }

    /// The slots for writing: a copy if other boards share them.
    fn own(&mut self) -> &mut [Decoded] {
        Arc::make_mut(&mut self.slots)
    }

    /// Forgets the instructions decoded from a part of flash.
    pub fn forget(&mut self, changed: &Range<u32>) {
        // A long instruction may begin one halfword before the change, and what one before that costs depends on it.
        let start = slot_of(changed.start.saturating_sub(6)).min(self.slots.len());
        let end = slot_of(changed.end.saturating_add(1)).clamp(start, self.slots.len());
        if self.slots[start..end].iter().any(|decoded| decoded.size != 0) {
            self.own()[start..end].fill(Decoded::NOT_YET);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Code, decode_all};

    #[test]
    fn shared_slots_are_copied_when_one_board_changes_them() {
        // Three times NOP, then the first half of a long instruction at the very end.
        let shared = decode_all(&[0x00, 0xBF, 0x00, 0xBF, 0x00, 0xBF, 0x00, 0xF0]);
        let mut one = Code { slots: Arc::clone(&shared), ..Code::default() };
        let other = Code { slots: Arc::clone(&shared), ..Code::default() };
        one.forget(&(0x1000..0x2000));
        assert!(Arc::ptr_eq(&one.slots, &other.slots), "nothing was decoded there");
        one.forget(&(2..4));
        assert_eq!([0, 2, 4].map(|address| one.known(address).is_some()), [false, false, true]);
        assert_eq!([0, 2, 4].map(|address| other.known(address).is_some()), [true; 3]);
        let slot = one.decode_flash(0x3000, |_| 0xBF00);
        assert_eq!((one.known(0x3000), one.known(0x3002), other.known(0x3000)), (Some(slot), None, None));
    }
}
