//! Instructions of the floating-point unit. FPv4-SP computes in single precision alone; doubles are only moved.

use super::{bit, byte, field, reg};
use crate::cpu::op::{Fp, FpBinary, FpUnary, Reg};

const PC: Reg = 15;

pub(super) fn decode(address: u32, bits: u32) -> Option<Fp> {
    match field(bits, 24, 8) {
        0xEC | 0xED => transfer(address, bits),
        0xEE if bit(bits, 4) => core_transfer(bits),
        0xEE if !bit(bits, 8) => arithmetic(bits),
        _ => None,
    }
}

/// The number of a single-precision register: four bits and, below them, one that stands elsewhere.
fn single(bits: u32, four: u32, one: u32) -> Reg {
    byte(field(bits, four, 4) << 1 | field(bits, one, 1))
}

/// The first half of a double-precision register: there are 16.
fn double(bits: u32, four: u32, one: u32) -> Option<Reg> {
    (!bit(bits, one)).then_some(byte(field(bits, four, 4) << 1))
}

fn transfer(address: u32, bits: u32) -> Option<Fp> {
    let (before, add, writeback, load) = (bit(bits, 24), bit(bits, 23), bit(bits, 21), bit(bits, 20));
    let is_double = bit(bits, 8);
    let rn = reg(bits, 16);
    if !before && !add && !writeback {
        return pair(bits, is_double, load);
    }
    let first = if is_double { double(bits, 12, 22)? } else { single(bits, 12, 22) };
    let words = i16::try_from(field(bits, 0, 8)).ok()?;
    let bytes = 4 * words;
    let distance = if add { bytes } else { -bytes };
    if before && !writeback {
        let count = if is_double { 2 } else { 1 };
        if rn == PC {
            let address = (address.wrapping_add(4) & !3).wrapping_add_signed(i32::from(distance));
            return load.then_some(Fp::LoadLiteral { first, count, address });
        }
        return Some(if load {
            Fp::Load { first, count, rn, start: distance, writeback: 0 }
        } else {
            Fp::Store { first, count, rn, start: distance, writeback: 0 }
        });
    }
    // Up and after, or down and before; the other two do not exist.
    if before == add || rn == PC {
        return None;
    }
    // An odd number of words for doubles is an old format for saving registers: the odd one is not moved.
    let count = byte(field(bits, 0, 8)) & if is_double { !1 } else { !0 };
    if count == 0 || count > 32 - first {
        return None;
    }
    let start = if add { 0 } else { -bytes };
    let writeback = if writeback { distance } else { 0 };
    Some(if load {
        Fp::Load { first, count, rn, start, writeback }
    } else {
        Fp::Store { first, count, rn, start, writeback }
    })
}

/// Two core registers to or from two single-precision ones, or one double.
fn pair(bits: u32, is_double: bool, load: bool) -> Option<Fp> {
    if !bit(bits, 22) || field(bits, 4, 4) & 0b1101 != 1 {
        return None;
    }
    let sm = if is_double { double(bits, 0, 5)? } else { single(bits, 0, 5) };
    let (rt, rt2) = (reg(bits, 12), reg(bits, 16));
    if sm > 30 || rt == PC || rt2 == PC {
        return None;
    }
    Some(if load { Fp::PairToCore { rt, rt2, sm } } else { Fp::PairFromCore { rt, rt2, sm } })
}

fn core_transfer(bits: u32) -> Option<Fp> {
    let rt = reg(bits, 12);
    let to_core = bit(bits, 20);
    if bit(bits, 8) {
        // One half of a double.
        let half = double(bits, 16, 7)? + byte(field(bits, 21, 1));
        if bit(bits, 22) || bit(bits, 23) || field(bits, 5, 2) != 0 || rt == PC {
            return None;
        }
        return Some(if to_core { Fp::ToCore { rt, sn: half } } else { Fp::FromCore { rt, sn: half } });
    }
    let sn = single(bits, 16, 7);
    match (field(bits, 21, 3), to_core) {
        (0, _) if rt == PC => None,
        (0, true) => Some(Fp::ToCore { rt, sn }),
        (0, false) => Some(Fp::FromCore { rt, sn }),
        (7, true) if reg(bits, 16) == 1 => Some(Fp::ReadStatus { rt }),
        (7, false) if reg(bits, 16) == 1 && rt != PC => Some(Fp::WriteStatus { rt }),
        _ => None,
    }
}

fn arithmetic(bits: u32) -> Option<Fp> {
    let (sd, sn, sm) = (single(bits, 12, 22), single(bits, 16, 7), single(bits, 0, 5));
    let op = match (field(bits, 20, 4) & 0b1011, bit(bits, 6)) {
        (0, false) => FpBinary::Vmla,
        (0, true) => FpBinary::Vmls,
        (1, false) => FpBinary::Vnmls,
        (1, true) => FpBinary::Vnmla,
        (2, false) => FpBinary::Vmul,
        (2, true) => FpBinary::Vnmul,
        (3, false) => FpBinary::Vadd,
        (3, true) => FpBinary::Vsub,
        (8, false) => FpBinary::Vdiv,
        (9, false) => FpBinary::Vfnms,
        (9, true) => FpBinary::Vfnma,
        (10, false) => FpBinary::Vfma,
        (10, true) => FpBinary::Vfms,
        (11, false) => {
            let bits = expand_constant(field(bits, 16, 4) << 4 | field(bits, 0, 4));
            return Some(Fp::Constant { sd, bits });
        }
        (11, true) => return other(bits, sd, sm),
        _ => return None,
    };
    Some(Fp::Binary { op, sd, sn, sm })
}

/// The constant that eight bits of VMOV stand for.
fn expand_constant(number: u32) -> u32 {
    let exponent = if bit(number, 6) { 0b01_1111 } else { 0b10_0000 };
    field(number, 7, 1) << 31 | exponent << 25 | field(number, 0, 6) << 19
}

fn other(bits: u32, sd: Reg, sm: Reg) -> Option<Fp> {
    let high = bit(bits, 7);
    let unary = |op| Some(Fp::Unary { op, sd, sm });
    let opcode = field(bits, 16, 4);
    match opcode {
        0 if high => unary(FpUnary::Vabs),
        0 => unary(FpUnary::Vmov),
        1 if high => unary(FpUnary::Vsqrt),
        1 => unary(FpUnary::Vneg),
        2 => Some(Fp::FromHalf { sd, sm, top: high }),
        3 => Some(Fp::ToHalf { sd, sm, top: high }),
        4 => Some(Fp::Compare { sd, sm, signal: high }),
        5 => Some(Fp::CompareZero { sd, signal: high }),
        8 => Some(Fp::FromInteger { sd, sm, signed: high }),
        12 | 13 => Some(Fp::ToInteger { sd, sm, signed: opcode == 13, toward_zero: high }),
        10 | 11 | 14 | 15 => {
            let size = if high { 32 } else { 16 };
            let fraction = byte(size).checked_sub(single(bits, 0, 5))?;
            let signed = !bit(bits, 16);
            Some(if opcode < 12 {
                Fp::FromFixed { sd, signed, wide: high, fraction }
            } else {
                Fp::ToFixed { sd, signed, wide: high, fraction }
            })
        }
        _ => None,
    }
}
