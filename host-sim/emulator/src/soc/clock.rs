//! CLOCK: the oscillators. POWER shares its page, its interrupt and its events; see [`super::power`].
//!
//! Start-up times are the typical ones of the product specification. The fast clock is exact; the drift of the slow one is
//! in [`super::lfclk`].

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
const USBDETECTED: u32 = 7;
const USBREMOVED: u32 = 8;
const USBPWRRDY: u32 = 9;
/// Events of POWER: brown-out warning, sleep entered and left, USB power found, lost and ready.
const POWER_EVENTS: u32 = 1 << 2 | 0b1_1111 << 5;

const HFXO_START: u64 = 360 * CYCLES_PER_US;
const LFRC_START: u64 = 600 * CYCLES_PER_US;
const SYNTH_START: u64 = 100 * CYCLES_PER_US;
const CALIBRATION: u64 = 16_000 * CYCLES_PER_US;
/// The calibration timer counts quarters of a second.
const QUARTER_SECOND: u64 = 250_000 * CYCLES_PER_US;

const SOURCE_XTAL: u32 = 1;
const SOURCE_SYNTH: u32 = 2;

/// Tasks, by the names of the product specification.
mod task {
    pub const HFCLKSTART: u32 = 0x00;
    pub const HFCLKSTOP: u32 = 0x04;
    pub const LFCLKSTART: u32 = 0x08;
    pub const LFCLKSTOP: u32 = 0x0C;
    pub const CAL: u32 = 0x10;
    pub const CTSTART: u32 = 0x14;
    pub const CTSTOP: u32 = 0x18;
    pub const CONSTLAT: u32 = 0x78;
    pub const LOWPWR: u32 = 0x7C;
}

/// Registers, by the names of the product specification.
mod register {
    pub const HFCLKRUN: u32 = 0x408;
    pub const HFCLKSTAT: u32 = 0x40C;
    pub const LFCLKRUN: u32 = 0x414;
    pub const LFCLKSTAT: u32 = 0x418;
    pub const LFCLKSRCCOPY: u32 = 0x41C;
    pub const LFCLKSRC: u32 = 0x518;
    pub const HFXODEBOUNCE: u32 = 0x528;
    pub const CTIV: u32 = 0x538;
    pub const APPROTECT_DISABLE: u32 = 0x558;
    pub const TRACECONFIG: u32 = 0x55C;
    pub const LFRCMODE: u32 = 0x5B4;
}

/// What happens when the 32 MHz crystal is started while it runs. The product specification does not say; models of the
/// chip differ, and a program should work with both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrystalRestart {
    /// HFCLKSTARTED fires again.
    #[default]
    Event,
    /// Nothing: a program that waits for the event waits for ever.
    Silent,
}

/// What differs from one board to the next.
#[derive(Clone, Copy, Debug)]
pub struct Crystals {
    /// How long the 32 kHz crystal takes to start, in cycles.
    pub lfxo_start: u64,
    pub restart: CrystalRestart,
}

#[derive(Clone, Copy, Debug)]
struct Oscillator {
    wanted: bool,
    running: bool,
    /// When its STARTED event fires.
    starts_at: u64,
}

impl Oscillator {
    const STOPPED: Self = Self { wanted: false, running: false, starts_at: NEVER };

    /// An oscillator that already runs is ready at once.
    fn start(&mut self, now: u64, takes: u64) {
        self.wanted = true;
        self.starts_at = now + if self.running { 1 } else { takes };
    }

    /// The same, except that nothing happens to one that already runs.
    fn start_silently(&mut self, now: u64, takes: u64) {
        if !self.running {
            self.start(now, takes);
        }
    }

    /// Whether it starts to run now.
    fn has_started(&mut self, now: u64) -> bool {
        let started = self.starts_at <= now;
        if started {
            (self.running, self.starts_at) = (true, NEVER);
        }
        started
    }
}

