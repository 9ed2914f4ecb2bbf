//! The executor: what every operation does.

mod data;
mod dsp;
mod fast;
mod float;
mod load_store;
mod special;

use super::op::{Op, Reg};
use super::trap::{Fault, Run, Trap};
use super::{Core, Cpu, LR, SP, Sleep};
use crate::io::{Io, Width};

impl Cpu {
    #[inline(always)]
    fn get(&self, reg: Reg) -> u32 {
        self.state.r[usize::from(reg & 15)]
    }

    #[inline(always)]
    fn set(&mut self, reg: Reg, value: u32) {
        self.state.r[usize::from(reg & 15)] = value;
    }
}

impl<I: Io + ?Sized> Core<'_, I> {
    /// Executes the operation in a slot. The program counter already points behind it.
    #[expect(clippy::too_many_lines, reason = "one table of operations: two would be looked up one after the other")]
    #[inline(always)]
    pub fn execute(&mut self, slot: usize) -> Run {
        let cpu = &mut *self.cpu;
        match cpu.code.slots[slot].op {
            Op::Nop => {}
            Op::SetImm { rd, imm } => cpu.set(rd, imm),
            Op::SetTop { rd, imm } => cpu.set(rd, cpu.get(rd) & 0xFFFF | u32::from(imm) << 16),
            Op::CopyReg { rd, rm } => cpu.set(rd, cpu.get(rm)),
            Op::AddImm { rd, rn, imm } => cpu.set(rd, cpu.get(rn).wrapping_add(imm)),
            Op::MoveStack { rn, imm } => cpu.set_sp(cpu.get(rn).wrapping_add(imm)),
            Op::CmpImm { rn, imm } => _ = cpu.state.flags.add(cpu.get(rn), !imm, true),
            Op::CmpReg { rn, rm } => _ = cpu.state.flags.add(cpu.get(rn), !cpu.get(rm), true),
            Op::And(of) => cpu.set(of.rd, cpu.get(of.rn) & cpu.get(of.rm)),
            Op::Orr(of) => cpu.set(of.rd, cpu.get(of.rn) | cpu.get(of.rm)),
            Op::Eor(of) => cpu.set(of.rd, cpu.get(of.rn) ^ cpu.get(of.rm)),
            Op::Add(of) => cpu.set(of.rd, cpu.get(of.rn).wrapping_add(cpu.get(of.rm))),
            Op::Sub(of) => cpu.set(of.rd, cpu.get(of.rn).wrapping_sub(cpu.get(of.rm))),
            Op::AndFlags(of) => cpu.set_with_flags(of.rd, cpu.get(of.rn) & cpu.get(of.rm)),
            Op::OrrFlags(of) => cpu.set_with_flags(of.rd, cpu.get(of.rn) | cpu.get(of.rm)),
            Op::EorFlags(of) => cpu.set_with_flags(of.rd, cpu.get(of.rn) ^ cpu.get(of.rm)),
            Op::MoveFlags(of) => cpu.set_with_flags(of.rd, of.imm),
            Op::AddFlags(of) => cpu.add_with_flags(of.rd, cpu.get(of.rn), of.imm, false),
            Op::SubFlags(of) => cpu.add_with_flags(of.rd, cpu.get(of.rn), !of.imm, true),
            Op::LslFlags(of) => cpu.shift_left_with_flags(of.rd, cpu.get(of.rm), of.amount),
            Op::LsrFlags(of) => cpu.shift_right_with_flags(of.rd, cpu.get(of.rm), of.amount),
            Op::OrrLsl(of) => cpu.set(of.rd, cpu.get(of.rn) | cpu.get(of.rm) << (of.amount & 31)),
            Op::OrrLsr(of) => cpu.set(of.rd, cpu.get(of.rn) | cpu.get(of.rm) >> (of.amount & 31)),
            Op::EorLsl(of) => cpu.set(of.rd, cpu.get(of.rn) ^ cpu.get(of.rm) << (of.amount & 31)),
            Op::EorLsr(of) => cpu.set(of.rd, cpu.get(of.rn) ^ cpu.get(of.rm) >> (of.amount & 31)),
            Op::EorRor(of) => cpu.set(of.rd, cpu.get(of.rn) ^ cpu.get(of.rm).rotate_right(u32::from(of.amount))),
            Op::AddLsl(of) => cpu.set(of.rd, cpu.get(of.rn).wrapping_add(cpu.get(of.rm) << (of.amount & 31))),
            Op::AluImm { op, rd, rn, flags, carry, imm } => cpu.alu_immediate(op, rd, rn, flags, carry, imm),
            Op::AluReg { op, rd, rn, rm, flags } => cpu.alu_register(op, rd, rn, rm, flags),
            Op::AluShifted { op, rd, rn, rm, flags, shift, amount } => {
                cpu.alu_shifted(op, rd, rn, rm, flags, (shift, amount));
            }
            Op::ShiftByReg { shift, rd, rn, rm, flags } => cpu.shift(shift, rd, rn, rm, flags),
            Op::InsertBits { rd, rn, lsb, width } => cpu.insert_bits(rd, rn, lsb, width),
            Op::ExtractBits { signed, rd, rn, lsb, width } => cpu.extract_bits(signed, rd, rn, lsb, width),
            Op::Extend { kind, rd, rn, rm, rotate } => cpu.extend(kind, rd, rn, rm, rotate),
            Op::Unary { op, rd, rm } => cpu.unary(op, rd, rm),
            Op::Multiply { rd, rn, rm, flags } => cpu.multiply(rd, rn, rm, flags),
            Op::MultiplyAdd { rd, rn, rm, ra, subtract } => cpu.multiply_add(rd, rn, rm, ra, subtract),
            Op::LongMultiply { op, low, high, rn, rm } => cpu.long_multiply(op, low, high, rn, rm),
            Op::Divide { signed, rd, rn, rm } => return cpu.divide(signed, rd, rn, rm),

            Op::LoadWord { rt, rn, offset } => return self.load_word(rt, rn, offset),
            Op::StoreWord { rt, rn, offset } => {
                let (address, value) = (cpu.get(rn).wrapping_add(offset), cpu.get(rt));
                return self.write(address, Width::Word, value);
            }
            Op::Branch { target } => cpu.state.pc = target,
            Op::BranchIfEqual(target) => cpu.branch_if(cpu.state.flags.z(), target),
            Op::BranchIfNotEqual(target) => cpu.branch_if(!cpu.state.flags.z(), target),
            Op::BranchIfCarry(target) => cpu.branch_if(cpu.state.flags.carry, target),
            Op::BranchIfNoCarry(target) => cpu.branch_if(!cpu.state.flags.carry, target),
            Op::BranchIf { condition, target } => {
                if cpu.state.flags.holds(condition) {
                    cpu.state.pc = target;
                }
            }
            Op::BranchIfZero { rn, zero, target } => {
                if (cpu.get(rn) == 0) == zero {
                    cpu.state.pc = target;
                }
            }
            Op::Call { target } => {
                cpu.state.r[LR] = cpu.state.pc | 1;
                cpu.state.pc = target;
            }
            Op::BranchToReg { rm } => return self.jump(self.cpu.get(rm)),
            Op::CallReg { rm } => {
                let target = cpu.get(rm);
                cpu.state.r[LR] = cpu.state.pc | 1;
                cpu.state.pc = target & !1;
                return if target & 1 == 1 { Ok(()) } else { Err(Trap::Fault(Fault::InvalidState)) };
            }
            Op::IfThen { state } => cpu.state.it = state,
            _ => return self.execute_other(slot),
        }
        Ok(())
    }

    /// Loads and stores beyond the commonest, and everything that is seldom.
    #[inline(always)]
    fn execute_other(&mut self, slot: usize) -> Run {
        match self.cpu.code.slots[slot].op {
            Op::Load { access, rt, rn, index, offset } => self.load(access, rt, rn, index, offset),
            Op::Store { access, rt, rn, index, offset } => self.store(access, rt, rn, index, offset),
            Op::LoadByReg { access, rt, rn, rm, shift } => self.load_by_register(access, rt, rn, rm, shift),
            Op::StoreByReg { access, rt, rn, rm, shift } => self.store_by_register(access, rt, rn, rm, shift),
            Op::LoadLiteral { access, rt, address } => self.load_from(access, rt, address),
            Op::LoadPair { rt, rt2, rn, index, offset } => self.load_pair(rt, rt2, rn, index, offset),
            Op::StorePair { rt, rt2, rn, index, offset } => self.store_pair(rt, rt2, rn, index, offset),
            Op::LoadPairLiteral { rt, rt2, address } => self.load_pair_from(rt, rt2, address),
            Op::LoadMultiple { rn, list, decrement, writeback } => self.load_multiple(rn, list, decrement, writeback),
            Op::StoreMultiple { rn, list, decrement, writeback } => self.store_multiple(rn, list, decrement, writeback),
            Op::LoadExclusive { access, rt, rn, offset } => self.load_exclusive(access, rt, rn, offset),
            Op::StoreExclusive { access, rd, rt, rn, offset } => self.store_exclusive(access, rd, rt, rn, offset),
            Op::TableBranch { rn, rm, half, next } => self.branch_by_table(self.cpu.get(rn), rm, half, next),
            Op::TableBranchHere { rm, half, next } => self.branch_by_table(next, rm, half, next),
            Op::Dsp(op) => {
                self.cpu.execute_dsp(op);
                Ok(())
            }
            Op::Fp(op) => self.execute_fp(op),
            other => self.execute_control(other),
        }
    }

    #[inline(never)]
    fn execute_control(&mut self, op: Op) -> Run {
        let cpu = &mut *self.cpu;
        match op {
            Op::ClearExclusive => cpu.state.reservation = None,
            Op::JumpToReg { rm } => cpu.state.pc = cpu.get(rm) & !1,
            Op::JumpAdd { rm, base } => cpu.state.pc = cpu.get(rm).wrapping_add(base) & !1,
            Op::ReadSpecial { rd, which } => return self.read_special(rd, which),
            Op::WriteSpecial { rn, which, mask } => return self.write_special(rn, which, mask),
            Op::ChangeState { disable, primask, faultmask } => cpu.change_state(disable, primask, faultmask),
            Op::WaitForEvent => {
                if cpu.state.event {
                    cpu.state.event = false;
                } else {
                    cpu.state.sleep = Sleep::ForEvent;
                    cpu.request_check();
                }
            }
            Op::WaitForInterrupt => {
                cpu.state.sleep = Sleep::ForInterrupt;
                cpu.request_check();
            }
            Op::SendEvent => cpu.state.event = true,
            Op::SupervisorCall => return Err(Trap::SupervisorCall),
            Op::Breakpoint => return Err(Trap::Breakpoint),
            Op::Undefined => return Err(Trap::Fault(Fault::Undefined)),
            Op::NoCoprocessor => return Err(Trap::Fault(Fault::NoCoprocessor)),
            Op::Unknown { bits } => {
                cpu.error = format!("instruction {bits:#x} is undefined, unpredictable or not modelled");
                return Err(Trap::Error);
            }
            other => {
                cpu.error = format!("{other:?} has no executor");
                return Err(Trap::Error);
            }
        }
        Ok(())
    }

    fn branch_by_table(&mut self, base: u32, rm: Reg, half: bool, next: u32) -> Run {
        let entry = self.cpu.get(rm);
        let halfwords = if half {
            self.read(base.wrapping_add(entry << 1), Width::Half)?
        } else {
            self.read(base.wrapping_add(entry), Width::Byte)?
        };
        self.cpu.state.pc = next.wrapping_add(2 * halfwords);
        Ok(())
    }

    /// Moves a base register; the stack pointer's way down is remembered.
    #[inline(always)]
    fn move_base(&mut self, rn: Reg, value: u32) {
        if usize::from(rn) == SP { self.cpu.set_sp(value) } else { self.cpu.set(rn, value) }
    }
}
