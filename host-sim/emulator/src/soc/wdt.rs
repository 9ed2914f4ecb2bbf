//! WDT: resets the chip unless the program keeps reloading it.
//!
//! Once started, it cannot be stopped or reconfigured, not even by a software reset. `HALT` has no meaning without a
//! debugger.

use super::events::{Events, NEVER, Peripheral, Refusal, Served, index};
use super::lfclk::LfClock;
use crate::io::BusError;
use crate::memory::Memory;

const TIMEOUT: u32 = 0;
const CHANNELS: u32 = 8;
const RELOAD: u32 = 0x6E52_4635;
/// From the TIMEOUT event to the reset.
const GRACE_TICKS: u64 = 2;

/// Tasks, by the names of the product specification.
mod task {
    pub const START: u32 = 0x00;
}

/// Registers, by the names of the product specification.
mod register {
    pub const RUNSTATUS: u32 = 0x400;
    pub const REQSTATUS: u32 = 0x404;
    pub const CRV: u32 = 0x504;
    pub const RREN: u32 = 0x508;
    pub const CONFIG: u32 = 0x50C;
    pub const RR: u32 = 0x600;
}

#[derive(Clone, Debug)]
pub struct Wdt {
    events: Events,
    clock: LfClock,
    running: bool,
    /// Ticks until it expires, less one.
    reload: u32,
    channels: u32,
    /// Channels that have yet to request a reload.
    waiting: u32,
    config: u32,
    at: u64,
    expires_at: u64,
    expired: bool,
}

impl Wdt {
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
            expires_at: NEVER,
            expired: false,
        }
    }

    /// After a reset that it did not cause, and that was no loss of power: it keeps running.
    pub fn after_reset(&self) -> Self {
        let mut events = self.events.clone();
        events.reset();
        Self { events, ..self.clone() }
    }

    /// Takes over a clock whose drift has changed. Whatever is due stays due at the same tick.
    pub fn set_clock(&mut self, clock: LfClock) {
        let moved = |at: u64| if at == NEVER { NEVER } else { clock.cycle(self.clock.tick(at)) };
        (self.at, self.expires_at, self.clock) = (moved(self.at), moved(self.expires_at), clock);
    }

    /// Whether the chip must be reset now.
    pub fn has_expired(&self) -> bool {
        self.expired
    }

    fn reload(&mut self, now: u64) {
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
            register::RUNSTATUS => Ok(u32::from(self.running)),
            register::REQSTATUS => Ok(self.waiting),
            register::CRV => Ok(self.reload),
            register::RREN => Ok(self.channels),
            register::CONFIG => Ok(self.config),
            _ => Err(Refusal::Unknown),
        }
    }

    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()> {
        if let Some(n) = index(offset, register::RR, CHANNELS) {
            if self.running && value == RELOAD && self.expires_at == NEVER {
                self.waiting &= !(1 << n);
                if self.waiting == 0 {
                    self.reload(now);
                }
            }
            return Ok(());
        }
        let setting = match offset {
            register::CRV => &mut self.reload,
            register::RREN => &mut self.channels,
            register::CONFIG => &mut self.config,
            _ => return Err(Refusal::Unknown),
        };
        // While it runs, writes are ignored.
        if !self.running {
            *setting = value;
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        match offset {
            task::START if !self.running => {
                if self.config & 1 == 0 {
                    return Err(Refusal::Bad(
                        "a watchdog that pauses while the processor sleeps is not modelled".into(),
                    ));
                }
                self.running = true;
                self.reload = self.reload.max(0xF);
                self.reload(now);
            }
            task::START => {}
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        self.at.min(self.expires_at)
    }

    fn advance(&mut self, now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        if self.expires_at <= now {
            (self.expired, self.expires_at) = (true, NEVER);
        } else {
            self.at = NEVER;
            self.expires_at = self.clock.cycle(self.clock.tick(now) + GRACE_TICKS);
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
    fn it_expires_two_ticks_after_its_event() {
        let (mut wdt, mut memory) = (started(), Memory::new(4096, 64));
        assert_eq!(wdt.due(), 64_000_000, "one second");
        wdt.advance(wdt.due(), &mut memory).unwrap();
        assert_eq!((read(&wdt, 0, 0x100), wdt.has_expired()), (Ok(1), false));
        write(&mut wdt, 64_000_001, 0x600, RELOAD).unwrap();
        assert_eq!(wdt.due(), LfClock::default().cycle(32_770), "too late for food");
        wdt.advance(wdt.due(), &mut memory).unwrap();
        assert!(wdt.has_expired());
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
