//! The processor: a Cortex-M4F, that is ARMv7E-M with the single-precision floating-point unit FPv4-SP.
//!
//! Source: the ARMv7-M Architecture Reference Manual (DDI 0403). Assumed model: one instruction takes one cycle, memory
//! answers at once, and interrupts are taken between instructions. `docs/emulator.md` lists what is left out.
//!
//! An instruction is decoded once per address (`decode`) into a compact operation (`op`) and executed from there
//! (`execute`). Whatever keeps it from completing is a `trap`; `exceptions` turns it into an exception of the
//! program, or into the end of the run.

#![expect(clippy::inline_always, reason = "the hot loop is meant to be one function")]

mod bus;
mod code;
mod decode;
mod exceptions;
mod execute;
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

pub use stop::{Stop, Trouble};

use std::rc::Rc;

use crate::io::{Io, Width};
use crate::memory::Memory;
use code::Code;
pub(crate) use code::{Slots, decode_all};
use flags::Flags;
use fpu::Fpu;
use interrupts::Interrupts;
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
#[derive(Default)]
pub struct Cpu {
    now: u64,
    /// How many of the cycles passed without an instruction.
    slept: u64,
    /// The cycle before which instructions follow each other without a look around. Zero asks for that look.
    limit: u64,
    state: State,
    code: Code,
    /// Whether BKPT is a fault of the program instead of the end of the run.
    breakpoints_fault: bool,
    counts: Counts,
    /// What the last [`trap::Trap::Error`] was about.
    error: String,
    last_fault: Option<Box<Trouble>>,
}

/// Everything that a reset clears.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "the hardware has as many single bits")]
struct State {
    /// The core registers; the program counter is apart.
    r: [u32; 16],
    pc: u32,
    flags: Flags,
    /// The state of an IT block, 0 outside.
    it: u8,
    /// Whether the current instruction stands in an IT block.
    in_it: bool,
    /// The number of the exception that is handled, 0 outside.
    exception: u8,
    /// The stack pointer that is not in use: the process stack's, or the main stack's while `uses_process_stack`.
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
    /// The event register: WFE does not wait when it is set.
    event: bool,
    /// The address that the last exclusive load reserved.
    reservation: Option<u32>,
    /// Where an access failed.
    fault_address: u32,
    locked_up: Option<Box<Trouble>>,
    lowest_sp: u32,
}

/// What happened so far, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Exceptions that were entered, chained ones included.
    pub exceptions: u64,
    /// Exceptions that followed another one without restoring the program's registers in between.
    pub tail_chained: u64,
    /// Faults of the program.
    pub faults: u64,
}

impl Cpu {
    /// A processor at cycle 0 that was not yet reset.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over what was decoded from the beginning of flash, which must hold just that.
    pub(crate) fn set_decoded(&mut self, slots: &Slots) {
        self.code.slots = Rc::clone(slots);
    }

    /// Starts the program whose vector table lies at address 0. Time and the counters go on.
    pub fn reset(&mut self, memory: &Memory) {
        self.state = State::default();
        self.limit = 0;
        let vector = |address| memory.read(address, Width::Word).unwrap_or(u32::MAX);
        self.state.r[SP] = vector(0) & !3;
        self.state.r[LR] = u32::MAX;
        self.state.pc = vector(4) & !1;
        self.state.lowest_sp = self.state.r[SP];
    }

    /// Runs until `until_cycle`, or until something needs the caller.
    pub fn run<I: Io + ?Sized>(&mut self, memory: &mut Memory, io: &mut I, until_cycle: u64) -> Stop {
        Core { cpu: self, memory, io }.run(until_cycle)
    }

    /// The current cycle.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Lets time pass without running anything, as in sleep. Time never goes back.
    pub fn advance_to(&mut self, cycle: u64) {
        self.slept += cycle.saturating_sub(self.now);
        self.now = self.now.max(cycle);
    }

    /// How many instructions were executed since the processor was made.
    pub fn instructions(&self) -> u64 {
        self.now - self.slept
    }

    /// What happened since the processor was made.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The last fault of the program, whether it handled it or not.
    pub fn last_fault(&self) -> Option<&Trouble> {
        self.last_fault.as_deref()
    }

    /// Whether the program waits, as far as the last run saw.
    pub fn is_sleeping(&self) -> bool {
        self.state.sleep != Sleep::Awake
    }

    /// The lowest value that the main stack pointer had since the last reset.
    pub fn lowest_stack_pointer(&self) -> u32 {
        self.state.lowest_sp
    }

    /// A core register: 13 is the stack pointer in use, 14 the link register, 15 the address of the next instruction.
    pub fn register(&self, number: usize) -> u32 {
        if number == 15 { self.state.pc } else { self.state.r[number & 15] }
    }

    /// The number of the exception that is being handled, 0 outside.
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

    /// Makes the processor look around before its next instruction: something it depends on may have changed.
    #[inline(always)]
    fn look_around(&mut self) {
        self.limit = 0;
    }

    /// Moves the stack pointer and remembers how far down it went.
    #[inline(always)]
    fn set_sp(&mut self, value: u32) {
        let value = value & !3;
        self.state.r[SP] = value;
        if value < self.state.lowest_sp && !self.state.uses_process_stack {
            self.state.lowest_sp = value;
        }
    }

    /// Exchanges main and process stack, if the other one is in use.
    fn use_process_stack(&mut self, process: bool) {
        if self.state.uses_process_stack != process {
            std::mem::swap(&mut self.state.r[SP], &mut self.state.other_sp);
            self.state.uses_process_stack = process;
        }
    }

    /// Whether the current code has every right.
    fn is_privileged(&self) -> bool {
        self.state.exception != 0 || !self.state.unprivileged
    }

    /// Works out again what the MPU watches; the privilege or its registers may have changed.
    fn settle_mpu(&mut self) {
        let privileged = self.is_privileged();
        self.state.mpu.settle(privileged);
    }
}

/// The processor at work: itself and what it reaches.
struct Core<'a, I: Io + ?Sized> {
    cpu: &'a mut Cpu,
    memory: &'a mut Memory,
    io: &'a mut I,
}
