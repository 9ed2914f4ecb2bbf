//! What instructions cost on a Cortex-M4, in cycles.
//!
//! Source: the processor's Technical Reference Manual (ARM 100166, before that DDI 0439), sections 3.3 and 7.2: the tables
//! of instructions, and the rules for loads and stores that follow each other. What a cost depends on is mostly known when
//! an instruction is decoded: itself, the one behind it, and where it branches to. The rest is added as it is executed:
//! divisions by their operands, taken branches, reads of data from flash, and exceptions. Waiting for instructions is the
//! business of [`super::fetch`]. `docs/emulator.md` has the table.

use super::op::{Alu, Fp, FpBinary, FpUnary, Index, Op, Reg};

/// What an instruction costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cycles {
    /// One cycle, whatever it does and wherever it lies. Exceptions take no time.
    Ideal,
    /// As on the chip. Instructions in flash are cached if the program switches the cache on.
    #[default]
    Cached,
    /// As on the chip, but the cache stays off whatever the program does.
    Uncached,
}

/// Stacking the registers and starting the handler, and the way back.
pub const EXCEPTION_ENTRY: u64 = 12;
pub const EXCEPTION_RETURN: u64 = 12;
/// One handler after another, without unstacking.
pub const TAIL_CHAIN: u64 = 6;
/// Stacking or unstacking sixteen floating-point registers and their status.
pub const FP_FRAME: u64 = 17;
/// A read of data from flash. The cache holds instructions only.
pub const FLASH_DATA: u64 = 2;
/// An access that is not aligned takes two of the bus.
pub const UNALIGNED: u64 = 1;

/// Refilling the pipeline after a branch takes one to three cycles: the sooner the address is known, the fewer.
const REFILL_KNOWN: u8 = 1;
const REFILL_REGISTER: u8 = 2;
const REFILL_LOADED: u8 = 3;

const PC: Reg = 15;
const SP: Reg = 13;

/// The cost of an instruction that was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Without the refill of the pipeline.
    pub cycles: u8,
    /// What the refill takes where the instruction branches.
    pub refill: u8,
}

impl Cost {
    /// Before anybody has looked at what follows an instruction.
    pub const ONE: Self = Self { cycles: 1, refill: 0 };
}

/// The least cost of an instruction at an address, given the one behind it. `is_wide` says whether the instruction at an
/// address takes four bytes.
pub fn cost(op: Op, next: Op, is_wide: impl Fn(u32) -> bool) -> Cost {
    let alone = alone(op);
    let cycles = if let Some(target) = single_load(op) {
        // The address of one access and the data of another share a cycle, unless one needs the other.
        if pipelines(next) && !addresses(next).contains(&Some(target)) { alone - 1 } else { alone }
    } else if result(op).is_some_and(|result| addresses(next).contains(&Some(result))) {
        // An address cannot be had from the arithmetic before it without a cycle in between.
        alone + 1
    } else {
        alone
    };
    Cost { cycles, refill: refill(op, is_wide) }
}

/// What a division takes beyond its two cycles: it ends early, by how many bits the quotient can have.
pub fn division(dividend: u32, divisor: u32) -> u64 {
    if divisor == 0 {
        return 0;
    }
    let quotient_bits = divisor.leading_zeros().saturating_sub(dividend.leading_zeros());
    u64::from(quotient_bits.div_ceil(4)).min(8) + 2 * u64::from(quotient_bits > 0)
}

fn alone(op: Op) -> u8 {
    match op {
        Op::LoadWord { .. }
        | Op::Load { .. }
        | Op::LoadByReg { .. }
        | Op::LoadLiteral { .. }
        // A store with a constant offset leaves its data to a buffer and takes one cycle; one with a register cannot.
        | Op::StoreByReg { .. }
        | Op::LoadExclusive { .. }
        | Op::StoreExclusive { .. }
        | Op::MultiplyAdd { .. }
        | Op::Divide { .. }
        | Op::TableBranch { .. }
        | Op::TableBranchHere { .. }
        | Op::ReadSpecial { .. }
        | Op::WriteSpecial { .. }
        | Op::ChangeState { .. } => 2,
        Op::LoadPair { .. } | Op::StorePair { .. } | Op::LoadPairLiteral { .. } => 3,
        Op::LoadMultiple { list, .. } | Op::StoreMultiple { list, .. } => {
            1 + u8::try_from(list.count_ones()).unwrap_or(16)
        }
        Op::Fp(op) => floating(op),
        _ => 1,
    }
}

