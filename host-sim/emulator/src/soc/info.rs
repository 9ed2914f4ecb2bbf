//! FICR, which says what the chip is, and UICR, which says how it is set up.
//!
//! UICR is flash of its own: it survives resets and power cuts, its bits can only be cleared until all of it is erased,
//! and writing it goes through NVMC.

use super::chip::Chip;
use super::events::{Refusal, Served, index};
use crate::memory::PAGE_BYTES;

/// Who a board is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// FICR.DEVICEID.
    pub device_id: u64,
}

impl Identity {
    /// FICR.DEVICEADDR: 48 bits that follow from the identity and look as arbitrary as on real chips.
    fn address(self) -> u64 {
        common::rng::Rng::stream(self.device_id, 0xADD2).next_u64() & 0xFFFF_FFFF_FFFF
    }
}

const fn low(value: u64) -> u32 {
    (value & 0xFFFF_FFFF) as u32
}

/// Reads FICR.
pub fn ficr(chip: Chip, identity: Identity, offset: u32) -> Served<u32> {
    Ok(match offset {
        0x010 => PAGE_BYTES,
        0x014 => chip.flash_kib() * 1024 / PAGE_BYTES,
        0x060 => low(identity.device_id),
        0x064 => low(identity.device_id >> 32),
        // A random static address.
        0x0A0 => 0xFFFF_FFFF,
        0x0A4 => low(identity.address()),
        0x0A8 => 0xFFFF_0000 | low(identity.address() >> 32),
        0x100 => chip.part(),
        0x104 => chip.variant(),
        // The package with the most pins.
        0x108 => 0x2004,
        0x10C => chip.ram_kib(),
        0x110 => chip.flash_kib(),
        // The trim of the thermometer, which needs none.
        0x404..0x448 => 0,
        _ => return Err(Refusal::Unknown),
    })
}

/// Words of UICR, up to the last one that has a meaning.
const UICR_WORDS: u32 = 0x308 / 4;

/// UICR.
#[derive(Clone, Debug)]
pub struct Uicr {
    words: [u32; UICR_WORDS as usize],
}

impl Uicr {
    /// As it leaves the factory.
    pub fn blank() -> Self {
        Self { words: [u32::MAX; UICR_WORDS as usize] }
    }

    /// Reads a word.
    pub fn read(&self, offset: u32) -> Served<u32> {
        index(offset, 0, UICR_WORDS).map(|word| self.words[word]).ok_or(Refusal::Unknown)
    }

    /// Clears the bits that are clear in `value`.
    pub fn program(&mut self, offset: u32, value: u32) {
        if let Some(word) = index(offset, 0, UICR_WORDS) {
            self.words[word] &= value;
        }
    }

    /// Sets all bits.
    pub fn erase(&mut self) {
        *self = Self::blank();
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, Uicr, ficr};
    use crate::soc::chip::Chip;

    #[test]
    fn every_board_is_somebody() {
        let [a, b] = [0x1122_3344_5566_7788, 2].map(|device_id| Identity { device_id });
        let words = |identity, offsets: [u32; 2]| offsets.map(|offset| ficr(Chip::Nrf52840, identity, offset).unwrap());
        assert_eq!(words(a, [0x060, 0x064]), [0x5566_7788, 0x1122_3344]);
        assert_ne!(words(a, [0x0A4, 0x0A8]), words(b, [0x0A4, 0x0A8]));
        assert_eq!(words(a, [0x100, 0x10C]), [0x5_2840, 256]);
        assert!(ficr(Chip::Nrf52840, a, 0x080).is_err());
    }

    #[test]
    fn uicr_only_loses_bits() {
        let mut uicr = Uicr::blank();
        uicr.program(0x200, 0xFFFF_FF12);
        uicr.program(0x200, 0xFFFF_FFF3);
        assert_eq!(uicr.read(0x200), Ok(0xFFFF_FF12));
        uicr.erase();
        assert_eq!(uicr.read(0x200), Ok(u32::MAX));
        assert!(uicr.read(0x400).is_err());
    }
}
