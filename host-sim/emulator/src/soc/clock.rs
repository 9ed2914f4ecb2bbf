//! CLOCK: the oscillators. POWER shares its page, its interrupt and its events; see [`super::power`].
//!
//! Starting times are the typical ones of the product specification. The frequencies are exact: an oscillator that
//! drifts is modelled by whoever maps the board's time to the world's.

use super::events::{Events, NEVER, Peripheral, Refusal, Served};
use super::power::Power;
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;

const HFCLKSTARTED: u32 = 0;
const LFCLKSTARTED: u32 = 1;
const DONE: u32 = 3;
const CTTO: u32 = 4;
const CTSTARTED: u32 = 10;
const CTSTOPPED: u32 = 11;
/// POWER's: brown-out warning, sleep entered and left, USB power found, lost and ready.
const POWER_EVENTS: u32 = 1 << 2 | 0b1_1111 << 5;

const HFXO_START: u64 = 360 * CYCLES_PER_US;
const LFRC_START: u64 = 600 * CYCLES_PER_US;
const SYNTH_START: u64 = 100 * CYCLES_PER_US;
const CALIBRATION: u64 = 16_000 * CYCLES_PER_US;
/// The calibration timer counts quarters of a second.
const QUARTER_SECOND: u64 = 250_000 * CYCLES_PER_US;

const SOURCE_XTAL: u32 = 1;
const SOURCE_SYNTH: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Oscillator {
    wanted: bool,
    running: bool,
    /// When it runs, or says so.
    at: u64,
}

impl Oscillator {
    const STOPPED: Self = Self { wanted: false, running: false, at: NEVER };

    /// One that runs already is ready at once.
    fn start(&mut self, now: u64, takes: u64) {
        self.wanted = true;
        self.at = now + if self.running { 1 } else { takes };
    }

    /// Whether it is running since just now.
    fn has_started(&mut self, now: u64) -> bool {
        let started = self.at <= now;
        if started {
            (self.running, self.at) = (true, NEVER);
        }
        started
    }
}

/// The oscillators, and POWER in the same page.
#[derive(Clone, Debug)]
pub struct Clock {
    events: Events,
    pub power: Power,
    lfxo_start: u64,
    hf: Oscillator,
    lf: Oscillator,
    lf_source: u32,
    /// The source at the time of the start.
    lf_source_copy: u32,
    calibration_at: u64,
    interval: u32,
    interval_at: u64,
    hfxo_debounce: u32,
    lfrc_mode: u32,
    trace_config: u32,
    debug_unlock: u32,
}

impl Clock {
    /// After power-on. `lfxo_start` is how long the 32 kHz crystal takes, in cycles.
    pub fn new(lfxo_start: u64, power: Power) -> Self {
        let clock_events =
            1 << HFCLKSTARTED | 1 << LFCLKSTARTED | 1 << DONE | 1 << CTTO | 1 << CTSTARTED | 1 << CTSTOPPED;
        Self {
            events: Events::new(clock_events | POWER_EVENTS, 0),
            power,
            lfxo_start,
            hf: Oscillator::STOPPED,
            lf: Oscillator::STOPPED,
            lf_source: 0,
            lf_source_copy: 0,
            calibration_at: NEVER,
            interval: 0,
            interval_at: NEVER,
            hfxo_debounce: 0x10,
            lfrc_mode: 0,
            trace_config: 0,
            debug_unlock: 0,
        }
    }

    /// Whether the 32 MHz crystal runs, without which the radio is off its frequency.
    pub fn hfxo_runs(&self) -> bool {
        self.hf.running
    }

    /// Whether the low-frequency clock runs, without which no RTC counts.
    pub fn lfclk_runs(&self) -> bool {
        self.lf.running
    }
}

