//! NVMC: writes and erases flash and UICR. The processor is halted meanwhile.
//!
//! An operation takes effect when it ends. If the power fails earlier, the operation is torn: some bits of the word are
//! cleared and some are not; some words of the page are erased, some are not, and some hold anything. So is a page
//! that is erased in parts, until the parts add up.

use std::collections::BTreeMap;

use common::rng::Rng;

use super::events::{NEVER, Refusal, Served};
use super::info::Uicr;
use super::map::UICR;
use crate::io::CYCLES_PER_US;
use crate::memory::{Memory, PAGE_BYTES};

const WRITE: u64 = 41 * CYCLES_PER_US;
const ERASE_PAGE_MS: u32 = 85;
const MS: u64 = 1_000 * CYCLES_PER_US;
const ERASE_ALL: u64 = 169 * MS;

const READ_ONLY: u32 = 0;
const WRITE_ENABLED: u32 = 1;
const ERASE_ENABLED: u32 = 2;

/// ICACHECNF: the cache is on, and its hits and misses are counted.
const CACHE_ENABLED: u32 = 1;
const CACHE_PROFILED: u32 = 1 << 8;

/// Registers, by the names of the product specification.
mod register {
    pub const READY: u32 = 0x400;
    pub const READYNEXT: u32 = 0x408;
    pub const CONFIG: u32 = 0x504;
    pub const ERASEPAGE: u32 = 0x508;
    pub const ERASEALL: u32 = 0x50C;
    pub const ERASEUICR: u32 = 0x514;
    pub const ERASEPAGEPARTIAL: u32 = 0x518;
    pub const ERASEPAGEPARTIALCFG: u32 = 0x51C;
    pub const ICACHECNF: u32 = 0x540;
    pub const IHIT: u32 = 0x548;
    pub const IMISS: u32 = 0x54C;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Write { address: u32, value: u32 },
    ErasePage { address: u32 },
    ErasePart { address: u32, ms: u32 },
    EraseUicr,
    EraseAll,
}

#[derive(Clone, Copy, Debug)]
struct Busy {
    operation: Operation,
    since: u64,
    until: u64,
}

/// A planned power cut in the middle of a write or an erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Which flash operation is hit; 1 is the next.
    pub operation: u64,
    /// How far it gets, in percent: 0 is just before it begins, 100 just before it ends.
    pub percent: u8,
}

#[derive(Clone, Debug)]
pub struct Nvmc {
    config: u32,
    cache: u32,
    partial_ms: u32,
    /// By page: how long it has been erased, in milliseconds, by partial erases.
    partial: BTreeMap<u32, u32>,
    busy: Option<Busy>,
    operations: u64,
    cut: Option<PowerCut>,
    power_fails_at: u64,
    /// If worn out, an operation takes its time but changes nothing.
    worn: bool,
    rng: Rng,
}

impl Nvmc {
    /// `rng` decides what torn words look like.
    pub fn new(rng: Rng) -> Self {
        Self {
            config: READ_ONLY,
            cache: 0,
            partial_ms: 10,
            partial: BTreeMap::new(),
            busy: None,
            operations: 0,
            cut: None,
            power_fails_at: NEVER,
            worn: false,
            rng,
        }
    }

    /// After a reset, half-erased flash stays half erased, and a planned power cut stays planned.
    pub fn after_reset(&self) -> Self {
        let (partial, rng) = (self.partial.clone(), self.rng.clone());
        Self { partial, operations: self.operations, cut: self.cut, worn: self.worn, ..Self::new(rng) }
    }

