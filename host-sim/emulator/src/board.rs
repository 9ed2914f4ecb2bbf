//! A board: chip, processor, memories, identity, and what is connected to it.
//!
//! A board lives on the time of whoever runs it, in cycles. While its processor sleeps, time jumps to the next event.
//! Many boards are run together by [`crate::network::Network`]; one alone, or in another world, with [`Board::run_until`]
//! and [`Board::next_event`].

use crate::cpu::{Cpu, Stop};
use crate::io::BusError;
use crate::loader::LoadError;
use crate::log::{Line, LogReader};
use crate::memory::Memory;
use crate::phy::{Input, Stamped};
use crate::profile::Profile;
pub use crate::program::{Program, ProgramError};
use crate::rtt::Rtt;
use crate::soc::{Chip, Identity, Pin, PowerCut, RadioUse, ResetCause, Soc, Surroundings};
use crate::turnaround::Turnaround;

/// The processor looks up at least this often, so that no log overflows.
const SLICE: u64 = 64_000;
/// The channel of the log.
const LOG_CHANNEL: usize = 0;
/// Lines that wait for a reader; the oldest are lost and counted.
const LINES_MAX: usize = 100_000;

/// Why [`Board::run_until`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The time asked for is reached.
    TimeReached,
    /// The radio says something to the air; see [`Board::take_radio`].
    Radio,
    /// The planned power cut came. The board is off.
    PowerLost,
    /// The program did what the emulator does not model, or what no chip survives; see [`Board::trouble`].
    Stuck,
}

/// What a board has been through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles with power.
    pub powered: u64,
    /// Cycles in which the processor stood still because flash was busy.
    pub halted: u64,
    /// Resets that the program asked for.
    pub software_resets: u32,
    /// Resets by the watchdog.
    pub watchdog_resets: u32,
    /// Resets because the processor locked up.
    pub lockups: u32,
    /// Times that the power came on.
    pub power_ons: u32,
    /// Lines of the log that nobody took in time.
    pub lost_lines: u64,
}

impl Counts {
    /// The share of its time in which the processor worked, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
    pub fn awake(&self) -> f64 {
        if self.powered == 0 { 0.0 } else { self.instructions as f64 / self.powered as f64 }
    }
}

/// A board.
pub struct Board {
    program: Program,
    cpu: Cpu,
    memory: Memory,
    soc: Soc,
    rtt: Rtt,
    reader: LogReader,
    lines: Vec<Line>,
    powered: bool,
    /// The processor waits for an interrupt, and nothing has happened since.
    asleep: bool,
    /// Instructions since the debug probe last looked.
    unseen: u64,
    trouble: Option<String>,
    /// What the last lock-up was about; the chip resets itself and forgets.
    lockup: Option<String>,
    counts: Counts,
    stack_limits: Option<(u32, u32)>,
    stack_used: u32,
    has_probe: bool,
    profile: Option<Profile>,
    turnaround: Turnaround,
}

impl Board {
    /// A board with a flashed image, without power.
    pub fn new(chip: Chip, program: &Program, device_id: u64, seed: u64) -> Result<Self, LoadError> {
        Self::with_surroundings(chip, program, device_id, seed, Surroundings::default())
    }

    /// A board in surroundings of its own.
    pub fn with_surroundings(
        chip: Chip,
        program: &Program,
        device_id: u64,
        seed: u64,
        surroundings: Surroundings,
    ) -> Result<Self, LoadError> {
        let mut memory = chip.memory();
        program.image().load(&mut memory)?;
        // Nothing of that is new to the processor, so that boards keep on sharing what was decoded.
        let _as_flashed = memory.take_flash_changes();
        let mut cpu = Cpu::new();
        cpu.set_decoded(program.decoded());
        let symbol = |name| program.image().symbol(name);
        let bottom = symbol("_stack_end").or_else(|| symbol("__euninit"));
        Ok(Self {
            program: program.clone(),
            cpu,
            memory,
            soc: Soc::new(chip, Identity { device_id }, surroundings, seed),
            rtt: Rtt::new(symbol("_SEGGER_RTT")),
            reader: LogReader::default(),
            lines: Vec::new(),
            powered: false,
            asleep: false,
            unseen: 0,
            trouble: None,
            lockup: None,
            counts: Counts::default(),
            stack_limits: symbol("_stack_start").zip(bottom),
            stack_used: 0,
            has_probe: true,
            profile: None,
            turnaround: Turnaround::default(),
        })
    }

