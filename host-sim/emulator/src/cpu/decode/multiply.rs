//! 32-bit instructions on registers: shifts, extensions, parallel arithmetic, and multiplications.

use super::{bit, byte, field, reg};
use crate::cpu::op::{Dsp, Extend, Lanes, LongMultiply, Op, Parallel, Reg, SetFlags, Shift, Unary};

const PC: Reg = 15;

/// Data processing on registers alone.
pub(super) fn registers(bits: u32) -> Option<Op> {
    let (rd, rn, rm) = (reg(bits, 8), reg(bits, 16), reg(bits, 0));
    let kind = field(bits, 20, 4);
    // Only an extension may do without its second register.
    let is_extension = kind < 6 && bit(bits, 7);
    if field(bits, 12, 4) != 0b1111 || rd == PC || rm == PC || rn == PC && !is_extension {
        return None;
    }
    match field(bits, 4, 4) {
        0 if kind < 8 => {
            let shift = [Shift::Lsl, Shift::Lsr, Shift::Asr, Shift::Ror][(kind >> 1) as usize];
            let flags = if bit(bits, 20) { SetFlags::Yes } else { SetFlags::No };
            Some(Op::ShiftByReg { shift, rd, rn, rm, flags })
        }
        8..=11 if kind < 6 => {
            let kinds = [Extend::Sxth, Extend::Uxth, Extend::Sxtb16, Extend::Uxtb16, Extend::Sxtb, Extend::Uxtb];
            let rotate = byte(8 * field(bits, 4, 2));
            Some(Op::Extend { kind: kinds[kind as usize], rd, rn, rm, rotate })
        }
        number @ 0..=7 if kind >= 8 => {
            parallel(kind, number).map(|(op, lanes, signed)| Op::Dsp(Dsp::Parallel { op, lanes, signed, rd, rn, rm }))
        }
        number @ 8..=11 => miscellaneous(bits, kind, number),
        _ => None,
    }
}

fn parallel(kind: u32, number: u32) -> Option<(Parallel, Lanes, bool)> {
    let op = match kind {
        0b1001 => Parallel::Add16,
        0b1010 => Parallel::Asx,
        0b1110 => Parallel::Sax,
        0b1101 => Parallel::Sub16,
        0b1000 => Parallel::Add8,
        0b1100 => Parallel::Sub8,
        _ => return None,
    };
    let lanes = match number & 3 {
        0 => Lanes::Modulo,
        1 => Lanes::Saturate,
        2 => Lanes::Halve,
        _ => return None,
    };
    Some((op, lanes, number < 4))
}

fn miscellaneous(bits: u32, kind: u32, number: u32) -> Option<Op> {
    let (rd, rn, rm) = (reg(bits, 8), reg(bits, 16), reg(bits, 0));
    let unary = |op| (rn == rm).then_some(Op::Unary { op, rd, rm });
    match (kind, number) {
        (8, _) => Some(Op::Dsp(Dsp::SaturatingAdd { double: bit(bits, 4), subtract: bit(bits, 5), rd, rn, rm })),
        (9, 8) => unary(Unary::Rev),
        (9, 9) => unary(Unary::Rev16),
        (9, 10) => unary(Unary::Rbit),
        (9, 11) => unary(Unary::Revsh),
        (10, 8) => Some(Op::Dsp(Dsp::Select { rd, rn, rm })),
        (11, 8) => unary(Unary::Clz),
        _ => None,
    }
}

/// Multiplications with a 32-bit result.
pub(super) fn short(bits: u32) -> Option<Op> {
    let (rd, rn, rm, ra) = (reg(bits, 8), reg(bits, 16), reg(bits, 0), reg(bits, 12));
    let (high, low) = (bit(bits, 5), bit(bits, 4));
    if field(bits, 6, 2) != 0 || rd == PC || rn == PC || rm == PC {
        return None;
    }
    let dsp = match (field(bits, 20, 3), high) {
        (0, false) => {
            return Some(match (low, ra) {
                (false, 15) => Op::Multiply { rd, rn, rm, flags: SetFlags::No },
                (subtract, ra) => Op::MultiplyAdd { rd, rn, rm, ra, subtract },
            });
        }
        (1, _) => Dsp::MultiplyHalves { n_top: high, m_top: low, rd, rn, rm, ra },
        (2, false) => Dsp::MultiplyDual { subtract: false, exchange: low, rd, rn, rm, ra },
        (3, false) => Dsp::MultiplyWordHalf { m_top: low, rd, rn, rm, ra },
        (4, false) => Dsp::MultiplyDual { subtract: true, exchange: low, rd, rn, rm, ra },
        (5, false) => Dsp::MultiplyTop { subtract: false, round: low, rd, rn, rm, ra },
        (6, false) if ra != 15 => Dsp::MultiplyTop { subtract: true, round: low, rd, rn, rm, ra },
        (7, false) if !low => Dsp::SumOfDifferences { rd, rn, rm, ra },
        _ => return None,
    };
    Some(Op::Dsp(dsp))
}

/// Multiplications with a 64-bit result, and divisions.
pub(super) fn long(bits: u32) -> Option<Op> {
    let (high, low, rn, rm) = (reg(bits, 8), reg(bits, 12), reg(bits, 16), reg(bits, 0));
    // A division has no lower register, and all ones in its place.
    let is_division = matches!(field(bits, 20, 3), 1 | 3);
    if high == PC || rn == PC || rm == PC || (low == PC) != is_division {
        return None;
    }
    let multiply = |op| Some(Op::LongMultiply { op, low, high, rn, rm });
    let (n_top, m_top) = (bit(bits, 5), bit(bits, 4));
    match (field(bits, 20, 3), field(bits, 4, 4)) {
        (0, 0) => multiply(LongMultiply::Smull),
        (2, 0) => multiply(LongMultiply::Umull),
        (4, 0) => multiply(LongMultiply::Smlal),
        (6, 0) => multiply(LongMultiply::Umlal),
        (6, 6) => multiply(LongMultiply::Umaal),
        (kind @ (1 | 3), 15) => Some(Op::Divide { signed: kind == 1, rd: high, rn, rm }),
        (4, 8..=11) => Some(Op::Dsp(Dsp::LongMultiplyHalves { n_top, m_top, low, high, rn, rm })),
        (kind @ (4 | 5), 12 | 13) => {
            Some(Op::Dsp(Dsp::LongMultiplyDual { subtract: kind == 5, exchange: m_top, low, high, rn, rm }))
        }
        _ => None,
    }
}
