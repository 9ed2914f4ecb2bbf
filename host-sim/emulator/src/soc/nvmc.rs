//! NVMC: writes and erases flash and UICR. The processor stands still meanwhile.
//!
//! What an operation does to the cells shows when it ends. If the power goes before that, it is torn: of the bits of a
//! word some are cleared and some are not, of the words of a page some are erased, some are not and some are anything.
//! A partial erase changes nothing until the parts add up to a whole one.

use std::collections::BTreeMap;

use common::rng::Rng;

use super::events::{NEVER, Refusal, Served};
use super::info::Uicr;
use crate::io::CYCLES_PER_US;
use crate::memory::{Memory, PAGE_BYTES};

const WRITE: u64 = 41 * CYCLES_PER_US;
const ERASE_PAGE_MS: u32 = 85;
const MS: u64 = 1_000 * CYCLES_PER_US;
const ERASE_ALL: u64 = 169 * MS;

const READ_ONLY: u32 = 0;
const WRITE_ENABLED: u32 = 1;
const ERASE_ENABLED: u32 = 2;

/// Where UICR lies.
pub const UICR: u32 = 0x1000_1000;

/// What is being done to the cells.
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

/// A power cut that is to come in the middle of a write or an erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Which operation on flash is hit, counted from 1 and from the moment the plan is made.
    pub operation: u64,
    /// How far it gets, in percent: 0 is just before it begins, 100 just before it ends.
    pub percent: u8,
}

/// The flash controller.
#[derive(Clone, Debug)]
pub struct Nvmc {
    config: u32,
    cache: u32,
    partial_ms: u32,
    /// Erase time that pages have got in parts.
    partial: BTreeMap<u32, u32>,
    busy: Option<Busy>,
    operations: u64,
    cut: Option<PowerCut>,
    power_fails_at: u64,
    /// Worn out: every operation takes its time and changes nothing.
    worn: bool,
    rng: Rng,
}

impl Nvmc {
    /// A controller that allows nothing yet. `rng` decides how torn words look.
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

    /// After a reset. Flash that was half erased stays so, and so does what is planned for it.
    pub fn after_reset(&self) -> Self {
        let (partial, rng) = (self.partial.clone(), self.rng.clone());
        Self { partial, operations: self.operations, cut: self.cut, worn: self.worn, ..Self::new(rng) }
    }

    /// Operations on flash and UICR that were begun so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Plans a power cut, or none.
    pub fn plan(&mut self, cut: Option<PowerCut>) {
        self.cut = cut.map(|cut| PowerCut { operation: self.operations + cut.operation, ..cut });
    }

    /// From now on the cells keep what they have, whatever is done to them; or work again.
    pub fn set_worn(&mut self, worn: bool) {
        self.worn = worn;
    }

    /// Until when the processor stands still.
    pub fn halts_until(&self) -> Option<u64> {
        self.busy.map(|busy| busy.until)
    }

    /// Whether the planned power cut is due.
    pub fn power_fails(&self, now: u64) -> bool {
        self.power_fails_at <= now
    }

    /// When it has something to do.
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

    /// Ends an operation whose time has come.
    pub fn advance(&mut self, now: u64, memory: &mut Memory, uicr: &mut Uicr) {
        // A cut that comes with the end comes first.
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
                let got = self.partial.entry(address).or_default();
                *got += ms;
                let whole = *got >= ERASE_PAGE_MS;
                if whole {
                    self.partial.remove(&address);
                }
                !whole || memory.erase_page(address)
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

    /// The power goes: whatever is under way is torn.
    pub fn lose_power(&mut self, now: u64, memory: &mut Memory, uicr: &mut Uicr) {
        (self.config, self.power_fails_at, self.cut) = (READ_ONLY, NEVER, None);
        let Some(Busy { operation, since, until }) = self.busy.take() else { return };
        let percent = u32::try_from((now - since) * 100 / (until - since)).unwrap_or(100);
        match operation {
            Operation::Write { address, value } => {
                let kept = value | !self.bits(percent);
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

    /// A word of which this share of the bits is set.
    fn bits(&mut self, percent: u32) -> u32 {
        (0..32).fold(0, |mask, bit| mask | u32::from(self.rng.below(100) < percent) << bit)
    }

    fn tear_page(&mut self, address: u32, percent: u32, memory: &mut Memory) {
        let start = address as usize;
        let Some(page) = memory.flash().get(start..start + PAGE_BYTES as usize) else { return };
        let mut torn = page.to_vec();
        for word in torn.chunks_exact_mut(4) {
            // As far as the erase got, a word is erased or not; one in eight is in between.
            if self.rng.below(8) == 0 {
                let between = self.bits(percent).to_le_bytes();
                word.iter_mut().zip(between).for_each(|(byte, set)| *byte |= set);
            } else if self.rng.below(100) < percent {
                word.fill(0xFF);
            }
        }
        let loaded = memory.load_flash(address, &torn);
        debug_assert!(loaded, "the page was read from there");
    }

    /// Reads a register.
    pub fn read(&self, offset: u32) -> Served<u32> {
        match offset {
            // The processor stands still while it is busy, so nobody ever sees that.
            0x400 | 0x408 => Ok(1),
            0x504 => Ok(self.config),
            0x51C => Ok(self.partial_ms),
            0x540 => Ok(self.cache),
            // Hits and misses of the cache: there is none.
            0x548 | 0x54C => Ok(0),
            _ => Err(Refusal::Unknown),
        }
    }

    /// Writes a register. `flash` is the size of flash in bytes.
    pub fn write(&mut self, now: u64, offset: u32, value: u32, flash: u32) -> Served<()> {
        let page = value & !(PAGE_BYTES - 1);
        if let 0x508 | 0x518 = offset
            && page >= flash
        {
            return Err(Refusal::Bad(format!("the page at {page:#010x} is not in flash")));
        }
        match offset {
            0x504 if value > ERASE_ENABLED => Err(Refusal::Bad(format!("NVMC.CONFIG {value} is reserved"))),
            0x504 => {
                self.config = value;
                Ok(())
            }
            0x508 => self.erase(now, Operation::ErasePage { address: page }, u64::from(ERASE_PAGE_MS) * MS),
            0x50C if value & 1 == 1 => self.erase(now, Operation::EraseAll, ERASE_ALL),
            0x514 if value & 1 == 1 => self.erase(now, Operation::EraseUicr, u64::from(ERASE_PAGE_MS) * MS),
            0x50C | 0x514 => Ok(()),
            0x518 => {
                let ms = self.partial_ms;
                self.erase(now, Operation::ErasePart { address: page, ms }, u64::from(ms) * MS)
            }
            0x51C => {
                self.partial_ms = (value & 0x7F).max(1);
                Ok(())
            }
            0x540 => {
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
