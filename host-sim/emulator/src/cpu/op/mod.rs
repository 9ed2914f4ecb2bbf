//! Instructions as the executor wants them: decoded once, with everything that depends on the address worked out.
//!
//! A decoded instruction never refers to the program counter as a register. Branch targets, literals and sums with the
//! program counter are constants of the address that it was decoded for.

mod dsp;
pub mod fast;
mod float;

pub use dsp::{Dsp, Lanes, Parallel};
pub use float::{Fp, FpBinary, FpUnary};

/// The number of a core register, 0 to 15, or of a single-precision register, 0 to 31.
pub type Reg = u8;

/// A decoded instruction, its length and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub op: Op,
    /// Bytes: 2 or 4, or 0 where nothing was decoded yet.
    pub size: u8,
    pub cost: Cost,
}

impl Decoded {
    pub const NOT_YET: Self = Self { op: Op::Nop, size: 0, cost: Cost::ONE };
}

use super::cycles::Cost;
use fast::{Constant, Shifted, Triple};

/// Whether an instruction sets the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetFlags {
    No,
    Yes,
    /// Most 16-bit instructions do, unless they stand in an IT block.
    OutsideIt,
}

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    And,
    Bic,
    Orr,
    Orn,
    Eor,
    Mov,
    Mvn,
    Add,
    Adc,
    Sub,
    Sbc,
    Rsb,
    /// From here on, only flags come out.
    Tst,
    Teq,
    Cmp,
    Cmn,
}

/// How a register is shifted on its way into an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Lsl,
    Lsr,
    Asr,
    Ror,
    /// By one, through the carry.
    Rrx,
}

/// What a load or store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    U8,
    I8,
    U16,
    I16,
    U32,
}

/// When the base register of a load or store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    Offset,
    Before,
    After,
}

/// A multiplication with a 64-bit result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongMultiply {
    Smull,
    Umull,
    Smlal,
    Umlal,
    Umaal,
}

/// An operation on one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Clz,
    Rbit,
    Rev,
    Rev16,
    Revsh,
}

