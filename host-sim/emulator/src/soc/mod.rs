//! The peripherals of an nRF52, one file each, and the bus to them.
//!
//! Nothing here counts cycles. Every peripheral says when it next has something to do by itself; [`Soc`] keeps those times
//! and the interrupt lines, and looks at a peripheral only when that time has come or somebody touches it. A board that
//! sleeps costs nothing.
//!
//! A peripheral reaches RAM only in [`Soc::advance`]. A task that needs RAM at once makes itself due at once, and stops
//! the processor before its next instruction.

mod bus;
mod chip;
mod clock;
mod egu;
mod events;
mod gpio;
mod gpiote;
mod info;
mod lfclk;
mod nvmc;
mod outside;
mod power;
mod ppi;
mod radio;
mod rng;
mod rtc;
mod saadc;
mod temp;
#[cfg(test)]
mod tests;
mod timer;
mod uarte;
mod wdt;

use common::rng::Rng as Chance;

pub use chip::Chip;
pub use gpio::Pin;
pub use info::Identity;
pub use nvmc::PowerCut;
pub use power::ResetCause;
pub use radio::RadioUse;

use bus::explain;
use clock::Clock;
use egu::Egu;
use events::{NEVER, Peripheral, Refusal};
use gpio::Gpio;
use gpiote::Gpiote;
use info::Uicr;
use lfclk::LfClock;
use nvmc::Nvmc;
use power::Power;
use ppi::Ppi;
use radio::Radio;
use rng::Rng;
use rtc::Rtc;
use saadc::Saadc;
use temp::Temp;
use timer::Timer;
use uarte::Uarte;
use wdt::Wdt;

use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;
use crate::phy::{Input, Stamped};

const BASE: u32 = 0x4000_0000;
const PAGES: usize = 48;
const CLOCK: usize = 0;
const RADIO: usize = 1;
const GPIOTE: usize = 6;
const WDT: usize = 16;
const NVMC: usize = 30;
const PPI: usize = 31;
/// Wires in a circle would make events for ever.
const WIRED_MAX: u32 = 100;
/// Nothing is due this often at one moment.
const DUE_MAX: u32 = 10_000;

/// What the board around the chip is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// How long the 32 kHz crystal takes to start.
    pub lfxo_start_us: u64,
    /// The supply voltage.
    pub supply_mv: i32,
    /// The temperature in quarters of a degree Celsius.
    pub temperature_quarters: i32,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self { lfxo_start_us: 250_000, supply_mv: 3_000, temperature_quarters: 22 * 4 }
    }
}

/// The peripherals.
#[derive(Clone, Debug)]
pub struct Soc {
    chip: Chip,
    identity: Identity,
    lfxo_start: u64,
    lf_clock: LfClock,
    clock: Clock,
    radio: Radio,
    uartes: [Uarte; 2],
    gpio: Gpio,
    gpiote: Gpiote,
    saadc: Saadc,
    timers: [Timer; 5],
    rtcs: [Rtc; 3],
    temp: Temp,
    rng: Rng,
    wdt: Wdt,
    egus: [Egu; 6],
    nvmc: Nvmc,
    ppi: Ppi,
    uicr: Uicr,
    /// When each page has something to do, and the earliest of these times.
    due: [u64; PAGES],
    next: u64,
    lines: u64,
    /// The processor was told to run until here; what comes due earlier must stop it.
    horizon: u64,
    stop: bool,
    /// The transmitter was wired to start by itself since somebody last asked.
    send_armed: bool,
}

impl Soc {
    /// The peripherals of a chip whose power has just come on for the first time. The seed is the board's chance.
    pub fn new(chip: Chip, identity: Identity, surroundings: Surroundings, seed: u64) -> Self {
        let lfxo_start = surroundings.lfxo_start_us * CYCLES_PER_US;
        Self {
            chip,
            identity,
            lfxo_start,
            lf_clock: LfClock::default(),
            clock: Clock::new(lfxo_start, Power::default()),
            radio: Radio::new(),
            uartes: [Uarte::new(), Uarte::new()],
            gpio: Gpio::new(chip),
            gpiote: Gpiote::new(),
            saadc: Saadc::new(surroundings.supply_mv),
            timers: [4, 4, 4, 6, 6].map(Timer::new),
            rtcs: [LfClock::default(); 3].map(Rtc::new),
            temp: Temp::new(surroundings.temperature_quarters),
            rng: Rng::new(Chance::stream(seed, 1)),
            wdt: Wdt::new(LfClock::default()),
            egus: [(); 6].map(|()| Egu::new()),
            nvmc: Nvmc::new(Chance::stream(seed, 2)),
            ppi: Ppi::default(),
            uicr: Uicr::blank(),
            due: [NEVER; PAGES],
            next: NEVER,
            lines: 0,
            horizon: NEVER,
            stop: false,
            send_armed: false,
        }
    }

