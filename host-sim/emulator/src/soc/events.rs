//! What all peripherals have in common: tasks, events, shortcuts and an interrupt line.
//!
//! Tasks lie at 0x000, events at 0x100, shortcuts at 0x200 and the interrupt masks at 0x300 of a peripheral's page. The
//! bit of an event in the masks is its place among the events. The line is high while an event that the mask lets
//! through has fired and was not cleared.

use crate::io::BusError;
use crate::memory::Memory;

/// The time of what never happens.
pub const NEVER: u64 = u64::MAX;

/// Why a peripheral does not serve an access.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such register in the model.
    Unknown,
    /// The register is there, but not for this.
    Bad(String),
}

/// What becomes of an access.
pub type Served<T> = Result<T, Refusal>;

/// The part of a peripheral that is the same everywhere.
#[derive(Clone, Debug, Default)]
pub struct Events {
    known: u32,
    known_shorts: u32,
    fired: u32,
    fresh: u32,
    watched: u32,
    enabled: u32,
    shorts: u32,
}

impl Events {
    /// The events that exist, by number, and the shortcuts that are modelled.
    pub fn new(known: u32, known_shorts: u32) -> Self {
        Self { known, known_shorts, ..Self::default() }
    }

    /// An event happens.
    pub fn fire(&mut self, event: u32) {
        self.fired |= 1 << event;
        self.fresh |= 1 << event;
    }

    /// Whether an event has happened and was not cleared since.
    pub fn has_fired(&self, event: u32) -> bool {
        self.fired >> event & 1 != 0
    }

    /// Whether anybody would notice if this event happened once more.
    pub fn matters(&self, event: u32) -> bool {
        !self.has_fired(event) || self.watched >> event & 1 != 0
    }

    /// Whether the interrupt mask lets an event through.
    pub fn is_enabled(&self, event: u32) -> bool {
        self.enabled >> event & 1 != 0
    }

    /// Whether a shortcut is set.
    pub fn short(&self, bit: u32) -> bool {
        self.shorts >> bit & 1 != 0
    }

    /// The interrupt line.
    pub fn line(&self) -> bool {
        self.fired & self.enabled != 0
    }

    /// Says which events are wired to something.
    pub fn watch(&mut self, events: u32) {
        self.watched = events;
    }

    /// The wired events that happened since the last call.
    pub fn take_fresh(&mut self) -> u32 {
        std::mem::take(&mut self.fresh) & self.watched
    }

    /// Back to the state after reset; the wiring belongs to others and stays.
    pub fn reset(&mut self) {
        *self = Self { watched: self.watched, ..Self::new(self.known, self.known_shorts) };
    }
}

/// A peripheral as the bus sees it: what is special about it. The common part is [`read`] and [`write`].
pub trait Peripheral {
    /// The common part.
    fn events(&self) -> &Events;

    /// The common part, to be changed.
    fn events_mut(&mut self) -> &mut Events;

    /// Reads one of its own registers.
    fn register(&self, now: u64, offset: u32) -> Served<u32>;

    /// Writes one of its own registers.
    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()>;

    /// Does a task, named by its offset.
    fn task(&mut self, now: u64, offset: u32) -> Served<()>;

    /// Forgets what happened without mattering until now, before its events or masks change.
    fn catch_up(&mut self, _now: u64) {}

    /// When it has something to do by itself.
    fn due(&self) -> u64 {
        NEVER
    }

    /// The time it asked for has come.
    fn advance(&mut self, _now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        Ok(())
    }
}

/// Reads a register of a peripheral.
pub fn read(peripheral: &dyn Peripheral, now: u64, offset: u32) -> Served<u32> {
    let events = peripheral.events();
    match offset {
        0x100..0x180 => {
            let event = (offset - 0x100) / 4;
            if events.known >> event & 1 == 0 {
                return Err(Refusal::Unknown);
            }
            Ok(u32::from(events.has_fired(event)))
        }
        0x200 if events.known_shorts != 0 => Ok(events.shorts),
        0x300 | 0x304 | 0x308 => Ok(events.enabled),
        _ => peripheral.register(now, offset),
    }
}

/// Writes a register of a peripheral.
pub fn write(peripheral: &mut dyn Peripheral, now: u64, offset: u32, value: u32) -> Served<()> {
    if let 0x100..0x180 | 0x300..0x30C = offset {
        peripheral.catch_up(now);
    }
    let events = peripheral.events_mut();
    match offset {
        0x000..0x100 => {
            // Writing 0 to a task does nothing.
            if value & 1 == 0 {
                return Ok(());
            }
            return peripheral.task(now, offset);
        }
        0x100..0x180 => {
            let event = (offset - 0x100) / 4;
            if events.known >> event & 1 == 0 {
                return Err(Refusal::Unknown);
            }
            if value & 1 == 0 {
                events.fired &= !(1 << event);
            } else {
                events.fired |= 1 << event;
            }
        }
        0x200 if events.known_shorts != 0 => {
            let unknown = value & !events.known_shorts;
            if unknown != 0 {
                return Err(Refusal::Bad(format!("the shortcuts {unknown:#x} are not modelled")));
            }
            events.shorts = value;
        }
        0x300 => events.enabled = value & events.known,
        0x304 => events.enabled |= value & events.known,
        0x308 => events.enabled &= !value,
        _ => return peripheral.set_register(now, offset, value),
    }
    Ok(())
}

/// The number in a row of registers four bytes apart, if the offset lies in that row.
pub fn index(offset: u32, first: u32, count: u32) -> Option<usize> {
    let distance = offset.checked_sub(first)?;
    (distance.is_multiple_of(4) && distance / 4 < count).then_some((distance / 4) as usize)
}
