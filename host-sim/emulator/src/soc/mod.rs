//! The peripherals of an nRF52, one file each, and the bus to them.
//!
//! Nothing here counts cycles. Every peripheral says when it next has something to do by itself. [`Soc`] keeps those times
//! and the interrupt lines, and visits a peripheral only when its time has come or somebody accesses it. A sleeping board
//! costs nothing.
//!
//! A peripheral reaches RAM only in [`Soc::advance`]. A task that needs RAM at once is due at once, and stops the processor
//! before its next instruction.

mod bus;
mod chip;
mod clock;
mod egu;
mod events;
mod gpio;
mod gpiote;
mod info;
mod lfclk;
mod map;
mod nvmc;
mod outside;
mod power;
mod ppi;
mod radio;
mod rng;
mod rtc;
mod saadc;
mod sht4x;
mod temp;
#[cfg(test)]
mod tests;
mod timer;
mod twim;
mod uarte;
mod usbd;
mod wdt;

use common::rng::Rng as Generator;

pub use chip::Chip;
pub use clock::CrystalRestart;
pub use gpio::Pin;
pub use info::Identity;
pub use nvmc::PowerCut;
pub use power::ResetCause;
pub use radio::RadioUse;
pub use sht4x::Sht4x;

use bus::{RADIO_TXEN, explain};
use clock::{Clock, Crystals};
use egu::Egu;
use events::{EVENTS, NEVER, Peripheral, Refusal};
use gpio::Gpio;
use gpiote::{Gpiote, PinDemand};
use info::Uicr;
use lfclk::LfClock;
use map::{PAGES, page, page_address};
use nvmc::Nvmc;
use power::Power;
use ppi::Ppi;
use radio::Radio;
use rng::Rng;
use rtc::Rtc;
use saadc::Saadc;
use temp::Temp;
use timer::Timer;
use twim::Twim;
use uarte::Uarte;
use usbd::Usbd;
use usbd::errata::Errata;
use wdt::Wdt;

use crate::cpu::Cycles;
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;
use crate::phy::{Input, Stamped};

/// Compare registers of TIMER0 to TIMER4.
const TIMER_CHANNELS: [u32; 5] = [4, 4, 4, 6, 6];
/// PPI channels wired in a circle would fire events for ever. No program wires this many in a row.
const WIRED_MAX: u32 = 100;
/// A peripheral that is due more often than this in one call of [`Soc::advance`] makes no progress.
const DUE_MAX: u32 = 10_000;
/// Which stream of the board's seed each consumer draws from.
const RNG_STREAM: u64 = 1;
const NVMC_STREAM: u64 = 2;

/// What the board around the chip is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// How long the 32 kHz crystal takes to start.
    pub lfxo_start_us: u64,
    pub crystal_restart: CrystalRestart,
    /// What an instruction costs.
    pub cycles: Cycles,
    pub supply_mv: i32,
    /// In quarters of a degree Celsius.
    pub temperature_quarters: i32,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            lfxo_start_us: 250_000,
            crystal_restart: CrystalRestart::default(),
            cycles: Cycles::default(),
            supply_mv: 3_000,
            temperature_quarters: 22 * 4,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Soc {
    chip: Chip,
    identity: Identity,
    crystals: Crystals,
    lf_clock: LfClock,
    clock: Clock,
    radio: Radio,
    uartes: [Uarte; 2],
    usbd: Usbd,
    usb_errata: Errata,
    twim: Twim,
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
    /// When each page has something to do.
    due: [u64; PAGES],
    /// The earliest time in `due`.
    next: u64,
    /// One bit for each page.
    interrupt_lines: u64,
    /// The processor was told to run until here. Whatever comes due earlier must stop it.
    horizon: u64,
    stop: bool,
    /// The program has set when the transmitter starts by itself, since somebody last asked.
    send_timed: bool,
    /// How often the transmitter was started by a timer.
    timed_sends: u64,
}

impl Soc {
    /// A chip whose power has just come on for the first time. All of its randomness comes from `seed`.
    pub fn new(chip: Chip, identity: Identity, surroundings: Surroundings, seed: u64) -> Self {
        let lfxo_start = surroundings.lfxo_start_us * CYCLES_PER_US;
        let crystals = Crystals { lfxo_start, restart: surroundings.crystal_restart };
        Self {
            chip,
            identity,
            crystals,
            lf_clock: LfClock::default(),
            clock: Clock::new(crystals, Power::default()),
            radio: Radio::new(),
            uartes: [Uarte::new(), Uarte::new()],
            usbd: Usbd::new(),
            usb_errata: Errata::default(),
            twim: Twim::new(),
            gpio: Gpio::new(chip),
            gpiote: Gpiote::new(),
            saadc: Saadc::new(surroundings.supply_mv),
            timers: TIMER_CHANNELS.map(Timer::new),
            rtcs: [LfClock::default(); 3].map(Rtc::new),
            temp: Temp::new(surroundings.temperature_quarters),
            rng: Rng::new(Generator::stream(seed, RNG_STREAM)),
            wdt: Wdt::new(LfClock::default()),
            egus: [(); 6].map(|()| Egu::new()),
            nvmc: Nvmc::new(Generator::stream(seed, NVMC_STREAM)),
            ppi: Ppi::default(),
            uicr: Uicr::blank(),
            due: [NEVER; PAGES],
            next: NEVER,
            interrupt_lines: 0,
            horizon: NEVER,
            stop: false,
            send_timed: false,
            timed_sends: 0,
        }
    }

