//! What keeps an instruction from completing.

/// Why an instruction did not complete. Small, because every instruction may return it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// An exception that the program may handle.
    Fault(Fault),
    SupervisorCall,
    Breakpoint,
    /// Something not modelled; the text is kept in the processor.
    Error,
}

/// What an instruction returns.
pub type Run<T = ()> = Result<T, Trap>;

/// The faults, named for the bits of the Configurable Fault Status Register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    FetchViolation,
    DataViolation,
    UnstackViolation,
    StackViolation,
    FetchBusError,
    DataBusError,
    UnstackBusError,
    StackBusError,
    Undefined,
    InvalidState,
    InvalidReturn,
    NoCoprocessor,
    Unaligned,
    DivideByZero,
    /// A BKPT that nobody waits for; it has a bit of the Hard Fault Status Register.
    DebugEvent,
}

impl Fault {
    /// Its bit in CFSR.
    pub fn status(self) -> u32 {
        let bit = match self {
            Self::FetchViolation => 0,
            Self::DataViolation => 1,
            Self::UnstackViolation => 3,
            Self::StackViolation => 4,
            Self::FetchBusError => 8,
            Self::DataBusError => 9,
            Self::UnstackBusError => 11,
            Self::StackBusError => 12,
            Self::Undefined => 16,
            Self::InvalidState => 17,
            Self::InvalidReturn => 18,
            Self::NoCoprocessor => 19,
            Self::Unaligned => 24,
            Self::DivideByZero => 25,
            Self::DebugEvent => return 0,
        };
        1 << bit
    }

    /// The exception that handles it, where that is enabled.
    pub fn exception(self) -> u8 {
        match self {
            Self::FetchViolation | Self::DataViolation | Self::UnstackViolation | Self::StackViolation => 4,
            Self::FetchBusError | Self::DataBusError | Self::UnstackBusError | Self::StackBusError => 5,
            Self::DebugEvent => 3,
            _ => 6,
        }
    }

    /// The same fault, met while an exception's frame was stacked.
    pub fn while_stacking(self) -> Self {
        if self.exception() == 4 { Self::StackViolation } else { Self::StackBusError }
    }

    /// The same fault, met while an exception's frame was unstacked.
    pub fn while_unstacking(self) -> Self {
        if self.exception() == 4 { Self::UnstackViolation } else { Self::UnstackBusError }
    }

    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::FetchViolation => "the MPU forbids executing here",
            Self::DataViolation => "the MPU forbids the access",
            Self::UnstackViolation => "the MPU forbids unstacking an exception's frame",
            Self::StackViolation => "the MPU forbids stacking an exception's frame",
            Self::FetchBusError => "there is nothing to execute here",
            Self::DataBusError => "there is nothing at the address",
            Self::UnstackBusError => "there is nothing where an exception's frame should be unstacked",
            Self::StackBusError => "there is nothing where an exception's frame should be stacked",
            Self::Undefined => "an undefined instruction",
            Self::InvalidState => "a jump to an even address, which means another instruction set",
            Self::InvalidReturn => "an exception return that does not fit the state",
            Self::NoCoprocessor => "a coprocessor or floating-point unit that is missing or switched off",
            Self::Unaligned => "an unaligned address",
            Self::DivideByZero => "a division by zero",
            Self::DebugEvent => "a breakpoint without a debugger",
        }
    }
}
