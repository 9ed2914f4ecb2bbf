//! What all peripherals have in common: tasks, events, shortcuts and an interrupt line.
//!
//! Every page begins with the tasks, followed by the events, the shortcuts and the interrupt mask. An event has the same
//! number in the mask as among the events. The line is high while an event that the mask lets through has fired and has
//! not been cleared.

use crate::io::BusError;
use crate::memory::Memory;

/// The time of what never happens.
pub const NEVER: u64 = u64::MAX;

/// The registers that all peripherals share. A task or an event has a word each.
mod register {
    pub const TASKS: u32 = 0x000;
    pub const EVENTS: u32 = 0x100;
    pub const EVENTS_END: u32 = EVENTS + 32 * 4;
    pub const SHORTS: u32 = 0x200;
    pub const INTEN: u32 = 0x300;
    pub const INTENSET: u32 = 0x304;
    pub const INTENCLR: u32 = 0x308;
}

/// Where event 0 lies in a page.
pub const EVENTS: u32 = register::EVENTS;
pub const EVENTS_BYTES: u32 = register::EVENTS_END - register::EVENTS;

/// Why a peripheral refuses an access.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The model has no such register.
    Unknown,
    /// The register exists, but not for this use.
    Bad(String),
}

pub type Served<T> = Result<T, Refusal>;

/// The part of a peripheral that is the same everywhere. Every field has one bit for each event, or shortcut.
#[derive(Clone, Debug, Default)]
pub struct Events {
    known: u32,
    known_shorts: u32,
    /// Fired and not cleared.
    fired: u32,
    /// Fired since PPI last asked.
    fresh: u32,
    /// Wired to a task through PPI.
    wired: u32,
    /// Let through by the interrupt mask.
    enabled: u32,
    shorts: u32,
}

impl Events {
    /// Takes masks of the events that exist and of the shortcuts that are modelled.
    pub fn new(known: u32, known_shorts: u32) -> Self {
        Self { known, known_shorts, ..Self::default() }
    }

    pub fn fire(&mut self, event: u32) {
        self.fired |= 1 << event;
        self.fresh |= 1 << event;
    }

    /// Whether an event has fired and has not been cleared since.
    pub fn has_fired(&self, event: u32) -> bool {
        self.fired >> event & 1 != 0
    }

    /// Whether anybody would notice if this event fired once more.
    pub fn matters(&self, event: u32) -> bool {
        !self.has_fired(event) || self.wired >> event & 1 != 0
    }

    /// Whether the interrupt mask lets an event through.
    pub fn is_enabled(&self, event: u32) -> bool {
        self.enabled >> event & 1 != 0
    }

    pub fn has_short(&self, bit: u32) -> bool {
        self.shorts >> bit & 1 != 0
    }

    pub fn interrupt_line(&self) -> bool {
        self.fired & self.enabled != 0
    }

    /// Takes a mask of the events that PPI wires to a task.
    pub fn set_wired(&mut self, events: u32) {
        self.wired = events;
    }

    /// The wired events that fired since the last call.
    pub fn take_fresh(&mut self) -> u32 {
        std::mem::take(&mut self.fresh) & self.wired
    }

    /// Back to the state after reset. The wiring belongs to PPI and stays.
    pub fn reset(&mut self) {
        *self = Self { wired: self.wired, ..Self::new(self.known, self.known_shorts) };
    }
}

/// What is special about a peripheral. [`read`] and [`write`] serve the registers that all share, and pass on the others.
pub trait Peripheral {
    fn events(&self) -> &Events;

    fn events_mut(&mut self) -> &mut Events;

    fn register(&self, now: u64, offset: u32) -> Served<u32>;

    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()>;

    /// Performs a task, named by its offset.
    fn task(&mut self, now: u64, offset: u32) -> Served<()>;

    /// Passes over the events up to now that nobody would have noticed, before events or masks change.
    fn catch_up(&mut self, _now: u64) {}

    /// When [`Peripheral::advance`] has something to do.
    fn due(&self) -> u64 {
        NEVER
    }

    /// Does what is due now.
    fn advance(&mut self, _now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        Ok(())
    }
}

pub fn read(peripheral: &dyn Peripheral, now: u64, offset: u32) -> Served<u32> {
    let events = peripheral.events();
    match offset {
        register::EVENTS..register::EVENTS_END => {
            let event = (offset - register::EVENTS) / 4;
            if events.known >> event & 1 == 0 {
                return Err(Refusal::Unknown);
            }
            Ok(u32::from(events.has_fired(event)))
        }
        register::SHORTS if events.known_shorts != 0 => Ok(events.shorts),
        register::INTEN | register::INTENSET | register::INTENCLR => Ok(events.enabled),
        _ => peripheral.register(now, offset),
    }
}

pub fn write(peripheral: &mut dyn Peripheral, now: u64, offset: u32, value: u32) -> Served<()> {
    if let register::EVENTS..register::EVENTS_END | register::INTEN..=register::INTENCLR = offset {
        peripheral.catch_up(now);
    }
    let events = peripheral.events_mut();
    match offset {
        register::TASKS..register::EVENTS => {
            // Writing 0 to a task does nothing.
            if value & 1 == 0 {
                return Ok(());
            }
            return peripheral.task(now, offset);
        }
        register::EVENTS..register::EVENTS_END => {
            let event = (offset - register::EVENTS) / 4;
            if events.known >> event & 1 == 0 {
                return Err(Refusal::Unknown);
            }
            if value & 1 == 0 {
                events.fired &= !(1 << event);
            } else {
                events.fired |= 1 << event;
            }
        }
        register::SHORTS if events.known_shorts != 0 => {
            let unknown = value & !events.known_shorts;
            if unknown != 0 {
                return Err(Refusal::Bad(format!("the shortcuts {unknown:#x} are not modelled")));
            }
            events.shorts = value;
        }
        register::INTEN => events.enabled = value & events.known,
        register::INTENSET => events.enabled |= value & events.known,
        register::INTENCLR => events.enabled &= !value,
        _ => return peripheral.set_register(now, offset, value),
    }
    Ok(())
}

/// The index into an array of registers, if the offset lies within that array.
pub fn index(offset: u32, first: u32, count: u32) -> Option<usize> {
    let distance = offset.checked_sub(first)?;
    (distance.is_multiple_of(4) && distance / 4 < count).then_some((distance / 4) as usize)
}
