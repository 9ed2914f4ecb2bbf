//! What differs between the chips, and what lies where.

use crate::memory::Memory;

/// The chips that are modelled.
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

    /// The build code in letters: the revisions that are sold now.
    pub const fn variant(self) -> u32 {
        match self {
            Self::Nrf52840 => u32::from_be_bytes(*b"AAF0"),
            Self::Nrf52833 => u32::from_be_bytes(*b"AAB0"),
        }
    }

    /// Flash in KiB.
    pub const fn flash_kib(self) -> u32 {
        match self {
            Self::Nrf52840 => 1024,
            Self::Nrf52833 => 512,
        }
    }

    /// RAM in KiB.
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

    /// Its memories, erased.
    pub fn memory(self) -> Memory {
        Memory::new(self.flash_kib() as usize * 1024, self.ram_kib() as usize * 1024)
    }
}

/// The names of the peripherals by page, from `0x4000_0000` on. The page is the interrupt number, too.
const NAMES: [&str; 48] = [
    "CLOCK/POWER",
    "RADIO",
    "UARTE0",
    "SPI0/TWI0",
    "SPI1/TWI1",
    "NFCT",
    "GPIOTE",
    "SAADC",
    "TIMER0",
    "TIMER1",
    "TIMER2",
    "RTC0",
    "TEMP",
    "RNG",
    "ECB",
    "AAR/CCM",
    "WDT",
    "RTC1",
    "QDEC",
    "COMP/LPCOMP",
    "EGU0",
    "EGU1",
    "EGU2",
    "EGU3",
    "EGU4",
    "EGU5",
    "TIMER3",
    "TIMER4",
    "PWM0",
    "PDM",
    "NVMC/ACL",
    "PPI",
    "MWU",
    "PWM1",
    "PWM2",
    "SPI2",
    "RTC2",
    "I2S",
    "FPU",
    "USBD",
    "UARTE1",
    "QSPI",
    "",
    "",
    "",
    "PWM3",
    "",
    "SPIM3",
];

/// What lies at an address, for people.
pub fn name(address: u32) -> &'static str {
    let named = match address {
        0x1000_0000..0x1000_1000 => "FICR",
        0x1000_1000..0x1000_2000 => "UICR",
        0x4000_0000..0x4003_0000 => NAMES[(address - 0x4000_0000) as usize >> 12],
        0x5000_0000..0x5000_1000 => "GPIO",
        0x5002_A000..0x5002_C000 => "CRYPTOCELL",
        _ => "",
    };
    if named.is_empty() { "nothing" } else { named }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn pages_have_the_names_of_the_register_maps() {
        for (address, expected) in [
            (0x4000_1504, "RADIO"),
            (0x4001_1000, "RTC1"),
            (0x4001_E504, "NVMC/ACL"),
            (0x4002_4000, "RTC2"),
            (0x4002_7500, "USBD"),
            (0x4002_8000, "UARTE1"),
            (0x4002_F000, "SPIM3"),
            (0x4003_0000, "nothing"),
            (0x5002_A500, "CRYPTOCELL"),
        ] {
            assert_eq!(name(address), expected);
        }
    }
}
