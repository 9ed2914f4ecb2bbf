//! 32-bit instructions: the first cut, data processing, branches and control.

use super::{bit, byte, field, float, load_store, multiply, narrow, reg, sign_extend, signed};
use crate::cpu::op::{Alu, Dsp, Op, Reg, SetFlags, Shift};

const SP: Reg = 13;
const PC: Reg = 15;

pub(super) fn decode(address: u32, bits: u32) -> Option<Op> {
    match (field(bits, 27, 2), field(bits, 20, 7)) {
        (1, op) if op & 0b110_0100 == 0 => load_store::multiple(bits),
        (1, op) if op & 0b110_0100 == 0b000_0100 => load_store::pair_exclusive_table(address, bits),
        (1, op) if op & 0b110_0000 == 0b010_0000 => shifted_register(bits),
        (2, op) if !bit(bits, 15) => {
            if op & 0b010_0000 == 0 {
                modified_immediate(bits)
            } else {
                plain_immediate(address, bits)
            }
        }
        (2, _) => branch_or_control(address, bits),
        (3, op) if op & 0b110_0000 == 0 => load_store::single(address, bits),
        (3, op) if op & 0b111_0000 == 0b010_0000 => multiply::registers(bits),
        (3, op) if op & 0b111_1000 == 0b011_0000 => multiply::short(bits),
        (3, op) if op & 0b111_1000 == 0b011_1000 => multiply::long(bits),
        _ if matches!(field(bits, 8, 4), 10 | 11) => float::decode(address, bits).map(Op::Fp),
        _ => Some(Op::NoCoprocessor),
    }
}

/// Which operation the four bits of a data-processing instruction mean, given the registers that stand for "none".
fn alu(number: u32, rd: Reg, rn: Reg, sets_flags: bool) -> Option<Alu> {
    let only_flags = rd == PC && sets_flags;
    Some(match number {
        0 if only_flags => Alu::Tst,
        0 => Alu::And,
        1 => Alu::Bic,
        2 if rn == PC => Alu::Mov,
        2 => Alu::Orr,
        3 if rn == PC => Alu::Mvn,
        3 => Alu::Orn,
        4 if only_flags => Alu::Teq,
        4 => Alu::Eor,
        8 if only_flags => Alu::Cmn,
        8 => Alu::Add,
        10 => Alu::Adc,
        11 => Alu::Sbc,
        13 if only_flags => Alu::Cmp,
        13 => Alu::Sub,
        14 => Alu::Rsb,
        _ => return None,
    })
}

/// Registers that the manual leaves unpredictable are refused, so that the executor never writes the program counter by
/// arithmetic.
fn registers_allowed(op: Alu, rd: Reg, rn: Reg) -> bool {
    let only_flags = matches!(op, Alu::Tst | Alu::Teq | Alu::Cmp | Alu::Cmn);
    let only_one = matches!(op, Alu::Mov | Alu::Mvn);
    (rd != PC || only_flags) && (rn != PC || only_one)
}

/// The kind and distance of a shift by a constant; nothing if the value passes as it is.
pub(super) fn shift_by_constant(kind: u32, amount: u32) -> Option<(Shift, u8)> {
    let right = |shift| (shift, if amount == 0 { 32 } else { byte(amount) });
    match (kind, amount) {
        (0, 0) => None,
        (0, amount) => Some((Shift::Lsl, byte(amount))),
        (1, _) => Some(right(Shift::Lsr)),
        (2, _) => Some(right(Shift::Asr)),
        (_, 0) => Some((Shift::Rrx, 1)),
        (_, amount) => Some((Shift::Ror, byte(amount))),
    }
}

fn shifted_register(bits: u32) -> Option<Op> {
    let (rd, rn, rm) = (reg(bits, 8), reg(bits, 16), reg(bits, 0));
    let amount = field(bits, 12, 3) << 2 | field(bits, 6, 2);
    let sets_flags = bit(bits, 20);
    if bit(bits, 15) || rm == PC {
        return None;
    }
    if field(bits, 21, 4) == 6 {
        let top = bit(bits, 5);
        let amount = if top && amount == 0 { 32 } else { byte(amount) };
        return (!sets_flags && !bit(bits, 4)).then_some(Op::Dsp(Dsp::Pack { top, rd, rn, rm, amount }));
    }
    let op = alu(field(bits, 21, 4), rd, rn, sets_flags)?;
    if !registers_allowed(op, rd, rn) {
        return None;
    }
    let flags = if sets_flags { SetFlags::Yes } else { SetFlags::No };
    Some(match shift_by_constant(field(bits, 4, 2), amount) {
        None if op == Alu::Mov && !sets_flags => Op::CopyReg { rd, rm },
        None if op == Alu::Cmp => Op::CmpReg { rn, rm },
        None => Op::AluReg { op, rd, rn, rm, flags },
        Some((shift, amount)) => Op::AluShifted { op, rd, rn, rm, flags, shift, amount },
    })
}

/// The constant of a modified immediate, and the carry if the rotation gives one.
fn expand_immediate(number: u32) -> (u32, Option<bool>) {
    let low = number & 0xFF;
    match number >> 8 {
        0 => (low, None),
        1 => (low << 16 | low, None),
        2 => (low << 24 | low << 8, None),
        3 => (low * 0x0101_0101, None),
        _ => {
            let value = (0x80 | number & 0x7F).rotate_right(number >> 7);
            (value, Some(bit(value, 31)))
        }
    }
}

