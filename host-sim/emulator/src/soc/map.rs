//! The memory map of the peripherals: what lies at which address.
//!
//! Most peripherals have a page of 4 KiB each. The number of the page is the number of the interrupt, too.

use super::usbd::errata;

pub const FICR: u32 = 0x1000_0000;
pub const UICR: u32 = 0x1000_1000;
pub const UICR_END: u32 = UICR + PAGE_SIZE;
/// The first page.
pub const PERIPHERALS: u32 = 0x4000_0000;
pub const PERIPHERALS_END: u32 = page_address(PAGES);
pub const GPIO: u32 = 0x5000_0000;
pub const GPIO_END: u32 = GPIO + PAGE_SIZE;
const CRYPTOCELL: u32 = 0x5002_A000;
const CRYPTOCELL_END: u32 = CRYPTOCELL + 2 * PAGE_SIZE;

const PAGE_SIZE: u32 = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 12;
pub const PAGES: usize = 48;

/// The pages of the peripherals that are modelled.
pub mod page {
    /// CLOCK and POWER.
    pub const CLOCK: usize = 0;
    pub const RADIO: usize = 1;
    pub const UARTE0: usize = 2;
    pub const TWIM0: usize = 3;
    pub const GPIOTE: usize = 6;
    pub const SAADC: usize = 7;
    pub const TIMER0: usize = 8;
    pub const TIMER2: usize = 10;
    pub const RTC0: usize = 11;
    pub const TEMP: usize = 12;
    pub const RNG: usize = 13;
    pub const WDT: usize = 16;
    pub const RTC1: usize = 17;
    pub const EGU0: usize = 20;
    pub const EGU5: usize = 25;
    pub const TIMER3: usize = 26;
    pub const TIMER4: usize = 27;
    pub const NVMC: usize = 30;
    pub const PPI: usize = 31;
    pub const RTC2: usize = 36;
    pub const USBD: usize = 39;
    pub const UARTE1: usize = 40;

    pub const RTCS: [usize; 3] = [RTC0, RTC1, RTC2];
    pub const UARTES: [usize; 2] = [UARTE0, UARTE1];
}

const NAMES: [&str; PAGES] = [
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

#[expect(clippy::cast_possible_truncation, reason = "a page number is below 48")]
pub const fn page_address(page: usize) -> u32 {
    PERIPHERALS + ((page as u32) << PAGE_BITS)
}

/// The page of an address at or above [`PERIPHERALS`].
pub const fn page_of(address: u32) -> usize {
    (address.wrapping_sub(PERIPHERALS) >> PAGE_BITS) as usize
}

/// The distance of a register from the start of its page.
pub const fn offset_of(address: u32) -> u32 {
    address & (PAGE_SIZE - 1)
}

/// What lies at an address, for people.
pub fn name(address: u32) -> &'static str {
    let named = match address {
        FICR..UICR => "FICR",
        UICR..UICR_END => "UICR",
        PERIPHERALS..PERIPHERALS_END => NAMES[page_of(address)],
        GPIO..GPIO_END => "GPIO",
        CRYPTOCELL..CRYPTOCELL_END => "CRYPTOCELL",
        errata::START..errata::END => "USBD (errata)",
        _ => "",
    };
    if named.is_empty() { "nothing" } else { named }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, name, page};

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
            (0x4006_EC14, "USBD (errata)"),
        ] {
            assert_eq!(name(address), expected);
        }
    }

    #[test]
    fn page_numbers_agree_with_the_names() {
        let pages = [
            (page::CLOCK, "CLOCK/POWER"),
            (page::RADIO, "RADIO"),
            (page::UARTE0, "UARTE0"),
            (page::TWIM0, "SPI0/TWI0"),
            (page::GPIOTE, "GPIOTE"),
            (page::SAADC, "SAADC"),
            (page::TIMER0, "TIMER0"),
            (page::TIMER2, "TIMER2"),
            (page::RTC0, "RTC0"),
            (page::TEMP, "TEMP"),
            (page::RNG, "RNG"),
            (page::WDT, "WDT"),
            (page::RTC1, "RTC1"),
            (page::EGU0, "EGU0"),
            (page::EGU5, "EGU5"),
            (page::TIMER3, "TIMER3"),
            (page::TIMER4, "TIMER4"),
            (page::NVMC, "NVMC/ACL"),
            (page::PPI, "PPI"),
            (page::RTC2, "RTC2"),
            (page::USBD, "USBD"),
            (page::UARTE1, "UARTE1"),
        ];
        for (page, expected) in pages {
            assert_eq!(NAMES[page], expected);
        }
    }
}
