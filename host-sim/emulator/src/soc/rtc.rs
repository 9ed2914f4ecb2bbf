//! RTC0 to RTC2: 24-bit counters on the 32.768 kHz clock.
//!
//! A tick is 1953.125 cycles if the clock does not drift. All counters of a board share one oscillator ([`LfClock`]), so
//! their ticks coincide. A compare register that is set to the present count or the next one does not match until the
//! counter has wrapped around: the specification promises no match there, and a driver must not rely on one.

use super::events::{Events, NEVER, Peripheral, Refusal, Served, index};
use super::lfclk::LfClock;
use crate::io::BusError;
use crate::memory::Memory;

const TICK: u32 = 0;
const OVRFLW: u32 = 1;
const COMPARE0: u32 = 16;
const COMPARES: u32 = 4;
const WRAP: u64 = 1 << 24;
const EVENTS: u32 = 1 << TICK | 1 << OVRFLW | 0b1111 << COMPARE0;

/// The task that needs a running clock.
pub const TASK_START: u32 = task::START;

/// Tasks, by the names of the product specification.
mod task {
    pub const START: u32 = 0x00;
    pub const STOP: u32 = 0x04;
    pub const CLEAR: u32 = 0x08;
    pub const TRIGOVRFLW: u32 = 0x0C;
}

/// Registers, by the names of the product specification.
mod register {
    pub const EVTEN: u32 = 0x340;
    pub const EVTENSET: u32 = 0x344;
    pub const EVTENCLR: u32 = 0x348;
    pub const COUNTER: u32 = 0x504;
    pub const PRESCALER: u32 = 0x508;
    pub const CC: u32 = 0x540;
}

#[derive(Clone, Copy, Debug, Default)]
struct Compare {
    value: u64,
    /// Counts before this one match nothing: the register was written too late for them.
    from: u64,
}

#[derive(Clone, Debug)]
pub struct Rtc {
    events: Events,
    clock: LfClock,
    /// EVTEN: events that fire although no interrupt is enabled for them.
    event_mask: u32,
    prescaler: u32,
    running: bool,
    /// The tick at which the count was `count`.
    since: u64,
    /// Goes on beyond 24 bits, so that counts can be compared.
    count: u64,
    /// The last count whose events have fired.
    handled: u64,
    compares: [Compare; COMPARES as usize],
}

impl Rtc {
    pub fn new(clock: LfClock) -> Self {
        Self {
            events: Events::new(EVENTS, 0),
            clock,
            event_mask: 0,
            prescaler: 0,
            running: false,
            since: 0,
            count: 0,
            handled: 0,
            compares: [Compare::default(); COMPARES as usize],
        }
    }

    /// Takes over a clock whose drift has changed.
    pub fn set_clock(&mut self, clock: LfClock) {
        self.clock = clock;
    }

    fn count(&self, now: u64) -> u64 {
        if !self.running {
            return self.count;
        }
        self.count + self.clock.tick(now).saturating_sub(self.since) / u64::from(self.prescaler + 1)
    }

    /// The cycle at which a count is reached.
    fn reached(&self, count: u64) -> u64 {
        self.clock.cycle(self.since + (count - self.count) * u64::from(self.prescaler + 1))
    }

    /// Whether an event is generated and would change anything.
    fn wanted(&self, event: u32) -> bool {
        (self.events.is_enabled(event) || self.event_mask >> event & 1 != 0) && self.events.matters(event)
    }

    fn set_count(&mut self, now: u64, count: u64) {
        self.count = count;
        self.since = self.clock.tick(now);
        self.handled = count;
        self.compares.iter_mut().for_each(|compare| compare.from = 0);
    }

    /// The next count at which a compare register matches.
    fn next_match(&self, compare: Compare) -> u64 {
        let after = self.handled.max(compare.from.saturating_sub(1));
        let candidate = after / WRAP * WRAP + compare.value;
        if candidate > after { candidate } else { candidate + WRAP }
    }
}

