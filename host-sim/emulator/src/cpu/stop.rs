//! Why the processor stopped.

use std::fmt;

/// Why [`run`](super::Cpu::run) returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The requested cycle is reached.
    TimeReached,
    /// The processor waits for an interrupt or an event. The caller lets time pass with
    /// [`advance_to`](super::Cpu::advance_to) until something may have changed, and runs it again.
    Sleeping,
    /// The peripherals need the caller to act first; see [`Io::wants_stop`](crate::io::Io::wants_stop).
    Io,
    /// The program requested a reset through AIRCR. The caller resets the peripherals and then the processor.
    SystemReset,
    /// A BKPT instruction; the program counter still points at it.
    Breakpoint { pc: u32 },
    /// A fault occurred while a fault was being handled. Only a reset helps.
    LockedUp(Box<Trouble>),
    /// The program did something that the emulator does not model. The run cannot continue.
    Error(Box<Trouble>),
}

/// What went wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The address of the instruction.
    pub pc: u32,
    /// The instruction as the emulator understood it.
    pub instruction: String,
    /// The link register: usually the return address in the caller.
    pub lr: u32,
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
