//! RNG: random bytes, here from a seed.

use common::rng::Rng as Generator;

use super::events::{Events, NEVER, Peripheral, Refusal, Served};
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;

const VALRDY: u32 = 0;
const SHORT_VALRDY_STOP: u32 = 0;
const STARTUP: u64 = 128 * CYCLES_PER_US;
/// The time for a byte, without and with bias correction.
const BYTE: [u64; 2] = [30 * CYCLES_PER_US, 120 * CYCLES_PER_US];

/// Tasks, by the names of the product specification.
mod task {
    pub const START: u32 = 0x00;
    pub const STOP: u32 = 0x04;
}

/// Registers, by the names of the product specification.
mod register {
    pub const CONFIG: u32 = 0x504;
    pub const VALUE: u32 = 0x508;
}

#[derive(Clone, Debug)]
pub struct Rng {
    events: Events,
    generator: Generator,
    corrected: u32,
    value: u32,
    at: u64,
}

impl Rng {
    pub fn new(generator: Generator) -> Self {
        Self { events: Events::new(1 << VALRDY, 1 << SHORT_VALRDY_STOP), generator, corrected: 0, value: 0, at: NEVER }
    }

    /// After a reset, the stream of random numbers goes on.
    pub fn after_reset(&self) -> Self {
        Self::new(self.generator.clone())
    }
}

impl Peripheral for Rng {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        match offset {
            register::CONFIG => Ok(self.corrected),
            register::VALUE => Ok(self.value),
            _ => Err(Refusal::Unknown),
        }
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        match offset {
            register::CONFIG => self.corrected = value & 1,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        match offset {
            task::START if self.at == NEVER => self.at = now + STARTUP + BYTE[self.corrected as usize],
            task::START => {}
            task::STOP => self.at = NEVER,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        self.at
    }

    fn advance(&mut self, now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        self.value = self.generator.next_u32() >> 24;
        self.at = if self.events.has_short(SHORT_VALRDY_STOP) { NEVER } else { now + BYTE[self.corrected as usize] };
        self.events.fire(VALRDY);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use common::rng::Rng as Generator;

    use super::super::events::{NEVER, Peripheral, read, write};
    use super::Rng;
    use crate::memory::Memory;

    fn bytes(seed: u64) -> Vec<u32> {
        let (mut rng, mut memory) = (Rng::new(Generator::new(seed)), Memory::new(4096, 64));
        write(&mut rng, 0, 0x504, 1).unwrap();
        write(&mut rng, 0, 0x000, 1).unwrap();
        let mut found = Vec::new();
        for n in 0..8 {
            assert_eq!(rng.due(), (128 + 120 * (n + 1)) * 64);
            rng.advance(rng.due(), &mut memory).unwrap();
            found.push(read(&rng, 0, 0x508).unwrap());
        }
        found
    }

    #[test]
    fn the_seed_decides_and_bytes_come_at_their_pace() {
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
        assert!(bytes(3).iter().all(|&byte| byte < 256));
    }

    #[test]
    fn it_stops_by_task_and_by_shortcut() {
        let (mut rng, mut memory) = (Rng::new(Generator::new(1)), Memory::new(4096, 64));
        write(&mut rng, 0, 0x000, 1).unwrap();
        write(&mut rng, 0, 0x004, 1).unwrap();
        assert_eq!(rng.due(), NEVER);
        write(&mut rng, 0, 0x200, 1).unwrap();
        write(&mut rng, 0, 0x000, 1).unwrap();
        rng.advance(rng.due(), &mut memory).unwrap();
        assert_eq!((rng.due(), read(&rng, 0, 0x100)), (NEVER, Ok(1)));
    }
}
