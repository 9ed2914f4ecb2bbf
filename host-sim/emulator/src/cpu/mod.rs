//! The processor: a Cortex-M4F, that is ARMv7E-M with the single-precision floating-point unit FPv4-SP.
//!
//! Source: the ARMv7-M Architecture Reference Manual (DDI 0403), and the Technical Reference Manual of the Cortex-M4 for what
//! instructions cost (`cycles`, `fetch`). Assumed model: an instruction takes effect when it begins, and interrupts are
//! taken between instructions. `docs/emulator.md` lists what is left out.
//!
//! An instruction is decoded once per address (`decode`) into a compact operation (`op`) and executed from there
//! (`execute`). Whatever keeps it from completing is a `trap`; `exceptions` turns it into an exception of the
//! program, or into the end of the run.

#![expect(clippy::inline_always, reason = "the hot loop is meant to be one function")]

mod bus;
mod code;
mod cycles;
mod decode;
mod exceptions;
mod execute;
mod fetch;
mod flags;
mod fpu;
mod interrupts;
mod mpu;
mod op;
mod run;
mod stop;
mod system;
mod systick;
mod trap;

#[cfg(test)]
mod tests;

pub use cycles::Cycles;
pub use stop::{Stop, Trouble};

use std::sync::Arc;

use crate::io::{Io, Width};
use crate::memory::Memory;
use code::Code;
pub(crate) use code::{Slots, decode_all};
use fetch::{Fetch, Source};
use flags::Flags;
use fpu::Fpu;
use interrupts::{FIRST_INTERRUPT, Interrupts};
use mpu::Mpu;
use system::System;
use systick::SysTick;

const SP: usize = 13;
const LR: usize = 14;

/// What the processor waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sleep {
    #[default]
    Awake,
    /// After WFE.
    ForEvent,
    /// After WFI, or after the last handler where the program asked for that.
    ForInterrupt,
}

/// A processor with its registers, interrupt controller and system control block.
#[derive(Clone, Default)]
pub struct Cpu {
    now: u64,
    /// The cycles that passed in sleep, and while flash was written.
    slept: u64,
    /// What is left of the last instruction where it takes longer than the run was to last. The next run begins with it.
    left: u64,
    instructions: u64,
    cycles: Cycles,
    fetch: Fetch,
    /// Instructions follow each other without a check until this cycle. Zero requests a check.
    limit: u64,
    state: State,
    code: Code,
    /// Whether BKPT is a fault of the program instead of ending the run.
    breakpoints_fault: bool,
    counts: Counts,
    /// The text of the last [`trap::Trap::Error`].
    error: String,
    last_fault: Option<Box<Trouble>>,
}

/// Everything that a reset clears.
#[derive(Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the hardware has as many single bits")]
struct State {
    /// The core registers except the program counter.
    r: [u32; 16],
    pc: u32,
    flags: Flags,
    /// The state of the IT block, 0 outside one.
    it: u8,
    /// Whether the current instruction is in an IT block.
    in_it: bool,
    /// The number of the exception that is being handled, 0 in thread mode.
    exception: u8,
    /// The stack pointer that is not in use.
    other_sp: u32,
    uses_process_stack: bool,
    unprivileged: bool,
    fpu: Fpu,
    /// Whether the program has floating-point state that an exception must save.
    has_fp_context: bool,
    interrupts: Interrupts,
    systick: SysTick,
    mpu: Mpu,
    system: System,
    sleep: Sleep,
    /// The event register: while it is set, WFE does not wait.
    event: bool,
    /// The address that the last exclusive load reserved.
    reservation: Option<u32>,
    /// The address of the last access that failed.
    fault_address: u32,
    locked_up: Option<Box<Trouble>>,
    lowest_sp: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Exceptions entered, tail-chained ones included.
    pub exceptions: u64,
    /// Exceptions that followed another without unstacking in between.
    pub tail_chained: u64,
    pub faults: u64,
}

impl Cpu {
    /// A processor at cycle 0 that has not been reset yet.
    pub fn new(cycles: Cycles) -> Self {
        Self { cycles, ..Self::default() }
    }

    /// Takes over instructions decoded from the beginning of flash. Flash must hold exactly those.
    pub(crate) fn set_decoded(&mut self, slots: &Slots) {
        self.code.slots = Arc::clone(slots);
    }

