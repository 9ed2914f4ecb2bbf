//! A board: chip, processor, memories, identity, and what is connected to it.
//!
//! The caller decides how far a board runs, in cycles. While the processor sleeps, time jumps to the next event.
//! [`crate::network::Network`] runs many boards together; [`Board::run_until`] and [`Board::next_event`] run one alone.

mod cable;
mod outside;

use crate::cpu::{Cpu, Stop};
use crate::io::BusError;
use crate::loader::LoadError;
use crate::log::{Line, LogReader};
use crate::memory::Memory;
use crate::phy::{Input, Stamped};
use crate::profile::Profile;
pub use crate::program::{Program, ProgramError};
use crate::rtt::Rtt;
use crate::soc::{Chip, Identity, PowerCut, RadioUse, ResetCause, Soc, Surroundings};
use crate::turnaround::Turnaround;

/// The processor runs for at most this many cycles at a time, so that no log overflows.
const SLICE: u64 = 64_000;
const LOG_CHANNEL: usize = 0;
/// Log lines that wait for a reader. If there are more, the oldest are lost and counted.
const LOG_LINES_MAX: usize = 100_000;

/// Why [`Board::run_until`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The requested cycle is reached.
    TimeReached,
    /// The radio tells the air something; see [`Board::take_radio`].
    Radio,
    /// A planned power cut has switched the board off.
    PowerLost,
    /// The program did something that the emulator does not model, or that stops a chip for good; see [`Board::trouble`].
    Stuck,
}

/// Totals since the board was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub instructions: u64,
    /// Cycles in which the processor was awake.
    pub awake: u64,
    /// Cycles with power.
    pub powered: u64,
    /// Cycles in which the processor was halted because flash was busy.
    pub halted: u64,
    pub software_resets: u32,
    pub watchdog_resets: u32,
    /// Resets because the processor locked up.
    pub lockups: u32,
    pub power_ons: u32,
    /// Log lines that nobody read in time.
    pub lost_lines: u64,
}

impl Counts {
    /// The share of the powered time in which the processor was awake, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
    pub fn awake(&self) -> f64 {
        if self.powered == 0 { 0.0 } else { self.awake as f64 / self.powered as f64 }
    }
}

/// How much stack a program has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackUse {
    /// The most bytes so far.
    pub used: u32,
    pub size: u32,
}

/// The addresses between which the stack lies. It grows down from the top.
#[derive(Clone, Copy, Debug)]
struct StackLimits {
    top: u32,
    bottom: u32,
}

#[derive(Clone)]
pub struct Board {
    program: Program,
    cpu: Cpu,
    memory: Memory,
    soc: Soc,
    rtt: Rtt,
    reader: LogReader,
    log: Vec<Line>,
    powered: bool,
    /// The processor waits for an interrupt, and nothing has happened since it fell asleep.
    asleep: bool,
    /// Instructions since the debug probe was last polled.
    unpolled: u64,
    trouble: Option<String>,
    /// The reason for the last lock-up. The chip itself resets and forgets it.
    lockup: Option<String>,
    counts: Counts,
    stack_limits: Option<StackLimits>,
    stack_used: u32,
    has_probe: bool,
    profile: Option<Profile>,
    turnaround: Turnaround,
}

impl Board {
    /// A board whose flash holds the program, and whose power is off.
    pub fn new(chip: Chip, program: &Program, device_id: u64, seed: u64) -> Result<Self, LoadError> {
        Self::with_surroundings(chip, program, device_id, seed, Surroundings::default())
    }

    pub fn with_surroundings(
        chip: Chip,
        program: &Program,
        device_id: u64,
        seed: u64,
        surroundings: Surroundings,
    ) -> Result<Self, LoadError> {
        let mut memory = chip.memory();
        program.image().load(&mut memory)?;
        // The shared instructions were decoded from this very image, so nothing is stale.
        let _as_flashed = memory.take_flash_changes();
        let mut cpu = Cpu::new(surroundings.cycles);
        cpu.set_decoded(program.decoded());
        let symbol = |name| program.image().symbol(name);
        let bottom = symbol("_stack_end").or_else(|| symbol("__euninit"));
        let stack_limits = symbol("_stack_start").zip(bottom).map(|(top, bottom)| StackLimits { top, bottom });
        Ok(Self {
            program: program.clone(),
            cpu,
            memory,
            soc: Soc::new(chip, Identity { device_id }, surroundings, seed),
            rtt: Rtt::new(symbol("_SEGGER_RTT")),
            reader: LogReader::default(),
            log: Vec::new(),
            powered: false,
            asleep: false,
            unpolled: 0,
            trouble: None,
            lockup: None,
            counts: Counts::default(),
            stack_limits,
            stack_used: 0,
            has_probe: true,
            profile: None,
            turnaround: Turnaround::default(),
        })
    }

