//! 32-bit loads and stores.

use super::{bit, byte, field, reg, signed};
use crate::cpu::op::{Access, Index, Op, Reg};

const SP: Reg = 13;
const PC: Reg = 15;

pub(super) fn multiple(bits: u32) -> Option<Op> {
    let rn = reg(bits, 16);
    let list = u16::try_from(field(bits, 0, 16)).ok()?;
    let (load, writeback) = (bit(bits, 20), bit(bits, 21));
    let decrement = match field(bits, 23, 2) {
        1 => false,
        2 => true,
        _ => return None,
    };
    let base_in_list = list >> rn & 1 == 1;
    let unpredictable = rn == PC || list.count_ones() < 2 || bit(bits, 13) || writeback && base_in_list;
    let wrong_target = if load { list >> 14 == 0b11 } else { list >> 15 == 1 };
    if unpredictable || wrong_target {
        return None;
    }
    Some(if load {
        Op::LoadMultiple { rn, list, decrement, writeback }
    } else {
        Op::StoreMultiple { rn, list, decrement, writeback }
    })
}

pub(super) fn pair_exclusive_table(address: u32, bits: u32) -> Option<Op> {
    let (before, add, writeback, load) = (bit(bits, 24), bit(bits, 23), bit(bits, 21), bit(bits, 20));
    if !before && !writeback {
        return exclusive_or_table(address, bits);
    }
    let (rt, rt2, rn) = (reg(bits, 12), reg(bits, 8), reg(bits, 16));
    let offset = signed(add, 4 * field(bits, 0, 8));
    if rt == PC || rt2 == PC || rt == SP || rt2 == SP || load && rt == rt2 {
        return None;
    }
    if rn == PC {
        let address = (address.wrapping_add(4) & !3).wrapping_add(offset);
        return (load && before && !writeback).then_some(Op::LoadPairLiteral { rt, rt2, address });
    }
    let index = index(before, writeback);
    Some(if load { Op::LoadPair { rt, rt2, rn, index, offset } } else { Op::StorePair { rt, rt2, rn, index, offset } })
}

fn index(before: bool, writeback: bool) -> Index {
    match (before, writeback) {
        (true, false) => Index::Offset,
        (true, true) => Index::Before,
        (false, _) => Index::After,
    }
}

fn exclusive_or_table(address: u32, bits: u32) -> Option<Op> {
    let (rn, rt, rm, load) = (reg(bits, 16), reg(bits, 12), reg(bits, 0), bit(bits, 20));
    if !bit(bits, 23) {
        if rn == PC || rt == PC {
            return None;
        }
        let offset = 4 * field(bits, 0, 8);
        return Some(if load {
            Op::LoadExclusive { access: Access::U32, rt, rn, offset }
        } else {
            Op::StoreExclusive { access: Access::U32, rd: reg(bits, 8), rt, rn, offset }
        });
    }
    let access = match field(bits, 4, 4) {
        kind @ (0 | 1) if load && rm != PC => {
            let (half, next) = (kind == 1, address.wrapping_add(4));
            return Some(if rn == PC {
                Op::TableBranchHere { rm, half, next }
            } else {
                Op::TableBranch { rn, rm, half, next }
            });
        }
        4 if rn != PC && rt != PC => Access::U8,
        5 if rn != PC && rt != PC => Access::U16,
        _ => return None,
    };
    Some(if load {
        Op::LoadExclusive { access, rt, rn, offset: 0 }
    } else {
        Op::StoreExclusive { access, rd: rm, rt, rn, offset: 0 }
    })
}

pub(super) fn single(address: u32, bits: u32) -> Option<Op> {
    let (rt, rn, load) = (reg(bits, 12), reg(bits, 16), bit(bits, 20));
    let access = match (field(bits, 21, 2), bit(bits, 24)) {
        (0, false) => Access::U8,
        (0, true) => Access::I8,
        (1, false) => Access::U16,
        (1, true) => Access::I16,
        (2, false) => Access::U32,
        _ => return None,
    };
    if !load && (rt == PC || rn == PC || bit(bits, 24)) {
        return None;
    }
    if rt == PC && access != Access::U32 {
        // Preload hints: there is no cache to fill.
        return Some(Op::Nop);
    }
    if rn == PC {
        let offset = signed(bit(bits, 23), field(bits, 0, 12));
        let address = (address.wrapping_add(4) & !3).wrapping_add(offset);
        return Some(Op::LoadLiteral { access, rt, address });
    }
    if bit(bits, 23) {
        return Some(immediate(load, access, rt, rn, Index::Offset, field(bits, 0, 12)));
    }
    if bit(bits, 11) {
        let (before, add, writeback) = (bit(bits, 10), bit(bits, 9), bit(bits, 8));
        // Offset, up, no write-back: the unprivileged forms, which differ only in what an MPU lets them do.
        if !before && !writeback || writeback && rn == rt {
            return None;
        }
        let offset = signed(add, field(bits, 0, 8));
        return Some(immediate(load, access, rt, rn, index(before, writeback), offset));
    }
    if field(bits, 6, 5) != 0 || reg(bits, 0) == PC {
        return None;
    }
    let (rm, shift) = (reg(bits, 0), byte(field(bits, 4, 2)));
    Some(if load { Op::LoadByReg { access, rt, rn, rm, shift } } else { Op::StoreByReg { access, rt, rn, rm, shift } })
}

fn immediate(load: bool, access: Access, rt: Reg, rn: Reg, index: Index, offset: u32) -> Op {
    match (load, access, index) {
        (true, Access::U32, Index::Offset) => Op::LoadWord { rt, rn, offset },
        (false, Access::U32, Index::Offset) => Op::StoreWord { rt, rn, offset },
        (true, ..) => Op::Load { access, rt, rn, index, offset },
        (false, ..) => Op::Store { access, rt, rn, index, offset },
    }
}
