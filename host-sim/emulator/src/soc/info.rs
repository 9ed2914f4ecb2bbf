//! FICR, which says what the chip is, and UICR, which configures it.
//!
//! UICR is flash: it survives resets and power cuts, its bits can only be cleared until all of it is erased, and NVMC
//! writes it.

use super::chip::Chip;
use super::events::{Refusal, Served, index};
use crate::memory::PAGE_BYTES;

/// Registers of FICR, by the names of the product specification.
mod register {
    pub const CODEPAGESIZE: u32 = 0x010;
    pub const CODESIZE: u32 = 0x014;
    pub const DEVICEID0: u32 = 0x060;
    pub const DEVICEID1: u32 = 0x064;
    pub const DEVICEADDRTYPE: u32 = 0x0A0;
    pub const DEVICEADDR0: u32 = 0x0A4;
    pub const DEVICEADDR1: u32 = 0x0A8;
    pub const INFO_PART: u32 = 0x100;
    pub const INFO_VARIANT: u32 = 0x104;
    pub const INFO_PACKAGE: u32 = 0x108;
    pub const INFO_RAM: u32 = 0x10C;
    pub const INFO_FLASH: u32 = 0x110;
    pub const TEMP: u32 = 0x404;
    pub const TEMP_END: u32 = TEMP + 17 * 4;
}

/// What makes a board unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// FICR.DEVICEID.
    pub device_id: u64,
}

impl Identity {
    /// FICR.DEVICEADDR: 48 bits that follow from the identity, but look as arbitrary as on a real chip.
    fn address(self) -> u64 {
        common::rng::Rng::stream(self.device_id, 0xADD2).next_u64() & 0xFFFF_FFFF_FFFF
    }
}

const fn low(value: u64) -> u32 {
    (value & 0xFFFF_FFFF) as u32
}

pub fn ficr(chip: Chip, identity: Identity, offset: u32) -> Served<u32> {
    Ok(match offset {
        register::CODEPAGESIZE => PAGE_BYTES,
        register::CODESIZE => chip.flash_kib() * 1024 / PAGE_BYTES,
        register::DEVICEID0 => low(identity.device_id),
        register::DEVICEID1 => low(identity.device_id >> 32),
        // A random static address.
        register::DEVICEADDRTYPE => 0xFFFF_FFFF,
        register::DEVICEADDR0 => low(identity.address()),
        register::DEVICEADDR1 => 0xFFFF_0000 | low(identity.address() >> 32),
        register::INFO_PART => chip.part(),
        register::INFO_VARIANT => chip.variant(),
        // The package with the most pins.
        register::INFO_PACKAGE => 0x2004,
        register::INFO_RAM => chip.ram_kib(),
        register::INFO_FLASH => chip.flash_kib(),
        // The trim of the temperature sensor, which needs none here.
        register::TEMP..register::TEMP_END => 0,
        _ => return Err(Refusal::Unknown),
    })
}

/// Up to the last word that has a meaning.
const UICR_WORDS: u32 = 0x308 / 4;

#[derive(Clone, Debug)]
pub struct Uicr {
    words: [u32; UICR_WORDS as usize],
}

impl Uicr {
    pub fn blank() -> Self {
        Self { words: [u32::MAX; UICR_WORDS as usize] }
    }

    pub fn read(&self, offset: u32) -> Served<u32> {
        index(offset, 0, UICR_WORDS).map(|word| self.words[word]).ok_or(Refusal::Unknown)
    }

    /// Clears the bits that are clear in `value`.
    pub fn program(&mut self, offset: u32, value: u32) {
        if let Some(word) = index(offset, 0, UICR_WORDS) {
            self.words[word] &= value;
        }
    }

    pub fn erase(&mut self) {
        *self = Self::blank();
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, Uicr, ficr};
    use crate::soc::chip::Chip;

    #[test]
    fn every_board_has_its_own_identity() {
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