    /// The present cycle.
    pub fn now(&self) -> u64 {
        self.cpu.now()
    }

    /// Whether it has power.
    pub fn is_on(&self) -> bool {
        self.powered
    }

    /// What went wrong, if it is stuck.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// What made the processor lock up the last time it did; the chip was reset and went on.
    pub fn lockup(&self) -> Option<&str> {
        self.lockup.as_deref()
    }

    /// Lets a breakpoint be a fault of the program, as on a board without a debug probe. By default it stops the board,
    /// so that a panic is seen.
    pub fn set_breakpoints_fault(&mut self, fault: bool) {
        self.cpu.set_breakpoints_fault(fault);
    }

    /// The earliest cycle at which it does anything by itself; never, where it has no power or is stuck.
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

    /// The power comes on, at the present cycle or a later one.
    pub fn power_on(&mut self, cycle: u64) {
        if self.powered {
            return;
        }
        self.cpu.advance_to(cycle);
        self.powered = true;
        self.counts.power_ons += 1;
        self.start();
    }

    /// The power goes, now. Flash keeps what it has, torn where it was being written.
    pub fn power_off(&mut self) {
        if !self.powered {
            return;
        }
        self.look_at_logs();
        self.soc.lose_power(self.cpu.now(), &mut self.memory);
        self.memory.lose_power();
        self.powered = false;
        self.trouble = None;
    }

    /// Somebody pulls the reset pin.
    pub fn reset(&mut self) {
        if self.powered {
            self.trouble = None;
            self.restart(ResetCause::Pin);
        }
    }

    /// From now on its slow clock runs fast by this many millionths, or slow.
    pub fn set_drift(&mut self, ppm: i32) {
        self.soc.set_drift(self.cpu.now(), ppm);
    }

    /// Plans a power cut in the middle of a write or an erase of flash that is to come, or none.
    pub fn plan_power_cut(&mut self, cut: Option<PowerCut>) {
        self.soc.plan_power_cut(cut);
    }