    pub fn now(&self) -> u64 {
        self.cpu.now()
    }

    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.powered
    }

    /// Why the board is stuck, if it is.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The reason for the last lock-up. The chip was reset and went on.
    pub fn lockup(&self) -> Option<&str> {
        self.lockup.as_deref()
    }

    /// Makes a breakpoint a fault of the program, as on a board without a debug probe. By default it stops the board, so
    /// that a panic is noticed.
    pub fn set_breakpoints_fault(&mut self, fault: bool) {
        self.cpu.set_breakpoints_fault(fault);
    }

    /// The earliest cycle at which the board does anything by itself; `u64::MAX` if it is off or stuck.
    pub fn next_event(&self) -> u64 {
        if !self.powered || self.trouble.is_some() {
            u64::MAX
        } else if self.soc.has_output() {
            self.now()
        } else if self.asleep || self.soc.halts_until().is_some() {
            self.soc.next_event()
        } else {
            self.now()
        }
    }

    /// Switches the power on, at the present cycle or a later one.
    pub fn power_on(&mut self, cycle: u64) {
        if self.powered {
            return;
        }
        self.cpu.advance_to(cycle);
        self.powered = true;
        self.counts.power_ons += 1;
        self.start();
    }

    /// Cuts the power, now. Flash keeps its contents, except that a running write or erase is torn.
    pub fn power_off(&mut self) {
        if !self.powered {
            return;
        }
        self.poll_probe();
        self.soc.lose_power(self.cpu.now(), &mut self.memory);
        self.memory.lose_power();
        self.powered = false;
        self.trouble = None;
    }

    /// Resets the board by its reset pin.
    pub fn reset(&mut self) {
        if self.powered {
            self.trouble = None;
            self.restart(ResetCause::Pin);
        }
    }

    /// From now on the slow clock runs fast by this many millionths, or slow if `ppm` is negative.
    pub fn set_drift(&mut self, ppm: i32) {
        self.soc.set_drift(self.cpu.now(), ppm);
    }

    /// Plans a power cut in the middle of a later write or erase of flash, or cancels the plan.
    pub fn plan_power_cut(&mut self, cut: Option<PowerCut>) {
        self.soc.plan_power_cut(cut);
    }

    /// Runs until a cycle, or until the caller has to act.
    pub fn run_until(&mut self, cycle: u64) -> Pause {
        let from = self.cpu.now();
        let was_on = self.powered;
        let pause = self.run(cycle);
        if was_on {
            self.counts.powered += self.cpu.now() - from;
        }
        pause
    }

    fn run(&mut self, cycle: u64) -> Pause {
        loop {
            if self.trouble.is_some() {
                self.cpu.advance_to(cycle);
                return Pause::Stuck;
            }
            if !self.powered {
                self.cpu.advance_to(cycle);
                return Pause::TimeReached;
            }
            // Anything that is due may be an interrupt.
            self.asleep &= self.soc.next_event() > self.cpu.now();
            if let Err(error) = self.soc.advance(self.cpu.now(), &mut self.memory) {
                self.give_up(error.to_string());
                continue;
            }
            if self.soc.power_fails(self.cpu.now()) {
                self.power_off();
                return Pause::PowerLost;
            }
            if self.soc.watchdog_expired() {
                self.counts.watchdog_resets += 1;
                self.restart(ResetCause::Watchdog);
                continue;
            }
            if self.soc.has_output() {
                return Pause::Radio;
            }
            if self.cpu.now() >= cycle {
                return Pause::TimeReached;
            }
            self.step(cycle);
        }
    }

    /// Runs the processor, or lets time pass, until the next event or the end of a slice.
    fn step(&mut self, cycle: u64) {
        let now = self.cpu.now();
        let next = self.soc.next_event().min(cycle);
        if self.soc.halts_until().is_some() {
            self.counts.halted += next - now;
            self.cpu.advance_to(next);
            return;
        }
        let patience = self.profile.as_ref().map_or(SLICE, |profile| profile.patience(self.cpu.instructions()));
        let until = next.min(now + patience.min(SLICE));
        self.soc.set_horizon(until);
        let (before, was_awake) = (self.cpu.instructions(), self.cpu.awake());
        let stop = self.cpu.run(&mut self.memory, &mut self.soc, until);
        self.asleep = stop == Stop::Sleeping;
        self.counts.awake += self.cpu.awake() - was_awake;
        if self.cpu.instructions() != before {
            self.counts.instructions += self.cpu.instructions() - before;
            self.unpolled += self.cpu.instructions() - before;
            if let Some(profile) = &mut self.profile {
                profile.sample(self.cpu.instructions(), self.cpu.register(15));
            }
            if self.soc.take_send_timed() {
                self.turnaround.send_timed(self.cpu.now());
                if let Some(profile) = &mut self.profile {
                    profile.send_timed();
                }
            }
            // Many stretches are a few instructions long, and a poll costs more than they do.
            if self.asleep || self.unpolled >= SLICE / 2 {
                self.poll_probe();
            }
        }
        match stop {
            Stop::TimeReached | Stop::Io => {}
            Stop::Sleeping => {
                // The program may have changed the time of the next event.
                let next = self.soc.next_event().min(cycle);
                self.cpu.advance_to(next);
            }
            Stop::SystemReset => {
                self.counts.software_resets += 1;
                self.restart(ResetCause::Software);
            }
            Stop::LockedUp(trouble) => {
                self.counts.lockups += 1;
                self.lockup = Some(trouble.to_string());
                self.restart(ResetCause::Lockup);
            }
            Stop::Breakpoint { pc } => self.give_up(format!("at {pc:#010x}: a breakpoint, which is how a panic ends")),
            Stop::Error(trouble) => self.give_up(trouble.to_string()),
        }
    }

    fn give_up(&mut self, what: String) {
        self.poll_probe();
        self.trouble = Some(what);
    }

    fn restart(&mut self, cause: ResetCause) {
        self.poll_probe();
        self.soc.reset(self.cpu.now(), cause);
        self.start();
    }

    fn start(&mut self) {
        self.rtt.reset();
        self.reader.reset();
        self.asleep = false;
        self.cpu.reset(&self.memory);
    }

    /// Drains the log and measures the stack, before a reset or a power cut loses them.
    fn poll_probe(&mut self) {
        self.unpolled = 0;
        if let Some(StackLimits { top, .. }) = self.stack_limits {
            let lowest = self.cpu.lowest_stack_pointer().min(top);
            self.stack_used = self.stack_used.max(top - lowest);
        }
        if !self.has_probe {
            return;
        }
        self.rtt.poll(&mut self.memory);
        if let Some(dictionary) = self.program.dictionary() {
            let bytes = self.rtt.take(LOG_CHANNEL);
            if !bytes.is_empty() {
                self.log.extend(self.reader.read(dictionary, &bytes));
                let excess = self.log.len().saturating_sub(LOG_LINES_MAX);
                self.log.drain(..excess);
                self.counts.lost_lines += excess as u64;
            }
        }
    }
}

/// The radio and the air.
impl Board {
    /// What the radio tells the air next.
    pub fn take_radio(&mut self) -> Option<Stamped> {
        self.soc.take_output()
    }

    /// Passes something from the air to the radio, now: the board must have run until the cycle at which it happens.
    pub fn handle_input(&mut self, input: Input) {
        if self.powered && self.trouble.is_none() {
            if let Input::FrameEnds { .. } = input {
                self.turnaround.frame_ends(self.cpu.now());
                if let Some(profile) = &mut self.profile {
                    profile.frame_ends();
                }
            }
            let handled = self.soc.handle_input(self.cpu.now(), input);
            self.asleep = false;
            self.give_up_on_error(handled);
        }
    }

    pub fn radio_use(&self) -> RadioUse {
        self.soc.radio_use(self.cpu.now())
    }

    fn give_up_on_error(&mut self, result: Result<(), BusError>) {
        if let Err(error) = result {
            self.give_up(error.to_string());
        }
    }
}
