//! 16-bit instructions.

use super::{bit, field, low_reg, reg, sign_extend};
use crate::cpu::op::{Access, Alu, Extend, Index, Op, Reg, SetFlags, Shift, Unary};

const SP: Reg = 13;
const PC: Reg = 15;
const FLAGS: SetFlags = SetFlags::OutsideIt;

pub(super) fn decode(address: u32, bits: u32) -> Option<Op> {
    let op = match bits >> 10 {
        0..=15 => shift_add_move(bits),
        16 => data_processing(bits),
        17 => return high_registers(address, bits),
        18 | 19 => {
            let literal = (address.wrapping_add(4) & !3) + 4 * field(bits, 0, 8);
            Op::LoadLiteral { access: Access::U32, rt: low_reg(bits, 8), address: literal }
        }
        20..=23 => load_store_by_register(bits),
        24..=35 => load_store_immediate(bits),
        36..=39 => {
            let (rt, rn, offset) = (low_reg(bits, 8), SP, 4 * field(bits, 0, 8));
            if bit(bits, 11) { Op::LoadWord { rt, rn, offset } } else { Op::StoreWord { rt, rn, offset } }
        }
        40 | 41 => {
            Op::SetImm { rd: low_reg(bits, 8), imm: (address.wrapping_add(4) & !3).wrapping_add(4 * field(bits, 0, 8)) }
        }
        42 | 43 => Op::AddImm { rd: low_reg(bits, 8), rn: SP, imm: 4 * field(bits, 0, 8) },
        44..=47 => return miscellaneous(address, bits),
        48..=51 => return multiple(bits),
        52..=55 => conditional(address, bits),
        56 | 57 => {
            Op::Branch { target: address.wrapping_add(4).wrapping_add(sign_extend(field(bits, 0, 11), 11) << 1) }
        }
        _ => return None,
    };
    Some(op)
}

fn shift_add_move(bits: u32) -> Op {
    let (rd, rn) = (low_reg(bits, 0), low_reg(bits, 3));
    match bits >> 11 {
        kind @ 0..=2 => {
            let amount = super::byte(field(bits, 6, 5));
            let (shift, amount) = match (kind, amount) {
                (0, 0) => return Op::AluReg { op: Alu::Mov, rd, rn: 0, rm: rn, flags: FLAGS },
                (0, amount) => (Shift::Lsl, amount),
                // A shift right by nothing makes no sense; the encoding means 32.
                (1, amount) => (Shift::Lsr, if amount == 0 { 32 } else { amount }),
                (_, amount) => (Shift::Asr, if amount == 0 { 32 } else { amount }),
            };
            Op::AluShifted { op: Alu::Mov, rd, rn: 0, rm: rn, flags: FLAGS, shift, amount }
        }
        3 => {
            let op = if bit(bits, 9) { Alu::Sub } else { Alu::Add };
            if bit(bits, 10) {
                Op::AluImm { op, rd, rn, flags: FLAGS, carry: None, imm: field(bits, 6, 3) }
            } else {
                Op::AluReg { op, rd, rn, rm: low_reg(bits, 6), flags: FLAGS }
            }
        }
        kind => {
            let (rd, imm) = (low_reg(bits, 8), field(bits, 0, 8));
            let op = match kind {
                4 => Alu::Mov,
                5 => return Op::CmpImm { rn: rd, imm },
                6 => Alu::Add,
                _ => Alu::Sub,
            };
            Op::AluImm { op, rd, rn: rd, flags: FLAGS, carry: None, imm }
        }
    }
}

fn data_processing(bits: u32) -> Op {
    let (rd, rm) = (low_reg(bits, 0), low_reg(bits, 3));
    let alu = |op| Op::AluReg { op, rd, rn: rd, rm, flags: FLAGS };
    let compare = |op| Op::AluReg { op, rd, rn: rd, rm, flags: SetFlags::Yes };
    let shift = |shift| Op::ShiftByReg { shift, rd, rn: rd, rm, flags: FLAGS };
    match field(bits, 6, 4) {
        0 => alu(Alu::And),
        1 => alu(Alu::Eor),
        2 => shift(Shift::Lsl),
        3 => shift(Shift::Lsr),
        4 => shift(Shift::Asr),
        5 => alu(Alu::Adc),
        6 => alu(Alu::Sbc),
        7 => shift(Shift::Ror),
        8 => compare(Alu::Tst),
        9 => Op::AluImm { op: Alu::Rsb, rd, rn: rm, flags: FLAGS, carry: None, imm: 0 },
        10 => Op::CmpReg { rn: rd, rm },
        11 => compare(Alu::Cmn),
        12 => alu(Alu::Orr),
        13 => Op::Multiply { rd, rn: rd, rm, flags: FLAGS },
        14 => alu(Alu::Bic),
        _ => alu(Alu::Mvn),
    }
}