impl Peripheral for Rtc {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    #[expect(clippy::cast_possible_truncation, reason = "counts are shown with 24 bits")]
    fn register(&self, now: u64, offset: u32) -> Served<u32> {
        if let Some(n) = index(offset, register::CC, COMPARES) {
            return Ok(self.compares[n].value as u32);
        }
        match offset {
            register::EVTEN | register::EVTENSET | register::EVTENCLR => Ok(self.event_mask),
            register::COUNTER => Ok((self.count(now) % WRAP) as u32),
            register::PRESCALER => Ok(self.prescaler),
            _ => Err(Refusal::Unknown),
        }
    }

    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()> {
        self.catch_up(now);
        if let Some(n) = index(offset, register::CC, COMPARES) {
            let from = if self.running { self.count(now) + 2 } else { 0 };
            self.compares[n] = Compare { value: u64::from(value) % WRAP, from };
            return Ok(());
        }
        match offset {
            register::EVTEN => self.event_mask = value & EVENTS,
            register::EVTENSET => self.event_mask |= value & EVENTS,
            register::EVTENCLR => self.event_mask &= !value,
            register::PRESCALER if self.running => {
                return Err(Refusal::Bad("PRESCALER written while the counter runs".into()));
            }
            register::PRESCALER => self.prescaler = value & 0xFFF,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        let count = self.count(now);
        match offset {
            task::START => {
                if !self.running {
                    self.running = true;
                    self.since = self.clock.tick(now);
                }
            }
            task::STOP => {
                self.count = count;
                self.running = false;
            }
            task::CLEAR => self.set_count(now, 0),
            task::TRIGOVRFLW => self.set_count(now, WRAP - 16),
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn catch_up(&mut self, now: u64) {
        self.handled = self.handled.max(self.count(now));
    }

    fn due(&self) -> u64 {
        if !self.running {
            return NEVER;
        }
        let mut next = None;
        let mut at = |count: u64| next = Some(next.map_or(count, |earlier: u64| earlier.min(count)));
        for (event, &compare) in (COMPARE0..).zip(&self.compares) {
            if self.wanted(event) {
                at(self.next_match(compare));
            }
        }
        if self.wanted(OVRFLW) {
            at((self.handled / WRAP + 1) * WRAP);
        }
        if self.wanted(TICK) {
            at(self.handled + 1);
        }
        next.map_or(NEVER, |count| self.reached(count))
    }

    fn advance(&mut self, now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        let count = self.count(now);
        for (event, &compare) in (COMPARE0..).zip(&self.compares) {
            if self.wanted(event) && self.next_match(compare) <= count {
                self.events.fire(event);
            }
        }
        if self.wanted(OVRFLW) && count / WRAP > self.handled / WRAP {
            self.events.fire(OVRFLW);
        }
        if self.wanted(TICK) && count > self.handled {
            self.events.fire(TICK);
        }
        self.handled = count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{NEVER, Peripheral, read, write};
    use super::{LfClock, Rtc};
    use crate::memory::Memory;

    fn lf_cycle(tick: u64) -> u64 {
        LfClock::default().cycle(tick)
    }

    fn started() -> (Rtc, Memory) {
        let mut rtc = Rtc::new(LfClock::default());
        write(&mut rtc, 0, 0x000, 1).unwrap();
        (rtc, Memory::new(4096, 64))
    }

    #[test]
    fn it_counts_with_its_prescaler_and_stops() {
        let mut rtc = Rtc::new(LfClock::default());
        write(&mut rtc, 0, 0x508, 9).unwrap();
        write(&mut rtc, 0, 0x000, 1).unwrap();
        assert_eq!(read(&rtc, lf_cycle(105), 0x504), Ok(10));
        write(&mut rtc, lf_cycle(105), 0x004, 1).unwrap();
        assert_eq!(read(&rtc, lf_cycle(1_000), 0x504), Ok(10));
        assert_eq!(rtc.due(), NEVER);
    }

    #[test]
    fn compare_fires_on_its_tick_and_only_when_somebody_wants_it() {
        let (mut rtc, mut memory) = started();
        write(&mut rtc, 0, 0x544, 500).unwrap();
        assert_eq!(rtc.due(), NEVER);
        write(&mut rtc, 0, 0x304, 1 << 17).unwrap();
        assert_eq!(rtc.due(), lf_cycle(500));
        rtc.advance(lf_cycle(500), &mut memory).unwrap();
        assert!(rtc.events().interrupt_line());
        assert_eq!(read(&rtc, lf_cycle(500), 0x144), Ok(1));
        assert_eq!(rtc.due(), NEVER, "it has fired; once more would change nothing");
        write(&mut rtc, lf_cycle(501), 0x144, 0).unwrap();
        assert_eq!(rtc.due(), lf_cycle(500 + (1 << 24)), "after a whole turn");
    }

    #[test]
    fn the_next_tick_is_too_near_to_be_promised() {
        for (distance, matches) in [(0, false), (1, false), (2, true), (3, true)] {
            let (mut rtc, _) = started();
            write(&mut rtc, 0, 0x304, 1 << 16).unwrap();
            write(&mut rtc, lf_cycle(100), 0x540, 100 + distance).unwrap();
            assert_eq!(rtc.due() == lf_cycle(u64::from(100 + distance)), matches, "{distance} ticks ahead");
        }
    }

    #[test]
    fn overflow_and_its_trigger() {
        let (mut rtc, mut memory) = started();
        write(&mut rtc, 0, 0x304, 0b10).unwrap();
        assert_eq!(rtc.due(), lf_cycle(1 << 24));
        write(&mut rtc, lf_cycle(7), 0x00C, 1).unwrap();
        assert_eq!(rtc.due(), lf_cycle(7 + 16));
        rtc.advance(rtc.due(), &mut memory).unwrap();
        assert_eq!((read(&rtc, lf_cycle(23), 0x104), read(&rtc, lf_cycle(23), 0x504)), (Ok(1), Ok(0)));
    }

    #[test]
    fn a_late_look_still_finds_what_happened() {
        let (mut rtc, mut memory) = started();
        write(&mut rtc, 0, 0x344, 1 << 16).unwrap();
        write(&mut rtc, 0, 0x540, 50).unwrap();
        rtc.advance(lf_cycle(60), &mut memory).unwrap();
        assert_eq!(read(&rtc, lf_cycle(60), 0x140), Ok(1));
    }
}
