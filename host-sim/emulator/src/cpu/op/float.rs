//! Operations of the floating-point unit.

use super::Reg;

/// A floating-point operation on two registers, and on the destination where it accumulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FpBinary {
    Vadd,
    Vsub,
    Vmul,
    Vnmul,
    Vdiv,
    Vmla,
    Vmls,
    Vnmla,
    Vnmls,
    Vfma,
    Vfms,
    Vfnma,
    Vfnms,
}

/// A floating-point operation on one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FpUnary {
    Vmov,
    Vabs,
    Vneg,
    Vsqrt,
}

/// Instructions of the floating-point unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fp {
    Binary {
        op: FpBinary,
        sd: Reg,
        sn: Reg,
        sm: Reg,
    },
    Unary {
        op: FpUnary,
        sd: Reg,
        sm: Reg,
    },
    Constant {
        sd: Reg,
        bits: u32,
    },
    Compare {
        sd: Reg,
        sm: Reg,
        signal: bool,
    },
    CompareZero {
        sd: Reg,
        signal: bool,
    },
    FromInteger {
        sd: Reg,
        sm: Reg,
        signed: bool,
    },
    ToInteger {
        sd: Reg,
        sm: Reg,
        signed: bool,
        toward_zero: bool,
    },
    FromFixed {
        sd: Reg,
        signed: bool,
        wide: bool,
        fraction: u8,
    },
    ToFixed {
        sd: Reg,
        signed: bool,
        wide: bool,
        fraction: u8,
    },
    FromHalf {
        sd: Reg,
        sm: Reg,
        top: bool,
    },
    ToHalf {
        sd: Reg,
        sm: Reg,
        top: bool,
    },
    /// Loads `count` registers from `rn + start` on; `rn` then moves by `writeback`.
    Load {
        first: Reg,
        count: u8,
        rn: Reg,
        start: i16,
        writeback: i16,
    },
    /// Stores likewise.
    Store {
        first: Reg,
        count: u8,
        rn: Reg,
        start: i16,
        writeback: i16,
    },
    LoadLiteral {
        first: Reg,
        count: u8,
        address: u32,
    },
    ToCore {
        rt: Reg,
        sn: Reg,
    },
    FromCore {
        rt: Reg,
        sn: Reg,
    },
    PairToCore {
        rt: Reg,
        rt2: Reg,
        sm: Reg,
    },
    PairFromCore {
        rt: Reg,
        rt2: Reg,
        sm: Reg,
    },
    /// With `rt` 15, the comparison flags go to the processor's.
    ReadStatus {
        rt: Reg,
    },
    WriteStatus {
        rt: Reg,
    },
}