#[derive(Clone, Debug)]
pub struct Clock {
    events: Events,
    pub power: Power,
    crystals: Crystals,
    hf: Oscillator,
    lf: Oscillator,
    lf_source: u32,
    /// The source when the clock was started.
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
    pub fn new(crystals: Crystals, power: Power) -> Self {
        let clock_events =
            1 << HFCLKSTARTED | 1 << LFCLKSTARTED | 1 << DONE | 1 << CTTO | 1 << CTSTARTED | 1 << CTSTOPPED;
        Self {
            events: Events::new(clock_events | POWER_EVENTS, 0),
            power,
            crystals,
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

    /// Plugs USB in or out.
    pub fn set_usb_power(&mut self, now: u64, is_plugged: bool) {
        if self.power.set_usb(now, is_plugged) {
            self.events.fire(if is_plugged { USBDETECTED } else { USBREMOVED });
        }
    }

    /// After a reset, USB is plugged in as it was. No event says so.
    pub fn keep_usb_power(&mut self, is_plugged: bool) {
        self.power.keep_usb(is_plugged);
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
            register::HFCLKRUN => u32::from(self.hf.wanted),
            // Source and state: the crystal while it runs, otherwise the internal oscillator, which always runs.
            register::HFCLKSTAT => 1 << 16 | u32::from(self.hf.running),
            register::LFCLKRUN => u32::from(self.lf.wanted),
            register::LFCLKSTAT => u32::from(self.lf.running) << 16 | self.lf_source_copy & 3,
            register::LFCLKSRCCOPY => self.lf_source_copy,
            register::LFCLKSRC => self.lf_source,
            register::HFXODEBOUNCE => self.hfxo_debounce,
            register::CTIV => self.interval,
            register::APPROTECT_DISABLE => self.debug_unlock,
            register::TRACECONFIG => self.trace_config,
            register::LFRCMODE => self.lfrc_mode,
            _ => return self.power.register(offset),
        })
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        match offset {
            register::LFCLKSRC => {
                if value & 3 == 3 {
                    return Err(Refusal::Bad("LFCLKSRC 3 is reserved".into()));
                }
                self.lf_source = value;
            }
            register::HFXODEBOUNCE => self.hfxo_debounce = value & 0xFF,
            register::CTIV => self.interval = value & 0x7F,
            // Keeps the access port open for a debugger, which does not exist here.
            register::APPROTECT_DISABLE => self.debug_unlock = value,
            register::TRACECONFIG => self.trace_config = value,
            register::LFRCMODE => self.lfrc_mode = value & 1,
            _ => return self.power.set_register(offset, value),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        match offset {
            task::HFCLKSTART => match self.crystals.restart {
                CrystalRestart::Event => self.hf.start(now, HFXO_START),
                CrystalRestart::Silent => self.hf.start_silently(now, HFXO_START),
            },
            task::HFCLKSTOP => self.hf = Oscillator::STOPPED,
            task::LFCLKSTART => {
                self.lf_source_copy = self.lf_source;
                let start = match self.lf_source & 3 {
                    SOURCE_XTAL => self.crystals.lfxo_start,
                    SOURCE_SYNTH => SYNTH_START,
                    _ => LFRC_START,
                };
                self.lf.start(now, start);
            }
            task::LFCLKSTOP => self.lf = Oscillator::STOPPED,
            task::CAL => self.calibration_at = now + CALIBRATION,
            task::CTSTART => {
                self.interval_at = now + u64::from(self.interval.max(1)) * QUARTER_SECOND;
                self.events.fire(CTSTARTED);
            }
            task::CTSTOP => {
                self.interval_at = NEVER;
                self.events.fire(CTSTOPPED);
            }
            // Constant latency or low power: the time to wake up is not modelled.
            task::CONSTLAT | task::LOWPWR => {}
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        self.hf.starts_at.min(self.lf.starts_at).min(self.calibration_at).min(self.interval_at).min(self.power.due())
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
        if self.power.usb_becomes_ready(now) {
            self.events.fire(USBPWRRDY);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{Peripheral, read, write};
    use super::super::power::Power;
    use super::{Clock, CrystalRestart, Crystals, LFRC_START};
    use crate::memory::Memory;

    fn clock() -> (Clock, Memory) {
        clock_with(CrystalRestart::Event)
    }

    fn clock_with(restart: CrystalRestart) -> (Clock, Memory) {
        (Clock::new(Crystals { lfxo_start: 16_000_000, restart }, Power::default()), Memory::new(4096, 64))
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
    fn a_running_crystal_that_is_started_again_says_so_or_not() {
        for (restart, says) in [(CrystalRestart::Event, 1), (CrystalRestart::Silent, 0)] {
            let (mut clock, mut memory) = clock_with(restart);
            write(&mut clock, 0, 0x000, 1).unwrap();
            clock.advance(360 * 64, &mut memory).unwrap();
            assert_eq!(read(&clock, 360 * 64, 0x100), Ok(1), "the first start always says so");
            write(&mut clock, 30_000, 0x100, 0).unwrap();
            write(&mut clock, 30_000, 0x000, 1).unwrap();
            clock.advance(100_000, &mut memory).unwrap();
            assert_eq!((read(&clock, 0, 0x100), clock.hfxo_runs()), (Ok(says), true), "{restart:?}");
        }
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
        assert!(clock.events().interrupt_line());
        write(&mut clock, 0, 0x100, 0).unwrap();
        assert!(!clock.events().interrupt_line());
    }
}