/// ADD, CMP and MOV of any registers, BX and BLX.
fn high_registers(address: u32, bits: u32) -> Option<Op> {
    let rd = low_reg(bits, 0) | super::byte(field(bits, 7, 1) << 3);
    let rm = reg(bits, 3);
    let pc = address.wrapping_add(4);
    let op = match field(bits, 8, 2) {
        0 if rd == PC => (rm != PC).then_some(Op::JumpAdd { rm, base: pc })?,
        0 if rm == PC && rd == SP => Op::MoveStack { rn: SP, imm: pc },
        0 if rm == PC => Op::AddImm { rd, rn: rd, imm: pc },
        0 => Op::AluReg { op: Alu::Add, rd, rn: rd, rm, flags: SetFlags::No },
        1 => (rd != PC && rm != PC).then_some(Op::CmpReg { rn: rd, rm })?,
        2 if rd == PC && rm == PC => Op::Branch { target: pc },
        2 if rd == PC => Op::JumpToReg { rm },
        2 if rm == PC => Op::SetImm { rd, imm: pc },
        2 => Op::CopyReg { rd, rm },
        _ if field(bits, 0, 3) != 0 || rm == PC => return None,
        _ if bit(bits, 7) => Op::CallReg { rm },
        _ => Op::BranchToReg { rm },
    };
    Some(op)
}

fn load_store_by_register(bits: u32) -> Op {
    let (rt, rn, rm, shift) = (low_reg(bits, 0), low_reg(bits, 3), low_reg(bits, 6), 0);
    let load = |access| Op::LoadByReg { access, rt, rn, rm, shift };
    let store = |access| Op::StoreByReg { access, rt, rn, rm, shift };
    match field(bits, 9, 3) {
        0 => store(Access::U32),
        1 => store(Access::U16),
        2 => store(Access::U8),
        3 => load(Access::I8),
        4 => load(Access::U32),
        5 => load(Access::U16),
        6 => load(Access::U8),
        _ => load(Access::I16),
    }
}

fn load_store_immediate(bits: u32) -> Op {
    let (rt, rn, number, index) = (low_reg(bits, 0), low_reg(bits, 3), field(bits, 6, 5), Index::Offset);
    let (access, offset) = match bits >> 12 {
        6 => {
            let offset = 4 * number;
            return if bit(bits, 11) { Op::LoadWord { rt, rn, offset } } else { Op::StoreWord { rt, rn, offset } };
        }
        7 => (Access::U8, number),
        _ => (Access::U16, 2 * number),
    };
    if bit(bits, 11) { Op::Load { access, rt, rn, index, offset } } else { Op::Store { access, rt, rn, index, offset } }
}

fn miscellaneous(address: u32, bits: u32) -> Option<Op> {
    let (rd, rm) = (low_reg(bits, 0), low_reg(bits, 3));
    let registers = u16::try_from(field(bits, 0, 8)).ok()?;
    let op = match field(bits, 8, 4) {
        0 => {
            let bytes = 4 * field(bits, 0, 7);
            Op::MoveStack { rn: SP, imm: super::signed(!bit(bits, 7), bytes) }
        }
        1 | 3 | 9 | 11 => {
            let distance = field(bits, 9, 1) << 6 | field(bits, 3, 5) << 1;
            Op::BranchIfZero { rn: rd, zero: !bit(bits, 11), target: address.wrapping_add(4 + distance) }
        }
        2 => {
            let kind = [Extend::Sxth, Extend::Sxtb, Extend::Uxth, Extend::Uxtb][field(bits, 6, 2) as usize];
            Op::Extend { kind, rd, rn: PC, rm, rotate: 0 }
        }
        4 | 5 => {
            let list = registers | u16::from(bit(bits, 8)) << 14;
            Op::StoreMultiple { rn: SP, list, decrement: true, writeback: true }
        }
        12 | 13 => {
            let list = registers | u16::from(bit(bits, 8)) << 15;
            Op::LoadMultiple { rn: SP, list, decrement: false, writeback: true }
        }
        6 if bits & 0xFFEC == 0xB660 => {
            Op::ChangeState { disable: bit(bits, 4), primask: bit(bits, 1), faultmask: bit(bits, 0) }
        }
        10 => {
            let op = match field(bits, 6, 2) {
                0 => Unary::Rev,
                1 => Unary::Rev16,
                3 => Unary::Revsh,
                _ => return None,
            };
            Op::Unary { op, rd, rm }
        }
        14 => Op::Breakpoint,
        15 if field(bits, 0, 4) != 0 => Op::IfThen { state: super::byte(field(bits, 0, 8)) },
        15 => hint(field(bits, 4, 4)),
        _ => return None,
    };
    let empty_list = matches!(op, Op::StoreMultiple { list: 0, .. } | Op::LoadMultiple { list: 0, .. });
    (!empty_list).then_some(op)
}

/// Hints that the processor does not know do nothing.
pub(super) fn hint(number: u32) -> Op {
    match number {
        2 => Op::WaitForEvent,
        3 => Op::WaitForInterrupt,
        4 => Op::SendEvent,
        _ => Op::Nop,
    }
}

fn multiple(bits: u32) -> Option<Op> {
    let rn = low_reg(bits, 8);
    let list = u16::try_from(field(bits, 0, 8)).ok().filter(|&list| list != 0)?;
    Some(if bit(bits, 11) {
        // A base that is loaded is not written back as well.
        Op::LoadMultiple { rn, list, decrement: false, writeback: list >> rn & 1 == 0 }
    } else {
        Op::StoreMultiple { rn, list, decrement: false, writeback: true }
    })
}

fn conditional(address: u32, bits: u32) -> Op {
    match field(bits, 8, 4) {
        14 => Op::Undefined,
        15 => Op::SupervisorCall,
        condition => Op::BranchIf {
            condition: super::byte(condition),
            target: address.wrapping_add(4).wrapping_add(sign_extend(field(bits, 0, 8), 8) << 1),
        },
    }
}