fn floating(op: Fp) -> u8 {
    match op {
        Fp::Binary { op: FpBinary::Vdiv, .. } | Fp::Unary { op: FpUnary::Vsqrt, .. } => 14,
        Fp::Binary { op: FpBinary::Vadd | FpBinary::Vsub | FpBinary::Vmul | FpBinary::Vnmul, .. } => 1,
        // Multiplications that accumulate.
        Fp::Binary { .. } => 3,
        Fp::Load { count, .. } | Fp::Store { count, .. } | Fp::LoadLiteral { count, .. } => 1 + count,
        Fp::PairToCore { .. } | Fp::PairFromCore { .. } => 2,
        _ => 1,
    }
}

fn refill(op: Op, is_wide: impl Fn(u32) -> bool) -> u8 {
    match op {
        Op::Branch { target } | Op::BranchIf { target, .. } | Op::BranchIfZero { target, .. } | Op::Call { target } => {
            // A long instruction that crosses a word needs two fetches.
            REFILL_KNOWN + u8::from(!target.is_multiple_of(4) && is_wide(target))
        }
        Op::BranchToReg { .. } | Op::CallReg { .. } | Op::JumpToReg { .. } | Op::JumpAdd { .. } => REFILL_REGISTER,
        _ => REFILL_LOADED,
    }
}

/// The register that a load of one word or less fills, where the next access may begin before it ends. One that moves its base
/// is not pipelined, and neither is one into the program counter.
fn single_load(op: Op) -> Option<Reg> {
    match op {
        Op::LoadWord { rt, .. }
        | Op::Load { rt, index: Index::Offset, .. }
        | Op::LoadByReg { rt, .. }
        | Op::LoadLiteral { rt, .. } => Some(rt).filter(|&rt| rt != PC),
        _ => None,
    }
}

/// Whether an access may begin in the cycle in which the load before it ends. A store with a constant offset takes one cycle
/// as it is.
fn pipelines(op: Op) -> bool {
    single_load(op).is_some() || matches!(op, Op::StoreByReg { .. })
}

/// The registers that the address of an access comes from.
fn addresses(op: Op) -> [Option<Reg>; 2] {
    match op {
        Op::LoadWord { rn, .. }
        | Op::StoreWord { rn, .. }
        | Op::Load { rn, .. }
        | Op::Store { rn, .. }
        | Op::LoadPair { rn, .. }
        | Op::StorePair { rn, .. }
        | Op::LoadMultiple { rn, .. }
        | Op::StoreMultiple { rn, .. }
        | Op::LoadExclusive { rn, .. }
        | Op::StoreExclusive { rn, .. }
        | Op::Fp(Fp::Load { rn, .. } | Fp::Store { rn, .. }) => [Some(rn), None],
        Op::LoadByReg { rn, rm, .. } | Op::StoreByReg { rn, rm, .. } => [Some(rn), Some(rm)],
        _ => [None, None],
    }
}

/// The register that an arithmetic instruction sets.
fn result(op: Op) -> Option<Reg> {
    match op {
        Op::SetImm { rd, .. }
        | Op::SetTop { rd, .. }
        | Op::CopyReg { rd, .. }
        | Op::AddImm { rd, .. }
        | Op::ShiftByReg { rd, .. }
        | Op::InsertBits { rd, .. }
        | Op::ExtractBits { rd, .. }
        | Op::Extend { rd, .. }
        | Op::Unary { rd, .. }
        | Op::Multiply { rd, .. }
        | Op::MultiplyAdd { rd, .. }
        | Op::Divide { rd, .. } => Some(rd),
        Op::AluImm { op, rd, .. } | Op::AluReg { op, rd, .. } | Op::AluShifted { op, rd, .. } => {
            Some(rd).filter(|_| !matches!(op, Alu::Tst | Alu::Teq | Alu::Cmp | Alu::Cmn))
        }
        Op::MoveStack { .. } => Some(SP),
        _ => None,
    }
}