    /// Runs until a cycle, or until somebody outside must act.
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
            // Whatever happens may be an interrupt.
            self.asleep &= self.soc.next_event() > self.cpu.now();
            if let Err(error) = self.soc.advance(self.cpu.now(), &mut self.memory) {
                self.give_up(error.to_string());
                continue;
            }
            if self.soc.power_fails(self.cpu.now()) {
                self.power_off();
                return Pause::PowerLost;
            }
            if self.soc.watchdog_bites() {
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
        let before = self.cpu.instructions();
        let stop = self.cpu.run(&mut self.memory, &mut self.soc, until);
        self.asleep = stop == Stop::Sleeping;
        if self.cpu.instructions() != before {
            self.counts.instructions += self.cpu.instructions() - before;
            self.unseen += self.cpu.instructions() - before;
            if let Some(profile) = &mut self.profile {
                profile.look(self.cpu.instructions(), self.cpu.register(15));
            }
            if self.soc.take_send_armed() {
                self.turnaround.send_armed(self.cpu.instructions());
            }
            // Many a stretch is a few instructions long, and a look costs more than those.
            if self.asleep || self.unseen >= SLICE / 2 {
                self.look_at_logs();
            }
        }
        match stop {
            Stop::TimeReached | Stop::Io => {}
            Stop::Sleeping => {
                // The processor may have changed when the next event is.
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
        self.look_at_logs();
        self.trouble = Some(what);
    }

    fn restart(&mut self, cause: ResetCause) {
        self.look_at_logs();
        self.soc.reset(self.cpu.now(), cause);
        self.start();
    }

    fn start(&mut self) {
        self.rtt.reset();
        self.reader.reset();
        self.asleep = false;
        self.cpu.reset(&self.memory);
    }

    /// Drains the log, and takes the measure of the stack, before either is gone.
    fn look_at_logs(&mut self) {
        self.unseen = 0;
        if let Some((top, _)) = self.stack_limits {
            let lowest = self.cpu.lowest_stack_pointer().min(top);
            self.stack_used = self.stack_used.max(top - lowest);
        }
        if !self.has_probe {
            return;
        }
        self.rtt.visit(&mut self.memory);
        if let Some(dictionary) = self.program.dictionary() {
            let bytes = self.rtt.take(LOG_CHANNEL);
            if !bytes.is_empty() {
                self.lines.extend(self.reader.read(dictionary, &bytes));
                let excess = self.lines.len().saturating_sub(LINES_MAX);
                self.lines.drain(..excess);
                self.counts.lost_lines += excess as u64;
            }
        }
    }
}

/// The air.
impl Board {
    /// What the radio says to the air next.
    pub fn take_radio(&mut self) -> Option<Stamped> {
        self.soc.take_output()
    }

    /// The air tells the radio something, now: the board must have been run until the cycle at which it happens.
    pub fn hear(&mut self, input: Input) {
        if self.powered && self.trouble.is_none() {
            if let Input::FrameEnds { .. } = input {
                self.turnaround.frame_ends(self.cpu.instructions());
            }
            let heard = self.soc.hear(self.cpu.now(), input);
            self.asleep = false;
            self.note(heard);
        }
    }

    /// What the radio was used for.
    pub fn radio_use(&self) -> RadioUse {
        self.soc.radio_use(self.cpu.now())
    }

    fn note(&mut self, result: Result<(), BusError>) {
        if let Err(error) = result {
            self.give_up(error.to_string());
        }
    }
}

/// What is connected to the board, and what can be seen of it.
impl Board {
    /// Drives a pin from outside, or lets go of it: a button that is pressed or not.
    pub fn drive(&mut self, pin: Pin, level: Option<bool>) {
        let driven = self.soc.drive(self.cpu.now(), pin, level);
        self.asleep = false;
        self.note(driven);
    }

    /// Whether a pin is high: a light that is on or off.
    pub fn is_high(&self, pin: Pin) -> bool {
        self.soc.is_high(pin)
    }

    /// The peripherals, for temperature, supply and serial lines.
    pub fn soc(&self) -> &Soc {
        &self.soc
    }

    /// The peripherals, to be changed from outside.
    pub fn soc_mut(&mut self) -> &mut Soc {
        &mut self.soc
    }

    /// The memories.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Puts bytes into flash as a debug probe does; says whether they fit.
    #[must_use]
    pub fn load_flash(&mut self, address: u32, bytes: &[u8]) -> bool {
        self.memory.load_flash(address, bytes)
    }

    /// Puts bytes on a serial line to the board.
    pub fn put_serial(&mut self, port: usize, bytes: &[u8]) {
        self.soc.put_serial(self.cpu.now(), port, bytes);
    }

    /// What the board sent on a serial line since the last call.
    pub fn take_serial(&mut self, port: usize) -> Vec<u8> {
        self.soc.take_serial(port)
    }

    /// What the program wrote to a channel of the debug probe since the last call. Channel 0 is the log where the image
    /// has one, and then decoded by [`Board::take_log`].
    pub fn take_probe(&mut self, channel: usize) -> Vec<u8> {
        self.rtt.take(channel)
    }

    /// Plugs the debug probe in, or pulls it out: then nobody empties the program's channels.
    pub fn set_probe(&mut self, is_there: bool) {
        self.has_probe = is_there;
    }

    /// Sends bytes to the program through a channel of the debug probe.
    pub fn send_probe(&mut self, channel: usize, bytes: &[u8]) {
        self.rtt.send(channel, bytes);
        self.rtt.visit(&mut self.memory);
    }

    /// The lines of the log since the last call.
    pub fn take_log(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.lines)
    }

    /// Notes from now on where the instructions go.
    pub fn set_profile(&mut self, profile: Profile) {
        self.profile = Some(profile);
    }

    /// Where they went, function by function with its share in percent; nothing where nobody noted it.
    pub fn profile(&self) -> Vec<(String, f64)> {
        self.profile.as_ref().map(|profile| profile.functions(self.program.image())).unwrap_or_default()
    }

    /// How many instructions its timed answers took.
    pub fn turnaround(&self) -> &Turnaround {
        &self.turnaround
    }

    /// What it has been through.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The most bytes that the stack ever had, and how many there are.
    pub fn stack(&self) -> Option<(u32, u32)> {
        self.stack_limits.map(|(top, bottom)| (self.stack_used, top - bottom))
    }
}
