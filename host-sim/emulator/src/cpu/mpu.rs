//! The memory protection unit: eight regions, as on the nRF52.
//!
//! An access is compared with the regions only if it lies between the first and the last byte that any region covers. So a
//! guard below a stack costs all other accesses a single comparison.

use std::ops::Range;

const REGIONS: usize = 8;
const ENABLE: u32 = 1;
const IN_HARD_FAULT: u32 = 1 << 1;
const DEFAULT_MAP: u32 = 1 << 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    Read,
    Write,
    Execute,
}

#[derive(Clone, Copy, Default)]
struct Region {
    base: u32,
    attributes: u32,
}

impl Region {
    fn is_enabled(self) -> bool {
        self.attributes & 1 == 1
    }

    /// The size in bytes, less one, so that 4 GiB fit.
    fn last_offset(self) -> u32 {
        let exponent = self.attributes >> 1 & 31;
        u32::MAX >> (31 - exponent)
    }

    fn start(self) -> u32 {
        self.base & !self.last_offset() & !31
    }

    /// Whether the region applies to an address. A region of 256 bytes or more has eight sub-regions that can be disabled.
    fn covers(self, address: u32) -> bool {
        let offset = address.wrapping_sub(self.start());
        if !self.is_enabled() || offset > self.last_offset() {
            return false;
        }
        let exponent = (self.attributes >> 1 & 31) + 1;
        exponent < 8 || self.attributes >> (8 + (offset >> (exponent - 3))) & 1 == 0
    }

    fn allows(self, wants: Wants, privileged: bool) -> bool {
        let (read, write) = match (self.attributes >> 24 & 7, privileged) {
            (1 | 2, true) | (3, _) => (true, true),
            (2, false) | (5, true) | (6 | 7, _) => (true, false),
            _ => (false, false),
        };
        match wants {
            Wants::Read => read,
            Wants::Write => write,
            Wants::Execute => read && self.attributes >> 28 & 1 == 0,
        }
    }
}

#[derive(Clone, Default)]
pub struct Mpu {
    control: u32,
    number: u32,
    regions: [Region; REGIONS],
    /// The first address to which an access must be checked.
    checked_start: u32,
    checked_length: u32,
}

impl Mpu {
    /// Whether an access to an address must be checked.
    #[inline(always)]
    pub fn checks(&self, address: u32) -> bool {
        address.wrapping_sub(self.checked_start) < self.checked_length
    }

    /// The addresses to which an access must be checked.
    pub fn checked(&self) -> Range<u32> {
        self.checked_start..self.checked_start.saturating_add(self.checked_length)
    }

    /// `in_fault`: whether the code runs at the priority of a hard fault or above.
    pub fn allows(&self, address: u32, wants: Wants, privileged: bool, in_fault: bool) -> bool {
        if self.control & ENABLE == 0 || in_fault && self.control & IN_HARD_FAULT == 0 {
            return true;
        }
        // The processor's own registers are not protected.
        if address >> 20 == 0xE00 {
            return true;
        }
        // Of overlapping regions the one with the highest number counts.
        match self.regions.iter().rev().find(|region| region.covers(address)) {
            Some(region) => region.allows(wants, privileged),
            None => privileged && self.control & DEFAULT_MAP != 0,
        }
    }

    /// Works out which addresses must be checked.
    pub fn update_checked(&mut self, privileged: bool) {
        (self.checked_start, self.checked_length) = (0, 0);
        if self.control & ENABLE == 0 {
            return;
        }
        if self.control & DEFAULT_MAP == 0 || !privileged {
            self.checked_length = u32::MAX;
            return;
        }
        let enabled = || self.regions.iter().filter(|region| region.is_enabled());
        let Some(first) = enabled().map(|region| region.start()).min() else { return };
        let last = enabled().map(|region| region.start() | region.last_offset()).max().unwrap_or(first);
        self.checked_start = first;
        self.checked_length = (last - first).saturating_add(1);
    }

    pub fn read(&self, register: u32) -> u32 {
        let region = self.regions[self.number as usize % REGIONS];
        match register {
            // Eight regions for data and code alike.
            0xD90 => 8 << 8,
            0xD94 => self.control,
            0xD98 => self.number,
            0xD9C | 0xDA4 | 0xDAC | 0xDB4 => region.base & !31 | self.number,
            _ => region.attributes,
        }
    }

    pub fn write(&mut self, register: u32, value: u32) {
        match register {
            0xD94 => self.control = value & 7,
            0xD98 => self.number = value & 7,
            0xD9C | 0xDA4 | 0xDAC | 0xDB4 => {
                if value & 1 << 4 != 0 {
                    self.number = value & 7;
                }
                self.regions[self.number as usize % REGIONS].base = value & !31;
            }
            0xDA0 | 0xDA8 | 0xDB0 | 0xDB8 => {
                self.regions[self.number as usize % REGIONS].attributes = value & 0x173F_FF3F;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mpu, Wants};

    /// 32 bytes without access at the start of RAM within 256 bytes that may be read, and the default map elsewhere.
    fn guarded() -> Mpu {
        let mut mpu = Mpu::default();
        mpu.write(0xD9C, 0x2000_0000 | 1 << 4);
        mpu.write(0xDA0, 6 << 24 | 7 << 1 | 1);
        mpu.write(0xD9C, 0x2000_0000 | 1 << 4 | 1);
        mpu.write(0xDA0, 4 << 1 | 1);
        mpu.write(0xD94, 5);
        mpu.update_checked(true);
        mpu
    }

    #[test]
    fn the_highest_region_decides() {
        let mpu = guarded();
        assert!(!mpu.allows(0x2000_001F, Wants::Read, true, false));
        assert!(mpu.allows(0x2000_0020, Wants::Read, true, false));
        assert!(!mpu.allows(0x2000_0020, Wants::Write, true, false));
        assert!(mpu.allows(0x2000_0100, Wants::Write, true, false));
        assert!(!mpu.allows(0x2000_0100, Wants::Read, false, false), "no default map without privilege");
        assert!(mpu.allows(0x2000_0000, Wants::Write, true, true), "off in a hard fault");
    }

    #[test]
    fn only_accesses_to_covered_addresses_are_checked() {
        let mut mpu = guarded();
        assert!(mpu.checks(0x2000_0000) && mpu.checks(0x2000_00FF));
        assert!(!mpu.checks(0x2000_0100) && !mpu.checks(0x1FFF_FFFF));
        mpu.update_checked(false);
        assert!(mpu.checks(0x4000_0000), "without privilege there is no default map");
        mpu.write(0xD94, 0);
        mpu.update_checked(true);
        assert!(!mpu.checks(0x2000_0000));
    }

    #[test]
    fn a_disabled_sub_region_is_not_covered() {
        let mut mpu = Mpu::default();
        mpu.write(0xD9C, 0x2000_0000 | 1 << 4);
        mpu.write(0xDA0, 1 << 9 | 7 << 1 | 1);
        mpu.write(0xD94, 5);
        assert!(!mpu.allows(0x2000_0000, Wants::Read, true, false));
        assert!(mpu.allows(0x2000_0020, Wants::Read, true, false), "the second 32 bytes of 256");
        assert!(!mpu.allows(0x2000_0040, Wants::Read, true, false));
    }
}