    /// A reset without loss of power. The watchdog runs on unless it was its own reset.
    pub fn reset(&mut self, now: u64, cause: ResetCause) {
        let power = self.clock.power.after_reset(cause);
        let wdt = if cause == ResetCause::Watchdog { Wdt::new(self.lf_clock) } else { self.wdt.after_reset() };
        self.restart(now, power, wdt);
    }

    /// The power goes. What was being written to flash is torn, and the radio falls silent.
    pub fn lose_power(&mut self, now: u64, memory: &mut Memory) {
        self.nvmc.lose_power(now, memory, &mut self.uicr);
        self.restart(now, Power::default(), Wdt::new(self.lf_clock));
    }

    fn restart(&mut self, now: u64, power: Power, wdt: Wdt) {
        self.clock = Clock::new(self.lfxo_start, power);
        self.radio.reset(now);
        self.radio.hfxo = false;
        self.uartes = self.uartes.each_ref().map(|uarte| uarte.after_reset(now));
        self.gpio = self.gpio.after_reset(self.chip);
        self.gpiote = Gpiote::new();
        self.saadc = self.saadc.after_reset();
        self.timers = [4, 4, 4, 6, 6].map(Timer::new);
        self.rtcs = [self.lf_clock; 3].map(Rtc::new);
        self.temp = Temp::new(self.temp.quarters());
        self.rng = self.rng.after_reset();
        self.egus = [(); 6].map(|()| Egu::new());
        self.nvmc = self.nvmc.after_reset();
        self.ppi = Ppi::default();
        self.wdt = wdt;
        (self.lines, self.next, self.stop) = (0, NEVER, false);
        self.due = [NEVER; PAGES];
        self.set_due(WDT, self.wdt.due());
        self.wire();
    }

    /// From now on the low-frequency clock runs fast by this many millionths, or slow.
    pub fn set_drift(&mut self, now: u64, ppm: i32) {
        self.lf_clock.set_drift(now, ppm);
        for (page, counter) in [11, 17, 36].into_iter().zip(0..) {
            self.rtcs[counter].set_clock(self.lf_clock);
            self.set_due(page, self.rtcs[counter].due());
        }
        self.wdt.set_clock(self.lf_clock);
        self.set_due(WDT, self.wdt.due());
    }

    /// When something happens by itself.
    pub fn next_event(&self) -> u64 {
        self.next
    }

    /// The processor runs until `cycle` if nothing comes earlier.
    pub fn set_horizon(&mut self, cycle: u64) {
        self.horizon = cycle;
        self.stop = self.radio.has_output();
    }

    /// Whether the program has wired an event to the transmitter since the last call.
    pub fn take_send_armed(&mut self) -> bool {
        std::mem::take(&mut self.send_armed)
    }

    /// Until when the processor stands still because flash is busy.
    pub fn halts_until(&self) -> Option<u64> {
        self.nvmc.halts_until()
    }

    /// Whether the planned power cut has come.
    pub fn power_fails(&self, now: u64) -> bool {
        self.nvmc.power_fails(now)
    }

    /// Whether the watchdog wants a reset.
    pub fn watchdog_bites(&self) -> bool {
        self.wdt.bites()
    }

    /// Lets everything happen that is due by `now`, in order.
    pub fn advance(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        let mut rounds = 0;
        while self.next <= now && !self.wdt.bites() && !self.nvmc.power_fails(now) {
            let at = self.next;
            let page = self.due.iter().position(|&due| due == at).unwrap_or(CLOCK);
            rounds += 1;
            if rounds > DUE_MAX {
                let address = BASE + u32::try_from(page).unwrap_or(0) * 0x1000;
                return Err(BusError { address, what: format!("{} does not get on", chip::name(address)) });
            }
            if page == NVMC {
                self.nvmc.advance(at, memory, &mut self.uicr);
                self.set_due(NVMC, self.nvmc.due());
            } else if let Some(peripheral) = self.peripheral(page) {
                peripheral.advance(at, memory)?;
                self.settle(at, page, 0)?;
            }
        }
        Ok(())
    }

    /// The air tells the radio something.
    pub fn hear(&mut self, now: u64, input: Input) -> Result<(), BusError> {
        self.radio.hear(now, input)?;
        self.settle(now, RADIO, 0)
    }