    /// Operations on flash and UICR begun so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    pub fn plan_power_cut(&mut self, cut: Option<PowerCut>) {
        self.cut = cut.map(|cut| PowerCut { operation: self.operations + cut.operation, ..cut });
    }

    /// Worn-out cells keep their contents, whatever is done to them.
    pub fn set_worn(&mut self, worn: bool) {
        self.worn = worn;
    }

    /// Until when the processor is halted.
    pub fn halts_until(&self) -> Option<u64> {
        self.busy.map(|busy| busy.until)
    }

    /// Whether the planned power cut is due.
    pub fn power_fails(&self, now: u64) -> bool {
        self.power_fails_at <= now
    }

    /// Whether the program has switched the instruction cache on.
    pub fn caches_instructions(&self) -> bool {
        self.cache & CACHE_ENABLED != 0
    }

    pub fn due(&self) -> u64 {
        self.power_fails_at.min(self.busy.map_or(NEVER, |busy| busy.until))
    }

    /// A store to flash or UICR.
    pub fn store(&mut self, now: u64, address: u32, value: u32) -> Served<()> {
        if !address.is_multiple_of(4) {
            return Err(Refusal::Bad("flash is written in whole words".into()));
        }
        if self.config != WRITE_ENABLED {
            return Err(Refusal::Bad("NVMC.CONFIG does not allow writing flash".into()));
        }
        self.begin(now, Operation::Write { address, value }, WRITE);
        Ok(())
    }

    fn erase(&mut self, now: u64, operation: Operation, duration: u64) -> Served<()> {
        if self.config != ERASE_ENABLED {
            return Err(Refusal::Bad("NVMC.CONFIG does not allow erasing flash".into()));
        }
        self.begin(now, operation, duration);
        Ok(())
    }

    fn begin(&mut self, now: u64, operation: Operation, duration: u64) {
        self.operations += 1;
        self.busy = Some(Busy { operation, since: now, until: now + duration });
        if let Some(cut) = self.cut.take_if(|cut| cut.operation == self.operations) {
            self.power_fails_at = now + duration * u64::from(cut.percent) / 100;
        }
    }

    /// Completes the operation if its time has come.
    pub fn advance(&mut self, now: u64, memory: &mut Memory, uicr: &mut Uicr) {
        // A power cut at the very end still tears the operation.
        if self.power_fails(now) {
            return;
        }
        if let Some(done) = self.busy.take_if(|busy| busy.until <= now) {
            self.complete(done.operation, memory, uicr);
        }
    }

    fn complete(&mut self, operation: Operation, memory: &mut Memory, uicr: &mut Uicr) {
        if self.worn {
            return;
        }
        // Addresses were checked when the operation began.
        let served = match operation {
            Operation::Write { address, value } if address >= UICR => {
                uicr.program(address - UICR, value);
                true
            }
            Operation::Write { address, value } => memory.program_flash(address, &value.to_le_bytes()),
            Operation::ErasePage { address } => {
                self.partial.remove(&address);
                memory.erase_page(address)
            }
            Operation::ErasePart { address, ms } => {
                let before = self.partial.remove(&address).unwrap_or(0);
                if before + ms >= ERASE_PAGE_MS {
                    memory.erase_page(address)
                } else {
                    self.partial.insert(address, before + ms);
                    self.tear_page(address, ms * 100 / (ERASE_PAGE_MS - before), memory);
                    true
                }
            }
            Operation::EraseUicr => {
                uicr.erase();
                true
            }
            Operation::EraseAll => {
                uicr.erase();
                memory.erase_flash();
                true
            }
        };
        debug_assert!(served, "{operation:?} reaches beyond flash");
    }

    /// The power fails: a running operation is torn.
    pub fn lose_power(&mut self, now: u64, memory: &mut Memory, uicr: &mut Uicr) {
        (self.config, self.power_fails_at, self.cut) = (READ_ONLY, NEVER, None);
        let Some(Busy { operation, since, until }) = self.busy.take() else { return };
        let percent = u32::try_from((now - since) * 100 / (until - since)).unwrap_or(100);
        match operation {
            Operation::Write { address, value } => {
                let kept = value | !self.random_bits(percent);
                self.complete(Operation::Write { address, value: kept }, memory, uicr);
            }
            Operation::ErasePage { address } => self.tear_page(address, percent, memory),
            Operation::ErasePart { address, ms } => {
                self.complete(Operation::ErasePart { address, ms: ms * percent / 100 }, memory, uicr);
            }
            Operation::EraseUicr => {}
            Operation::EraseAll => {
                let flash = u32::try_from(memory.flash().len()).unwrap_or(u32::MAX);
                (0..flash / PAGE_BYTES).for_each(|page| self.tear_page(page * PAGE_BYTES, percent, memory));
            }
        }
    }

    /// A word in which about this share of the bits is set.
    fn random_bits(&mut self, percent: u32) -> u32 {
        (0..32).fold(0, |mask, bit| mask | u32::from(self.rng.below(100) < percent) << bit)
    }

    fn tear_page(&mut self, address: u32, percent: u32, memory: &mut Memory) {
        let start = address as usize;
        let Some(page) = memory.flash().get(start..start + PAGE_BYTES as usize) else { return };
        let mut torn = page.to_vec();
        for word in torn.chunks_exact_mut(4) {
            // The further the erase got, the more words are erased. One word in eight is in between.
            if self.rng.below(8) == 0 {
                let between = self.random_bits(percent).to_le_bytes();
                word.iter_mut().zip(between).for_each(|(byte, set)| *byte |= set);
            } else if self.rng.below(100) < percent {
                word.fill(0xFF);
            }
        }
        let loaded = memory.load_flash(address, &torn);
        debug_assert!(loaded, "the page was read from there");
    }

    pub fn read(&self, offset: u32) -> Served<u32> {
        match offset {
            // Always ready: the processor is halted while the controller is busy.
            register::READY | register::READYNEXT => Ok(1),
            register::CONFIG => Ok(self.config),
            register::ERASEPAGEPARTIALCFG => Ok(self.partial_ms),
            register::ICACHECNF => Ok(self.cache),
            // The processor's model of the cache counts neither.
            register::IHIT | register::IMISS if self.cache & CACHE_PROFILED != 0 => {
                Err(Refusal::Bad("hits and misses of the cache are not counted".into()))
            }
            register::IHIT | register::IMISS => Ok(0),
            _ => Err(Refusal::Unknown),
        }
    }

    /// `flash` is the size of flash in bytes.
    pub fn write(&mut self, now: u64, offset: u32, value: u32, flash: u32) -> Served<()> {
        let page = value & !(PAGE_BYTES - 1);
        if let register::ERASEPAGE | register::ERASEPAGEPARTIAL = offset
            && page >= flash
        {
            return Err(Refusal::Bad(format!("the page at {page:#010x} is not in flash")));
        }
        match offset {
            register::CONFIG if value > ERASE_ENABLED => Err(Refusal::Bad(format!("NVMC.CONFIG {value} is reserved"))),
            register::CONFIG => {
                self.config = value;
                Ok(())
            }
            register::ERASEPAGE => {
                self.erase(now, Operation::ErasePage { address: page }, u64::from(ERASE_PAGE_MS) * MS)
            }
            register::ERASEALL if value & 1 == 1 => self.erase(now, Operation::EraseAll, ERASE_ALL),
            register::ERASEUICR if value & 1 == 1 => {
                self.erase(now, Operation::EraseUicr, u64::from(ERASE_PAGE_MS) * MS)
            }
            register::ERASEALL | register::ERASEUICR => Ok(()),
            register::ERASEPAGEPARTIAL => {
                let ms = self.partial_ms;
                self.erase(now, Operation::ErasePart { address: page, ms }, u64::from(ms) * MS)
            }
            register::ERASEPAGEPARTIALCFG => {
                self.partial_ms = (value & 0x7F).max(1);
                Ok(())
            }
            register::ICACHECNF => {
                self.cache = value;
                Ok(())
            }
            _ => Err(Refusal::Unknown),
        }
    }
}

#[cfg(test)]
#[path = "nvmc_tests.rs"]
mod tests;
