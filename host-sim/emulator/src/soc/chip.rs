//! What differs between the chips.

use crate::memory::Memory;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chip {
    /// 1 MiB of flash, 256 KiB of RAM, 48 pins.
    Nrf52840,
    /// 512 KiB of flash, 128 KiB of RAM, 42 pins.
    Nrf52833,
}

impl Chip {
    /// The part number as FICR has it.
    pub const fn part(self) -> u32 {
        match self {
            Self::Nrf52840 => 0x5_2840,
            Self::Nrf52833 => 0x5_2833,
        }
    }

    /// The build code, in letters, of the revision that is sold now.
    pub const fn variant(self) -> u32 {
        match self {
            Self::Nrf52840 => u32::from_be_bytes(*b"AAF0"),
            Self::Nrf52833 => u32::from_be_bytes(*b"AAB0"),
        }
    }

    pub const fn flash_kib(self) -> u32 {
        match self {
            Self::Nrf52840 => 1024,
            Self::Nrf52833 => 512,
        }
    }

    pub const fn ram_kib(self) -> u32 {
        match self {
            Self::Nrf52840 => 256,
            Self::Nrf52833 => 128,
        }
    }

    /// Pins of the second port; the first has 32.
    pub const fn port1_pins(self) -> u32 {
        match self {
            Self::Nrf52840 => 16,
            Self::Nrf52833 => 10,
        }
    }

    /// Erased flash, and RAM as it is at power-on.
    pub fn memory(self) -> Memory {
        Memory::new(self.flash_kib() as usize * 1024, self.ram_kib() as usize * 1024)
    }
}
