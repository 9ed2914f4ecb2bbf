//! The commonest forms of instructions, each with an operation of its own.
//!
//! [`Op::AluReg`] and its like decide three times when they are executed: which operation, whether with flags, which shift.
//! What a cipher and a loop consist of is decided here, once, when it is decoded.

use super::{Alu, Op, Reg, SetFlags, Shift};

/// Two registers and where the result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triple {
    pub rd: Reg,
    pub rn: Reg,
    pub rm: Reg,
}

/// The same with the second one shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shifted {
    pub rd: Reg,
    pub rn: Reg,
    pub rm: Reg,
    pub amount: u8,
}

/// A register, a constant, and where the result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    pub rd: Reg,
    pub rn: Reg,
    pub imm: u32,
}

/// The operation to execute for one that was decoded: itself, or a form of its own that does the same.
pub fn fast(op: Op) -> Op {
    let own = match op {
        Op::AluReg { op: alu, rd, rn, rm, flags } => register(alu, flags, Triple { rd, rn, rm }),
        // A carry of its own comes with constants that were rotated, and those are rare.
        Op::AluImm { op: alu, rd, rn, flags: SetFlags::OutsideIt, carry: None, imm } => {
            let constant = Constant { rd, rn, imm };
            match alu {
                Alu::Mov => Some(Op::MoveFlags(constant)),
                Alu::Add => Some(Op::AddFlags(constant)),
                Alu::Sub => Some(Op::SubFlags(constant)),
                _ => None,
            }
        }
        Op::AluShifted { op: alu, rd, rn, rm, flags, shift, amount: amount @ 1..=31 } => {
            shifted(alu, flags, shift, Shifted { rd, rn, rm, amount })
        }
        Op::BranchIf { condition, target } => match condition {
            0 => Some(Op::BranchIfEqual(target)),
            1 => Some(Op::BranchIfNotEqual(target)),
            2 => Some(Op::BranchIfCarry(target)),
            3 => Some(Op::BranchIfNoCarry(target)),
            _ => None,
        },
        _ => None,
    };
    own.unwrap_or(op)
}

fn register(alu: Alu, flags: SetFlags, of: Triple) -> Option<Op> {
    Some(match (alu, flags) {
        (Alu::And, SetFlags::No) => Op::And(of),
        (Alu::Orr, SetFlags::No) => Op::Orr(of),
        (Alu::Eor, SetFlags::No) => Op::Eor(of),
        (Alu::Add, SetFlags::No) => Op::Add(of),
        (Alu::Sub, SetFlags::No) => Op::Sub(of),
        (Alu::And, SetFlags::OutsideIt) => Op::AndFlags(of),
        (Alu::Orr, SetFlags::OutsideIt) => Op::OrrFlags(of),
        (Alu::Eor, SetFlags::OutsideIt) => Op::EorFlags(of),
        _ => return None,
    })
}

fn shifted(alu: Alu, flags: SetFlags, shift: Shift, of: Shifted) -> Option<Op> {
    Some(match (alu, flags, shift) {
        (Alu::Mov, SetFlags::OutsideIt, Shift::Lsl) => Op::LslFlags(of),
        (Alu::Mov, SetFlags::OutsideIt, Shift::Lsr) => Op::LsrFlags(of),
        (Alu::Orr, SetFlags::No, Shift::Lsl) => Op::OrrLsl(of),
        (Alu::Orr, SetFlags::No, Shift::Lsr) => Op::OrrLsr(of),
        (Alu::Eor, SetFlags::No, Shift::Lsl) => Op::EorLsl(of),
        (Alu::Eor, SetFlags::No, Shift::Lsr) => Op::EorLsr(of),
        (Alu::Eor, SetFlags::No, Shift::Ror) => Op::EorRor(of),
        (Alu::Add, SetFlags::No, Shift::Lsl) => Op::AddLsl(of),
        _ => return None,
    })
}