fn immediate_12(bits: u32) -> u32 {
    field(bits, 26, 1) << 11 | field(bits, 12, 3) << 8 | field(bits, 0, 8)
}

fn modified_immediate(bits: u32) -> Option<Op> {
    let (rd, rn, sets_flags) = (reg(bits, 8), reg(bits, 16), bit(bits, 20));
    let op = alu(field(bits, 21, 4), rd, rn, sets_flags)?;
    if !registers_allowed(op, rd, rn) {
        return None;
    }
    let (imm, carry) = expand_immediate(immediate_12(bits));
    let flags = if sets_flags { SetFlags::Yes } else { SetFlags::No };
    Some(match (op, sets_flags) {
        (Alu::Mov, false) => Op::SetImm { rd, imm },
        (Alu::Mvn, false) => Op::SetImm { rd, imm: !imm },
        (Alu::Add, false) => sum(rd, rn, imm),
        (Alu::Sub, false) => sum(rd, rn, imm.wrapping_neg()),
        (Alu::Cmp, _) => Op::CmpImm { rn, imm },
        _ => Op::AluImm { op, rd, rn, flags, carry, imm },
    })
}

fn sum(rd: Reg, rn: Reg, imm: u32) -> Op {
    if rd == SP { Op::MoveStack { rn, imm } } else { Op::AddImm { rd, rn, imm } }
}

fn plain_immediate(address: u32, bits: u32) -> Option<Op> {
    let (rd, rn) = (reg(bits, 8), reg(bits, 16));
    let imm_12 = immediate_12(bits);
    let imm_16 = u16::try_from(u32::from(rn) << 12 | imm_12).ok()?;
    let lsb = field(bits, 12, 3) << 2 | field(bits, 6, 2);
    let number = field(bits, 0, 5);
    if rd == PC || bit(bits, 20) {
        return None;
    }
    let op = match field(bits, 20, 5) {
        kind @ (0 | 10) => {
            let imm = signed(kind == 0, imm_12);
            if rn == PC {
                Op::SetImm { rd, imm: (address.wrapping_add(4) & !3).wrapping_add(imm) }
            } else {
                sum(rd, rn, imm)
            }
        }
        4 => Op::SetImm { rd, imm: u32::from(imm_16) },
        12 => Op::SetTop { rd, imm: imm_16 },
        kind @ (20 | 28) if lsb + number < 32 && rn != PC => {
            Op::ExtractBits { signed: kind == 20, rd, rn, lsb: byte(lsb), width: byte(number + 1) }
        }
        22 if number >= lsb => Op::InsertBits { rd, rn, lsb: byte(lsb), width: byte(number - lsb + 1) },
        kind @ (16 | 18 | 24 | 26) if rn != PC => saturate(kind < 24, kind & 2 != 0, rd, rn, lsb, number),
        _ => return None,
    };
    Some(op)
}

fn saturate(signed: bool, shifts_right: bool, rd: Reg, rn: Reg, amount: u32, number: u32) -> Op {
    // The signed forms count the sign among the bits.
    let bits = byte(if signed { number + 1 } else { number });
    if shifts_right && amount == 0 {
        return Op::Dsp(Dsp::Saturate16 { signed, rd, rn, bits });
    }
    let shift = if shifts_right { Shift::Asr } else { Shift::Lsl };
    Op::Dsp(Dsp::Saturate { signed, rd, rn, bits, shift, amount: byte(amount) })
}

fn branch_or_control(address: u32, bits: u32) -> Option<Op> {
    let pc = address.wrapping_add(4);
    let (sign, j1, j2) = (field(bits, 26, 1), field(bits, 13, 1), field(bits, 11, 1));
    let low = field(bits, 0, 11) << 1;
    if bit(bits, 12) {
        let (i1, i2) = (j1 ^ sign ^ 1, j2 ^ sign ^ 1);
        let distance = sign << 24 | i1 << 23 | i2 << 22 | field(bits, 16, 10) << 12 | low;
        let target = pc.wrapping_add(sign_extend(distance, 25));
        return Some(if bit(bits, 14) { Op::Call { target } } else { Op::Branch { target } });
    }
    let condition = field(bits, 22, 4);
    if !bit(bits, 14) && condition < 14 {
        let distance = sign << 20 | j2 << 19 | j1 << 18 | field(bits, 16, 6) << 12 | low;
        let target = pc.wrapping_add(sign_extend(distance, 21));
        return Some(Op::BranchIf { condition: byte(condition), target });
    }
    control(bits)
}

fn control(bits: u32) -> Option<Op> {
    let which = byte(field(bits, 0, 8));
    match field(bits, 20, 7) {
        0x7F if field(bits, 12, 4) == 0b1010 => Some(Op::Undefined),
        _ if bit(bits, 14) => None,
        0x38 => Some(Op::WriteSpecial { rn: reg(bits, 16), which, mask: byte(field(bits, 10, 2)) }),
        0x3A if field(bits, 8, 3) == 0 => Some(narrow::hint(field(bits, 0, 8))),
        0x3B => match field(bits, 4, 4) {
            2 => Some(Op::ClearExclusive),
            // Barriers: memory answers in order and at once.
            4..=6 => Some(Op::Nop),
            _ => None,
        },
        0x3E => Some(Op::ReadSpecial { rd: reg(bits, 8), which }),
        _ => None,
    }
}
