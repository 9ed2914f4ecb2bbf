//! WDT: resets the chip unless it is asked not to, again and again.
//!
//! Once started it cannot be stopped or set up anew, not even by a reset that the processor asks for. `HALT` has no
//! meaning without a debugger.

use super::events::{Events, NEVER, Peripheral, Refusal, Served, index};
use super::lfclk::LfClock;
use crate::io::BusError;
use crate::memory::Memory;

const TIMEOUT: u32 = 0;
const CHANNELS: u32 = 8;
const RELOAD: u32 = 0x6E52_4635;
/// Between the event and the reset.
const GRACE_TICKS: u64 = 2;

/// The watchdog.
#[derive(Clone, Debug)]
pub struct Wdt {
    events: Events,
    clock: LfClock,
    running: bool,
    /// Ticks until it bites, less one.
    reload: u32,
    channels: u32,
    /// Channels that still have to ask for a reload.
    waiting: u32,
    config: u32,
    at: u64,
    bites_at: u64,
    bites: bool,
}

impl Wdt {
    /// A watchdog that sleeps.
    pub fn new(clock: LfClock) -> Self {
        Self {
            events: Events::new(1 << TIMEOUT, 0),
            clock,
            running: false,
            reload: u32::MAX,
            channels: 1,
            waiting: 0,
            config: 1,
            at: NEVER,
            bites_at: NEVER,
            bites: false,
        }
    }

    /// After a reset that is not its own and not one of the power: it goes on.
    pub fn after_reset(&self) -> Self {
        let mut events = self.events.clone();
        events.reset();
        Self { events, ..self.clone() }
    }

    /// The clock runs otherwise from now on; what is due is due at the same tick.
    pub fn set_clock(&mut self, clock: LfClock) {
        let moved = |at: u64| if at == NEVER { NEVER } else { clock.cycle(self.clock.tick(at)) };
        (self.at, self.bites_at, self.clock) = (moved(self.at), moved(self.bites_at), clock);
    }

    /// Whether the chip is to be reset now.
    pub fn bites(&self) -> bool {
        self.bites
    }

    fn feed(&mut self, now: u64) {
        self.waiting = self.channels;
        self.at = self.clock.cycle(self.clock.tick(now) + u64::from(self.reload) + 1);
    }
}

impl Peripheral for Wdt {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        match offset {
            0x400 => Ok(u32::from(self.running)),
            0x404 => Ok(self.waiting),
            0x504 => Ok(self.reload),
            0x508 => Ok(self.channels),
            0x50C => Ok(self.config),
            _ => Err(Refusal::Unknown),
        }
    }

    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()> {
        if let Some(n) = index(offset, 0x600, CHANNELS) {
            if self.running && value == RELOAD && self.bites_at == NEVER {
                self.waiting &= !(1 << n);
                if self.waiting == 0 {
                    self.feed(now);
                }
            }
            return Ok(());
        }
        let setting = match offset {
            0x504 => &mut self.reload,
            0x508 => &mut self.channels,
            0x50C => &mut self.config,
            _ => return Err(Refusal::Unknown),
        };
        // While it runs, what is written is lost.
        if !self.running {
            *setting = value;
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        match offset {
            0x0 if !self.running => {
                if self.config & 1 == 0 {
                    return Err(Refusal::Bad(
                        "a watchdog that pauses while the processor sleeps is not modelled".into(),
                    ));
                }
                self.running = true;
                self.reload = self.reload.max(0xF);
                self.feed(now);
            }
            0x0 => {}
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        self.at.min(self.bites_at)
    }

    fn advance(&mut self, now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        if self.bites_at <= now {
            (self.bites, self.bites_at) = (true, NEVER);
        } else {
            self.at = NEVER;
            self.bites_at = self.clock.cycle(self.clock.tick(now) + GRACE_TICKS);
            self.events.fire(TIMEOUT);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{Peripheral, read, write};
    use super::super::lfclk::LfClock;
    use super::{RELOAD, Wdt};
    use crate::memory::Memory;

    fn started() -> Wdt {
        let mut wdt = Wdt::new(LfClock::default());
        write(&mut wdt, 0, 0x504, 32_767).unwrap();
        write(&mut wdt, 0, 0x508, 0b11).unwrap();
        write(&mut wdt, 0, 0x000, 1).unwrap();
        wdt
    }

    #[test]
    fn it_bites_two_ticks_after_its_event() {
        let (mut wdt, mut memory) = (started(), Memory::new(4096, 64));
        assert_eq!(wdt.due(), 64_000_000, "one second");
        wdt.advance(wdt.due(), &mut memory).unwrap();
        assert_eq!((read(&wdt, 0, 0x100), wdt.bites()), (Ok(1), false));
        write(&mut wdt, 64_000_001, 0x600, RELOAD).unwrap();
        assert_eq!(wdt.due(), LfClock::default().cycle(32_770), "too late for food");
        wdt.advance(wdt.due(), &mut memory).unwrap();
        assert!(wdt.bites());
    }

    #[test]
    fn every_channel_must_feed_it_with_the_right_word() {
        let mut wdt = started();
        let half = 32_000_000;
        write(&mut wdt, half, 0x600, RELOAD).unwrap();
        write(&mut wdt, half, 0x604, 1).unwrap();
        assert_eq!((wdt.due(), read(&wdt, half, 0x404)), (64_000_000, Ok(0b10)));
        write(&mut wdt, half, 0x604, RELOAD).unwrap();
        assert_eq!((wdt.due(), read(&wdt, half, 0x404)), (96_000_000, Ok(0b11)));
    }

    #[test]
    fn nothing_stops_it() {
        let mut wdt = started().after_reset();
        write(&mut wdt, 0, 0x504, 1_000_000).unwrap();
        write(&mut wdt, 0, 0x000, 1).unwrap();
        assert_eq!((wdt.due(), read(&wdt, 0, 0x504)), (64_000_000, Ok(32_767)));
    }
}