    /// What the radio says to the air next.
    pub fn take_output(&mut self) -> Option<Stamped> {
        self.radio.take_output()
    }

    /// Whether the radio has something to say.
    pub fn has_output(&self) -> bool {
        self.radio.has_output()
    }

    fn peripheral(&mut self, page: usize) -> Option<&mut dyn Peripheral> {
        Some(match page {
            CLOCK => &mut self.clock,
            RADIO => &mut self.radio,
            2 => &mut self.uartes[0],
            GPIOTE => &mut self.gpiote,
            7 => &mut self.saadc,
            8..=10 => &mut self.timers[page - 8],
            11 => &mut self.rtcs[0],
            12 => &mut self.temp,
            13 => &mut self.rng,
            WDT => &mut self.wdt,
            17 => &mut self.rtcs[1],
            20..=25 => &mut self.egus[page - 20],
            26 | 27 => &mut self.timers[page - 23],
            36 => &mut self.rtcs[2],
            40 => &mut self.uartes[1],
            _ => return None,
        })
    }

    fn set_due(&mut self, page: usize, due: u64) {
        let before = std::mem::replace(&mut self.due[page], due);
        if due <= self.next {
            self.next = due;
        } else if before == self.next {
            self.next = self.due.iter().copied().min().unwrap_or(NEVER);
        }
        self.stop |= self.next < self.horizon;
    }

    /// Takes note of what somebody has done to a peripheral, and lets its events go where they are wired to.
    fn settle(&mut self, now: u64, page: usize, depth: u32) -> Result<(), BusError> {
        let Some(peripheral) = self.peripheral(page) else { return Ok(()) };
        let (due, line) = (peripheral.due(), peripheral.events().line());
        let fresh = peripheral.events_mut().take_fresh();
        self.lines = self.lines & !(1 << page) | u64::from(line) << page;
        self.set_due(page, due);
        match page {
            CLOCK => self.radio.hfxo = self.clock.hfxo_runs(),
            RADIO => self.stop |= self.radio.has_output(),
            GPIOTE => self.apply_pins(now, depth)?,
            _ => {}
        }
        if fresh != 0 {
            self.route(now, page, fresh, depth)?;
        }
        Ok(())
    }

    /// Lets the pins that GPIOTE set take effect.
    fn apply_pins(&mut self, now: u64, depth: u32) -> Result<(), BusError> {
        let wanted = self.gpiote.take_wanted();
        if wanted.is_empty() {
            return Ok(());
        }
        for (pin, high) in wanted {
            self.gpio.set_output(pin, high);
        }
        self.observe_pins(now, depth)
    }

    fn observe_pins(&mut self, now: u64, depth: u32) -> Result<(), BusError> {
        let change = self.gpio.change();
        self.gpiote.observe(change);
        self.settle(now, GPIOTE, depth)
    }

    fn route(&mut self, now: u64, page: usize, fresh: u32, depth: u32) -> Result<(), BusError> {
        let page_address = BASE + u32::try_from(page).unwrap_or(0) * 0x1000;
        if depth > WIRED_MAX {
            return Err(BusError { address: page_address, what: "PPI: channels are wired in a circle".into() });
        }
        for event in (0..32).filter(|event| fresh >> event & 1 != 0) {
            for task in self.ppi.tasks(page_address + 0x100 + 4 * event) {
                self.trigger(now, task, depth + 1)?;
            }
        }
        Ok(())
    }

    fn trigger(&mut self, now: u64, task: u32, depth: u32) -> Result<(), BusError> {
        let (page, offset) = ((task.wrapping_sub(BASE) >> 12) as usize, task & 0xFFF);
        let served = if page == PPI {
            self.ppi.task(offset)
        } else if let Some(peripheral) = self.peripheral(page) {
            peripheral.task(now, offset)
        } else {
            Err(Refusal::Unknown)
        };
        served.map_err(|refusal| explain(task, refusal))?;
        if page == PPI {
            self.wire();
            return Ok(());
        }
        self.settle(now, page, depth)
    }

    /// Tells every peripheral which of its events are wired.
    fn wire(&mut self) {
        for page in 0..PAGES {
            let watched = self.ppi.watched(BASE + u32::try_from(page).unwrap_or(0) * 0x1000);
            if let Some(peripheral) = self.peripheral(page) {
                peripheral.events_mut().watch(watched);
                let due = peripheral.due();
                self.set_due(page, due);
            }
        }
    }
}
