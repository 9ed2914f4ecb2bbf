//! Why the processor stopped, and what it says about it.

use std::fmt;

/// Why [`run`](super::Cpu::run) returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time asked for is reached.
    TimeReached,
    /// The processor waits for an interrupt or an event. The caller lets time pass until something may have changed, see
    /// [`advance_to`](super::Cpu::advance_to), and runs it again.
    Sleeping,
    /// The peripherals want somebody outside to act first.
    Io,
    /// The program asked for a reset through AIRCR. The caller resets the peripherals and then the processor.
    SystemReset,
    /// A BKPT instruction; the program counter still points at it.
    Breakpoint {
        /// Where.
        pc: u32,
    },
    /// A fault while a fault was handled. Only a reset helps.
    LockedUp(Box<Trouble>),
    /// The program did something that the emulator does not model. The run cannot go on.
    Error(Box<Trouble>),
}

/// What went wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The instruction that did it.
    pub pc: u32,
    /// The instruction as the emulator understood it.
    pub instruction: String,
    /// The link register: mostly the place in the caller.
    pub lr: u32,
    /// The stack pointer.
    pub sp: u32,
    /// What happened, for people.
    pub what: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pc, instruction, lr, sp, what } = self;
        write!(f, "at {pc:#010x} ({instruction}; lr {lr:#010x}, sp {sp:#010x}): {what}")
    }
}

impl std::error::Error for Trouble {}