    /// Starts the program whose vector table lies at address 0. Time and the counters go on.
    pub fn reset(&mut self, memory: &Memory) {
        self.state = State::default();
        (self.limit, self.left) = (0, 0);
        let vector = |address| memory.read(address, Width::Word).unwrap_or(u32::MAX);
        self.state.r[SP] = vector(0) & !3;
        self.state.r[LR] = u32::MAX;
        self.state.pc = vector(4) & !1;
        self.state.lowest_sp = self.state.r[SP];
    }

    /// Runs until `until_cycle`, or until the caller has to act. Time never gets beyond that: an instruction that takes longer
    /// ends in the next run.
    pub fn run<I: Io + ?Sized>(&mut self, memory: &mut Memory, io: &mut I, until_cycle: u64) -> Stop {
        self.now += std::mem::take(&mut self.left);
        let stop = Core { cpu: self, memory, io }.run(until_cycle);
        self.left = self.now.saturating_sub(until_cycle);
        self.now -= self.left;
        stop
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    /// Lets time pass without running anything, as in sleep. Time never goes back.
    pub fn advance_to(&mut self, cycle: u64) {
        self.slept += cycle.saturating_sub(self.now);
        self.now = self.now.max(cycle);
    }

    /// Instructions executed since [`Cpu::new`].
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Cycles since [`Cpu::new`] in which the processor was awake.
    pub fn awake(&self) -> u64 {
        self.now - self.slept
    }

    /// Since [`Cpu::new`].
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The last fault of the program, handled or not.
    pub fn last_fault(&self) -> Option<&Trouble> {
        self.last_fault.as_deref()
    }

    /// Whether the program was waiting when the last run ended.
    pub fn is_sleeping(&self) -> bool {
        self.state.sleep != Sleep::Awake
    }

    /// The lowest main stack pointer since the last reset.
    pub fn lowest_stack_pointer(&self) -> u32 {
        self.state.lowest_sp
    }

    /// Whether the interrupt of the floating-point unit is pending.
    pub fn is_fpu_pending(&self) -> bool {
        self.state.interrupts.pending >> (FIRST_INTERRUPT + fpu::INTERRUPT) & 1 == 1
    }

    /// A core register: 13 is the stack pointer in use, 14 the link register, 15 the address of the next instruction.
    pub fn register(&self, number: usize) -> u32 {
        if number == 15 { self.state.pc } else { self.state.r[number & 15] }
    }

    /// The number of the exception that is being handled, 0 in thread mode.
    pub fn exception(&self) -> u8 {
        self.state.exception
    }

    /// Lets BKPT cause a fault of the program, as on a board without a debug probe. By default it stops the run.
    pub fn set_breakpoints_fault(&mut self, fault: bool) {
        self.breakpoints_fault = fault;
    }

    /// The program status register.
    fn psr(&self) -> u32 {
        let state = &self.state;
        let it = u32::from(state.it);
        state.flags.apsr() | (it & 3) << 25 | 1 << 24 | (it & 0xFC) << 8 | u32::from(state.exception)
    }

    /// Asks for a check before the next instruction: something that it depends on may have changed.
    #[inline(always)]
    fn request_check(&mut self) {
        self.limit = 0;
    }

    /// Lets the current instruction or exception take longer.
    #[inline(always)]
    fn charge(&mut self, cycles: u64) {
        if self.fetch.source != Source::Ideal {
            self.now += cycles;
        }
    }

    /// Sets the stack pointer and tracks its lowest value.
    #[inline(always)]
    fn set_sp(&mut self, value: u32) {
        let value = value & !3;
        self.state.r[SP] = value;
        if value < self.state.lowest_sp && !self.state.uses_process_stack {
            self.state.lowest_sp = value;
        }
    }

    /// Switches to the main or process stack.
    fn use_process_stack(&mut self, process: bool) {
        if self.state.uses_process_stack != process {
            std::mem::swap(&mut self.state.r[SP], &mut self.state.other_sp);
            self.state.uses_process_stack = process;
        }
    }

    fn is_privileged(&self) -> bool {
        self.state.exception != 0 || !self.state.unprivileged
    }

    /// To be called when the privilege or the registers of the MPU may have changed.
    fn update_mpu(&mut self) {
        let privileged = self.is_privileged();
        self.state.mpu.update_checked(privileged);
    }
}

/// The processor together with everything that it accesses while it runs.
struct Core<'a, I: Io + ?Sized> {
    cpu: &'a mut Cpu,
    memory: &'a mut Memory,
    io: &'a mut I,
}
