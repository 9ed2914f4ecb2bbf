//! TEMP: the temperature of the die, as set from outside.

use super::events::{Events, NEVER, Peripheral, Refusal, Served, index};
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;

const DATARDY: u32 = 0;
const MEASURING: u64 = 36 * CYCLES_PER_US;

/// Tasks, by the names of the product specification.
mod task {
    pub const START: u32 = 0x00;
    pub const STOP: u32 = 0x04;
}

/// Registers, by the names of the product specification.
mod register {
    pub const TEMP: u32 = 0x508;
    pub const A: u32 = 0x520;
    pub const B: u32 = 0x540;
    pub const T: u32 = 0x560;
}

#[derive(Clone, Debug)]
pub struct Temp {
    events: Events,
    /// The present temperature in quarters of a degree Celsius.
    quarters: i32,
    measured: i32,
    at: u64,
    /// Slopes, offsets and ends of the curve, which a program copies from FICR. They have no effect here.
    trim: [[u32; 6]; 3],
}

impl Temp {
    pub fn new(quarters: i32) -> Self {
        Self { events: Events::new(1 << DATARDY, 0), quarters, measured: 0, at: NEVER, trim: [[0; 6]; 3] }
    }

    pub fn set_quarters(&mut self, quarters: i32) {
        self.quarters = quarters;
    }

    pub fn quarters(&self) -> i32 {
        self.quarters
    }
}

/// Where the value of a register is kept in `trim`.
struct TrimIndex {
    row: usize,
    column: usize,
}

fn trim_index(offset: u32) -> Option<TrimIndex> {
    let rows = [(register::A, 6), (register::B, 6), (register::T, 5)];
    let find = |(row, (first, count))| Some(TrimIndex { row, column: index(offset, first, count)? });
    rows.into_iter().enumerate().find_map(find)
}

impl Peripheral for Temp {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        if let Some(TrimIndex { row, column }) = trim_index(offset) {
            return Ok(self.trim[row][column]);
        }
        match offset {
            register::TEMP => Ok(self.measured.cast_unsigned()),
            _ => Err(Refusal::Unknown),
        }
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        let TrimIndex { row, column } = trim_index(offset).ok_or(Refusal::Unknown)?;
        self.trim[row][column] = value;
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        match offset {
            task::START => self.at = now + MEASURING,
            task::STOP => self.at = NEVER,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        self.at
    }

    fn advance(&mut self, _now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        (self.measured, self.at) = (self.quarters, NEVER);
        self.events.fire(DATARDY);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{NEVER, Peripheral, read, write};
    use super::Temp;
    use crate::memory::Memory;

    #[test]
    fn a_measurement_takes_36_microseconds_and_may_be_below_zero() {
        let (mut temp, mut memory) = (Temp::new(-10), Memory::new(4096, 64));
        write(&mut temp, 1_000, 0x000, 1).unwrap();
        assert_eq!(temp.due(), 1_000 + 36 * 64);
        temp.advance(temp.due(), &mut memory).unwrap();
        assert_eq!((read(&temp, 0, 0x508), read(&temp, 0, 0x100)), (Ok(0xFFFF_FFF6), Ok(1)));
        assert_eq!(temp.due(), NEVER);
    }

    #[test]
    fn the_trim_is_kept_and_nothing_else_is() {
        let mut temp = Temp::new(0);
        write(&mut temp, 0, 0x570, 7).unwrap();
        assert_eq!(read(&temp, 0, 0x570), Ok(7));
        assert!(write(&mut temp, 0, 0x574, 7).is_err());
    }
}