/// What part of a register is extended, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extend {
    Sxth,
    Uxth,
    Sxtb16,
    Uxtb16,
    Sxtb,
    Uxtb,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Nop,
    /// A constant without flags: MOVW, MOV.W, ADR.
    SetImm {
        rd: Reg,
        imm: u32,
    },
    SetTop {
        rd: Reg,
        imm: u16,
    },
    CopyReg {
        rd: Reg,
        rm: Reg,
    },
    /// A sum without flags. Differences add a negative number.
    AddImm {
        rd: Reg,
        rn: Reg,
        imm: u32,
    },
    /// ADD and SUB with the stack pointer as destination.
    MoveStack {
        rn: Reg,
        imm: u32,
    },
    CmpImm {
        rn: Reg,
        imm: u32,
    },
    CmpReg {
        rn: Reg,
        rm: Reg,
    },
    /// One of the commonest forms of what follows; see [`fast`].
    And(Triple),
    Orr(Triple),
    Eor(Triple),
    Add(Triple),
    Sub(Triple),
    AndFlags(Triple),
    OrrFlags(Triple),
    EorFlags(Triple),
    MoveFlags(Constant),
    AddFlags(Constant),
    SubFlags(Constant),
    LslFlags(Shifted),
    LsrFlags(Shifted),
    OrrLsl(Shifted),
    OrrLsr(Shifted),
    EorLsl(Shifted),
    EorLsr(Shifted),
    EorRor(Shifted),
    AddLsl(Shifted),
    BranchIfEqual(u32),
    BranchIfNotEqual(u32),
    BranchIfCarry(u32),
    BranchIfNoCarry(u32),
    AluImm {
        op: Alu,
        rd: Reg,
        rn: Reg,
        flags: SetFlags,
        carry: Option<bool>,
        imm: u32,
    },
    AluReg {
        op: Alu,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        flags: SetFlags,
    },
    AluShifted {
        op: Alu,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        flags: SetFlags,
        shift: Shift,
        amount: u8,
    },
    ShiftByReg {
        shift: Shift,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        flags: SetFlags,
    },
    /// BFI, and with `rn` 15 BFC.
    InsertBits {
        rd: Reg,
        rn: Reg,
        lsb: u8,
        width: u8,
    },
    ExtractBits {
        signed: bool,
        rd: Reg,
        rn: Reg,
        lsb: u8,
        width: u8,
    },
    /// With `rn` other than 15, the extended value is added to it.
    Extend {
        kind: Extend,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        rotate: u8,
    },
    Unary {
        op: Unary,
        rd: Reg,
        rm: Reg,
    },
    Multiply {
        rd: Reg,
        rn: Reg,
        rm: Reg,
        flags: SetFlags,
    },
    MultiplyAdd {
        rd: Reg,
        rn: Reg,
        rm: Reg,
        ra: Reg,
        subtract: bool,
    },
    LongMultiply {
        op: LongMultiply,
        low: Reg,
        high: Reg,
        rn: Reg,
        rm: Reg,
    },
    Divide {
        signed: bool,
        rd: Reg,
        rn: Reg,
        rm: Reg,
    },

    LoadWord {
        rt: Reg,
        rn: Reg,
        offset: u32,
    },
    StoreWord {
        rt: Reg,
        rn: Reg,
        offset: u32,
    },
    Load {
        access: Access,
        rt: Reg,
        rn: Reg,
        index: Index,
        offset: u32,
    },
    Store {
        access: Access,
        rt: Reg,
        rn: Reg,
        index: Index,
        offset: u32,
    },
    LoadByReg {
        access: Access,
        rt: Reg,
        rn: Reg,
        rm: Reg,
        shift: u8,
    },
    StoreByReg {
        access: Access,
        rt: Reg,
        rn: Reg,
        rm: Reg,
        shift: u8,
    },
    LoadLiteral {
        access: Access,
        rt: Reg,
        address: u32,
    },
    LoadPair {
        rt: Reg,
        rt2: Reg,
        rn: Reg,
        index: Index,
        offset: u32,
    },
    StorePair {
        rt: Reg,
        rt2: Reg,
        rn: Reg,
        index: Index,
        offset: u32,
    },
    LoadPairLiteral {
        rt: Reg,
        rt2: Reg,
        address: u32,
    },
    LoadMultiple {
        rn: Reg,
        list: u16,
        decrement: bool,
        writeback: bool,
    },
    StoreMultiple {
        rn: Reg,
        list: u16,
        decrement: bool,
        writeback: bool,
    },
    LoadExclusive {
        access: Access,
        rt: Reg,
        rn: Reg,
        offset: u32,
    },
    StoreExclusive {
        access: Access,
        rd: Reg,
        rt: Reg,
        rn: Reg,
        offset: u32,
    },
    ClearExclusive,

    Branch {
        target: u32,
    },
    BranchIf {
        condition: u8,
        target: u32,
    },
    BranchIfZero {
        rn: Reg,
        zero: bool,
        target: u32,
    },
    Call {
        target: u32,
    },
    BranchToReg {
        rm: Reg,
    },
    CallReg {
        rm: Reg,
    },
    /// MOV to the program counter: no change of instruction set, and no return from an exception.
    JumpToReg {
        rm: Reg,
    },
    /// ADD to the program counter, whose value is `base`.
    JumpAdd {
        rm: Reg,
        base: u32,
    },
    TableBranch {
        rn: Reg,
        rm: Reg,
        half: bool,
        next: u32,
    },
    TableBranchHere {
        rm: Reg,
        half: bool,
        next: u32,
    },
    IfThen {
        state: u8,
    },

    Dsp(Dsp),
    Fp(Fp),

    ReadSpecial {
        rd: Reg,
        which: u8,
    },
    WriteSpecial {
        rn: Reg,
        which: u8,
        mask: u8,
    },
    ChangeState {
        disable: bool,
        primask: bool,
        faultmask: bool,
    },
    WaitForEvent,
    WaitForInterrupt,
    SendEvent,
    SupervisorCall,
    Breakpoint,
    /// UDF: an encoding that is promised to stay undefined.
    Undefined,
    /// An instruction for a coprocessor that the chip does not have.
    NoCoprocessor,
    /// An encoding that is unpredictable, undefined or not modelled.
    Unknown {
        bits: u32,
    },
}

const _: () = assert!(size_of::<Decoded>() <= 16, "a decoded instruction fills a quarter of a cache line");
