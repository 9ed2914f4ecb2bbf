//! The seam between the processor and the peripherals around it.
//!
//! Time is counted in cycles of the 64 MHz processor clock.

use std::fmt;

pub const CYCLES_PER_US: u64 = 64;

/// How many bytes an access moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Byte,
    Half,
    Word,
}

/// An access to something that does not exist or is not modelled. It ends the run: an emulator that guesses is worse than
/// none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusError {
    pub address: u32,
    /// What lies there and why the access cannot be served, for people: "RADIO, register 0x6A0 is not modelled".
    pub what: String,
}

impl fmt::Display for BusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "access to {:#010x}: {}", self.address, self.what)
    }
}

impl std::error::Error for BusError {}

/// Everything that the processor accesses outside flash, RAM and its own system registers.
pub trait Io {
    /// Reads a register at cycle `now`.
    fn read(&mut self, now: u64, address: u32, width: Width) -> Result<u32, BusError>;

    /// Writes a register at cycle `now`.
    ///
    /// A store to flash comes here, too, because only the flash controller knows whether it is allowed. After `Ok` the
    /// processor stops before its next instruction, until the controller has cleared the bits in memory.
    fn write(&mut self, now: u64, address: u32, width: Width, value: u32) -> Result<(), BusError>;

    /// The interrupt lines that are high, one bit per interrupt. The processor samples them after every access and whenever
    /// the caller has let time pass.
    fn interrupt_lines(&self) -> u64;

    /// Whether the processor must stop before its next instruction, because somebody outside has to act first: the air on
    /// what the radio did, or the caller on what has come due.
    fn wants_stop(&self) -> bool;

    /// Whether the cache for instructions in flash is on. It can only change with a write to a register.
    fn caches_instructions(&self) -> bool {
        false
    }
}

/// No peripherals at all: a processor and its memory.
#[derive(Clone, Copy, Debug)]
pub struct NoIo;

impl Io for NoIo {
    fn read(&mut self, _: u64, address: u32, _: Width) -> Result<u32, BusError> {
        Err(BusError { address, what: "there are no peripherals".to_owned() })
    }

    fn write(&mut self, _: u64, address: u32, _: Width, _: u32) -> Result<(), BusError> {
        Err(BusError { address, what: "there are no peripherals".to_owned() })
    }

    fn interrupt_lines(&self) -> u64 {
        0
    }

    fn wants_stop(&self) -> bool {
        false
    }
}