    /// A reset without loss of power. The watchdog keeps running unless it caused the reset.
    pub fn reset(&mut self, now: u64, cause: ResetCause) {
        let power = self.clock.power.after_reset(cause);
        let wdt = if cause == ResetCause::Watchdog { Wdt::new(self.lf_clock) } else { self.wdt.after_reset() };
        self.restart(now, power, wdt);
    }

    /// Cuts the power. A running flash operation is torn, and the radio falls silent.
    pub fn lose_power(&mut self, now: u64, memory: &mut Memory) {
        self.nvmc.lose_power(now, memory, &mut self.uicr);
        self.restart(now, Power::default(), Wdt::new(self.lf_clock));
    }

    fn restart(&mut self, now: u64, power: Power, wdt: Wdt) {
        self.clock = Clock::new(self.crystals, power);
        self.radio.reset(now);
        self.radio.hfxo = false;
        self.uartes = self.uartes.each_ref().map(|uarte| uarte.after_reset(now));
        self.usbd = self.usbd.after_reset(now);
        self.usb_errata = Errata::default();
        self.clock.keep_usb_power(self.usbd.host().is_some());
        self.twim = self.twim.after_reset();
        self.gpio = self.gpio.after_reset(self.chip);
        self.gpiote = Gpiote::new();
        self.saadc = self.saadc.after_reset();
        self.timers = TIMER_CHANNELS.map(Timer::new);
        self.rtcs = [self.lf_clock; 3].map(Rtc::new);
        self.temp = Temp::new(self.temp.quarters());
        self.rng = self.rng.after_reset();
        self.egus = [(); 6].map(|()| Egu::new());
        self.nvmc = self.nvmc.after_reset();
        self.ppi = Ppi::default();
        self.wdt = wdt;
        (self.interrupt_lines, self.next, self.stop) = (0, NEVER, false);
        self.due = [NEVER; PAGES];
        self.set_due(page::WDT, self.wdt.due());
        self.wire();
    }

    /// From now on the low-frequency clock runs fast by this many millionths, or slow if `ppm` is negative.
    pub fn set_drift(&mut self, now: u64, ppm: i32) {
        self.lf_clock.set_drift(now, ppm);
        for (number, page) in page::RTCS.into_iter().enumerate() {
            self.rtcs[number].set_clock(self.lf_clock);
            self.set_due(page, self.rtcs[number].due());
        }
        self.wdt.set_clock(self.lf_clock);
        self.set_due(page::WDT, self.wdt.due());
    }

    /// The earliest time at which a peripheral has something to do by itself.
    pub fn next_event(&self) -> u64 {
        self.next
    }

    /// Says that the processor runs until `cycle` unless something comes due earlier.
    pub fn set_horizon(&mut self, cycle: u64) {
        self.horizon = cycle;
        self.stop = self.radio.has_output();
    }

    /// Whether the program has set a timer that starts the transmitter since the last call.
    pub fn take_send_timed(&mut self) -> bool {
        std::mem::take(&mut self.send_timed)
    }

    /// How often the transmitter has started at a time that the program had set.
    pub fn timed_sends(&self) -> u64 {
        self.timed_sends
    }

    /// Until when the processor is halted because flash is busy.
    pub fn halts_until(&self) -> Option<u64> {
        self.nvmc.halts_until()
    }

    /// Whether the planned power cut has come.
    pub fn power_fails(&self, now: u64) -> bool {
        self.nvmc.power_fails(now)
    }

    /// Whether the watchdog demands a reset.
    pub fn watchdog_expired(&self) -> bool {
        self.wdt.has_expired()
    }

    /// Does everything that is due by `now`, in the order of time.
    pub fn advance(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        let mut rounds = 0;
        while self.next <= now && !self.wdt.has_expired() && !self.nvmc.power_fails(now) {
            let at = self.next;
            let page = self.due.iter().position(|&due| due == at).unwrap_or(page::CLOCK);
            rounds += 1;
            if rounds > DUE_MAX {
                let address = page_address(page);
                return Err(BusError { address, what: format!("{} makes no progress", map::name(address)) });
            }
            if page == page::NVMC {
                self.nvmc.advance(at, memory, &mut self.uicr);
                self.set_due(page::NVMC, self.nvmc.due());
            } else if let Some(peripheral) = self.peripheral(page) {
                peripheral.advance(at, memory)?;
                self.propagate(at, page, 0)?;
            }
        }
        Ok(())
    }