impl Peripheral for Clock {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        Ok(match offset {
            0x408 => u32::from(self.hf.wanted),
            // Source and state: the crystal while it runs, else the internal oscillator, which always does.
            0x40C => 1 << 16 | u32::from(self.hf.running),
            0x414 => u32::from(self.lf.wanted),
            0x418 => u32::from(self.lf.running) << 16 | self.lf_source_copy & 3,
            0x41C => self.lf_source_copy,
            0x518 => self.lf_source,
            0x528 => self.hfxo_debounce,
            0x538 => self.interval,
            0x558 => self.debug_unlock,
            0x55C => self.trace_config,
            0x5B4 => self.lfrc_mode,
            _ => return self.power.register(offset),
        })
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        match offset {
            0x518 => {
                if value & 3 == 3 {
                    return Err(Refusal::Bad("LFCLKSRC 3 is reserved".into()));
                }
                self.lf_source = value;
            }
            0x528 => self.hfxo_debounce = value & 0xFF,
            0x538 => self.interval = value & 0x7F,
            // APPROTECT.DISABLE, which keeps the debugger's door open; nobody stands behind it here.
            0x558 => self.debug_unlock = value,
            0x55C => self.trace_config = value,
            0x5B4 => self.lfrc_mode = value & 1,
            _ => return self.power.set_register(offset, value),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        match offset {
            0x00 => self.hf.start(now, HFXO_START),
            0x04 => self.hf = Oscillator::STOPPED,
            0x08 => {
                self.lf_source_copy = self.lf_source;
                let start = match self.lf_source & 3 {
                    SOURCE_XTAL => self.lfxo_start,
                    SOURCE_SYNTH => SYNTH_START,
                    _ => LFRC_START,
                };
                self.lf.start(now, start);
            }
            0x0C => self.lf = Oscillator::STOPPED,
            0x10 => self.calibration_at = now + CALIBRATION,
            0x14 => {
                self.interval_at = now + u64::from(self.interval.max(1)) * QUARTER_SECOND;
                self.events.fire(CTSTARTED);
            }
            0x18 => {
                self.interval_at = NEVER;
                self.events.fire(CTSTOPPED);
            }
            // Constant latency or low power: no difference at one instruction per cycle.
            0x78 | 0x7C => {}
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        self.hf.at.min(self.lf.at).min(self.calibration_at).min(self.interval_at)
    }

    fn advance(&mut self, now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        if self.hf.has_started(now) {
            self.events.fire(HFCLKSTARTED);
        }
        if self.lf.has_started(now) {
            self.events.fire(LFCLKSTARTED);
        }
        if self.calibration_at <= now {
            self.calibration_at = NEVER;
            self.events.fire(DONE);
        }
        if self.interval_at <= now {
            self.interval_at = NEVER;
            self.events.fire(CTTO);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{Peripheral, read, write};
    use super::super::power::Power;
    use super::{Clock, LFRC_START};
    use crate::memory::Memory;

    fn clock() -> (Clock, Memory) {
        (Clock::new(16_000_000, Power::default()), Memory::new(4096, 64))
    }

    #[test]
    fn the_crystal_takes_its_time_and_says_when_it_runs() {
        let (mut clock, mut memory) = clock();
        assert_eq!(read(&clock, 0, 0x40C), Ok(0x1_0000));
        write(&mut clock, 100, 0x000, 1).unwrap();
        assert_eq!((clock.due(), clock.hfxo_runs()), (100 + 360 * 64, false));
        clock.advance(clock.due(), &mut memory).unwrap();
        assert!(clock.hfxo_runs());
        assert_eq!((read(&clock, 0, 0x40C), read(&clock, 0, 0x100)), (Ok(0x1_0001), Ok(1)));
        write(&mut clock, 0, 0x004, 1).unwrap();
        assert!(!clock.hfxo_runs());
    }

    #[test]
    fn the_low_frequency_clock_starts_as_its_source_does() {
        for (source, after) in [(0, LFRC_START), (1, 16_000_000), (2, 6_400)] {
            let (mut clock, mut memory) = clock();
            write(&mut clock, 0, 0x518, source).unwrap();
            write(&mut clock, 0, 0x008, 1).unwrap();
            assert_eq!(clock.due(), after);
            clock.advance(after, &mut memory).unwrap();
            assert_eq!(read(&clock, 0, 0x418), Ok(0x1_0000 | source));
        }
        assert!(write(&mut clock().0, 0, 0x518, 3).is_err());
    }

    #[test]
    fn the_interrupt_line_follows_mask_and_event() {
        let (mut clock, mut memory) = clock();
        write(&mut clock, 0, 0x304, 1).unwrap();
        write(&mut clock, 0, 0x000, 1).unwrap();
        clock.advance(clock.due(), &mut memory).unwrap();
        assert!(clock.events().line());
        write(&mut clock, 0, 0x100, 0).unwrap();
        assert!(!clock.events().line());
    }
}