    /// Passes something from the air to the radio.
    pub fn handle_input(&mut self, now: u64, input: Input) -> Result<(), BusError> {
        self.radio.handle_input(now, input)?;
        self.propagate(now, page::RADIO, 0)
    }

    /// What the radio tells the air next.
    pub fn take_output(&mut self) -> Option<Stamped> {
        self.radio.take_output()
    }

    /// Whether the radio has something to tell the air.
    pub fn has_output(&self) -> bool {
        self.radio.has_output()
    }

    fn peripheral(&mut self, page: usize) -> Option<&mut dyn Peripheral> {
        Some(match page {
            page::CLOCK => &mut self.clock,
            page::RADIO => &mut self.radio,
            page::UARTE0 => &mut self.uartes[0],
            page::TWIM0 => &mut self.twim,
            page::GPIOTE => &mut self.gpiote,
            page::SAADC => &mut self.saadc,
            page::TIMER0..=page::TIMER2 => &mut self.timers[page - page::TIMER0],
            page::RTC0 => &mut self.rtcs[0],
            page::TEMP => &mut self.temp,
            page::RNG => &mut self.rng,
            page::WDT => &mut self.wdt,
            page::RTC1 => &mut self.rtcs[1],
            page::EGU0..=page::EGU5 => &mut self.egus[page - page::EGU0],
            page::TIMER3..=page::TIMER4 => &mut self.timers[page - page::TIMER3 + 3],
            page::RTC2 => &mut self.rtcs[2],
            page::USBD => &mut self.usbd,
            page::UARTE1 => &mut self.uartes[1],
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

    /// After a change to a peripheral: updates its due time and interrupt line, and passes its events on to the tasks
    /// that PPI wires them to.
    fn propagate(&mut self, now: u64, page: usize, depth: u32) -> Result<(), BusError> {
        let Some(peripheral) = self.peripheral(page) else { return Ok(()) };
        let (due, line) = (peripheral.due(), peripheral.events().interrupt_line());
        let fresh = peripheral.events_mut().take_fresh();
        self.interrupt_lines = self.interrupt_lines & !(1 << page) | u64::from(line) << page;
        self.set_due(page, due);
        match page {
            page::CLOCK => self.radio.hfxo = self.clock.hfxo_runs(),
            page::RADIO => self.stop |= self.radio.has_output(),
            page::GPIOTE => self.apply_pins(now, depth)?,
            page::TWIM0 => self.feel_wires(now),
            _ => {}
        }
        if fresh != 0 {
            self.route(now, page, fresh, depth)?;
        }
        Ok(())
    }

    /// Sets the pins as the tasks of GPIOTE demand.
    fn apply_pins(&mut self, now: u64, depth: u32) -> Result<(), BusError> {
        let demands = self.gpiote.take_demands();
        if demands.is_empty() {
            return Ok(());
        }
        for PinDemand { pin, high } in demands {
            self.gpio.set_output(pin, high);
        }
        self.observe_pins(now, depth)
    }

    fn observe_pins(&mut self, now: u64, depth: u32) -> Result<(), BusError> {
        let change = self.gpio.take_change();
        self.gpiote.observe(change);
        self.feel_wires(now);
        self.propagate(now, page::GPIOTE, depth)
    }

    /// Triggers the tasks that PPI wires to events of a page.
    fn route(&mut self, now: u64, page: usize, fresh: u32, depth: u32) -> Result<(), BusError> {
        let address = page_address(page);
        if depth > WIRED_MAX {
            return Err(BusError { address, what: "PPI: channels are wired in a circle".into() });
        }
        for event in (0..32).filter(|event| fresh >> event & 1 != 0) {
            for task in self.ppi.tasks(address + EVENTS + 4 * event) {
                self.timed_sends += u64::from(task == RADIO_TXEN);
                self.trigger(now, task, depth + 1)?;
            }
        }
        Ok(())
    }

    fn trigger(&mut self, now: u64, task: u32, depth: u32) -> Result<(), BusError> {
        let (page, offset) = (map::page_of(task), map::offset_of(task));
        let served = if page == page::PPI {
            self.ppi.task(offset)
        } else if let Some(peripheral) = self.peripheral(page) {
            peripheral.task(now, offset)
        } else {
            Err(Refusal::Unknown)
        };
        served.map_err(|refusal| explain(task, refusal))?;
        if page == page::PPI {
            self.wire();
            return Ok(());
        }
        self.propagate(now, page, depth)
    }

    /// Tells every peripheral which of its events are wired.
    fn wire(&mut self) {
        for page in 0..PAGES {
            let wired = self.ppi.wired(page_address(page));
            if let Some(peripheral) = self.peripheral(page) {
                peripheral.events_mut().set_wired(wired);
                let due = peripheral.due();
                self.set_due(page, due);
            }
        }
    }
}
