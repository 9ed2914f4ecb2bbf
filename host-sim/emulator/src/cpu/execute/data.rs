//! Arithmetic, logic, shifts, bit fields, multiplications and divisions.

use super::super::cycles;
use super::super::flags::{shift_by_constant, shift_by_register};
use super::super::op::{Alu, Extend, LongMultiply, Reg, SetFlags, Shift, Unary};
use super::super::trap::{Fault, Run, Trap};
use super::Cpu;

/// The lowest `width` bits, 1 to 32.
const fn mask(width: u8) -> u32 {
    u32::MAX >> (32 - width as u32)
}

const fn low_half(value: u32) -> u32 {
    value & 0xFFFF
}

const fn extend_half(value: u32) -> u32 {
    ((value << 16).cast_signed() >> 16).cast_unsigned()
}

const fn extend_byte(value: u32) -> u32 {
    ((value << 24).cast_signed() >> 24).cast_unsigned()
}

impl Cpu {
    #[inline(always)]
    fn sets(&self, flags: SetFlags) -> bool {
        match flags {
            SetFlags::No => false,
            SetFlags::Yes => true,
            SetFlags::OutsideIt => !self.state.in_it,
        }
    }

    #[inline(always)]
    pub(super) fn alu_immediate(&mut self, op: Alu, rd: Reg, rn: Reg, flags: SetFlags, carry: Option<bool>, imm: u32) {
        let carry = carry.unwrap_or(self.state.flags.carry);
        self.alu(op, rd, self.get(rn), (imm, carry), flags);
    }

    #[inline(always)]
    pub(super) fn alu_register(&mut self, op: Alu, rd: Reg, rn: Reg, rm: Reg, flags: SetFlags) {
        self.alu(op, rd, self.get(rn), (self.get(rm), self.state.flags.carry), flags);
    }

    #[inline(always)]
    pub(super) fn alu_shifted(
        &mut self,
        op: Alu,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        flags: SetFlags,
        (shift, amount): (Shift, u8),
    ) {
        let shifted = shift_by_constant(self.get(rm), shift, amount, self.state.flags.carry);
        self.alu(op, rd, self.get(rn), shifted, flags);
    }

    /// An operation on a value and a shifted value, whose shift may have given a carry.
    #[inline(always)]
    fn alu(&mut self, op: Alu, rd: Reg, a: u32, (b, shift_carry): (u32, bool), flags: SetFlags) {
        let carry = self.state.flags.carry;
        let result = match op {
            Alu::Add => return self.sum(rd, a, b, false, flags),
            Alu::Adc => return self.sum(rd, a, b, carry, flags),
            Alu::Sub => return self.sum(rd, a, !b, true, flags),
            Alu::Sbc => return self.sum(rd, a, !b, carry, flags),
            Alu::Rsb => return self.sum(rd, !a, b, true, flags),
            Alu::Cmp => {
                self.state.flags.add(a, !b, true);
                return;
            }
            Alu::Cmn => {
                self.state.flags.add(a, b, false);
                return;
            }
            Alu::And | Alu::Tst => a & b,
            Alu::Bic => a & !b,
            Alu::Orr => a | b,
            Alu::Orn => a | !b,
            Alu::Eor | Alu::Teq => a ^ b,
            Alu::Mov => b,
            Alu::Mvn => !b,
        };
        let only_flags = matches!(op, Alu::Tst | Alu::Teq);
        if only_flags || self.sets(flags) {
            self.state.flags.set_nz(result);
            self.state.flags.carry = shift_carry;
        }
        if !only_flags {
            self.set(rd, result);
        }
    }

    #[inline(always)]
    fn sum(&mut self, rd: Reg, a: u32, b: u32, carry: bool, flags: SetFlags) {
        let sum = if self.sets(flags) {
            self.state.flags.add(a, b, carry)
        } else {
            a.wrapping_add(b).wrapping_add(u32::from(carry))
        };
        self.set(rd, sum);
    }

    #[inline(always)]
    pub(super) fn shift(&mut self, shift: Shift, rd: Reg, rn: Reg, rm: Reg, flags: SetFlags) {
        let (result, carry) = shift_by_register(self.get(rn), shift, self.get(rm), self.state.flags.carry);
        if self.sets(flags) {
            self.state.flags.set_nz(result);
            self.state.flags.carry = carry;
        }
        self.set(rd, result);
    }

    pub(super) fn insert_bits(&mut self, rd: Reg, rn: Reg, lsb: u8, width: u8) {
        let mask = mask(width) << lsb;
        let inserted = if rn == 15 { 0 } else { self.get(rn) << lsb };
        self.set(rd, self.get(rd) & !mask | inserted & mask);
    }

    #[inline(always)]
    pub(super) fn extract_bits(&mut self, signed: bool, rd: Reg, rn: Reg, lsb: u8, width: u8) {
        let spare = 32 - u32::from(width);
        let top = self.get(rn) << (spare - u32::from(lsb));
        let value = if signed { (top.cast_signed() >> spare).cast_unsigned() } else { top >> spare };
        self.set(rd, value);
    }

    #[inline(always)]
    pub(super) fn extend(&mut self, kind: Extend, rd: Reg, rn: Reg, rm: Reg, rotate: u8) {
        let value = self.get(rm).rotate_right(u32::from(rotate));
        let addend = if rn == 15 { 0 } else { self.get(rn) };
        let halves = |low: u32, high: u32| {
            let low = low_half(addend.wrapping_add(low));
            low | (addend >> 16).wrapping_add(high) << 16
        };
        let result = match kind {
            Extend::Sxth => addend.wrapping_add(extend_half(value)),
            Extend::Uxth => addend.wrapping_add(low_half(value)),
            Extend::Sxtb => addend.wrapping_add(extend_byte(value)),
            Extend::Uxtb => addend.wrapping_add(value & 0xFF),
            Extend::Sxtb16 => halves(extend_byte(value), extend_byte(value >> 16)),
            Extend::Uxtb16 => halves(value & 0xFF, value >> 16 & 0xFF),
        };
        self.set(rd, result);
    }

    pub(super) fn unary(&mut self, op: Unary, rd: Reg, rm: Reg) {
        let value = self.get(rm);
        let result = match op {
            Unary::Clz => value.leading_zeros(),
            Unary::Rbit => value.reverse_bits(),
            Unary::Rev => value.swap_bytes(),
            Unary::Rev16 => value.swap_bytes().rotate_right(16),
            Unary::Revsh => extend_half(value.swap_bytes() >> 16),
        };
        self.set(rd, result);
    }

    pub(super) fn multiply(&mut self, rd: Reg, rn: Reg, rm: Reg, flags: SetFlags) {
        let product = self.get(rn).wrapping_mul(self.get(rm));
        if self.sets(flags) {
            self.state.flags.set_nz(product);
        }
        self.set(rd, product);
    }

    pub(super) fn multiply_add(&mut self, rd: Reg, rn: Reg, rm: Reg, ra: Reg, subtract: bool) {
        let product = self.get(rn).wrapping_mul(self.get(rm));
        let product = if subtract { product.wrapping_neg() } else { product };
        self.set(rd, self.get(ra).wrapping_add(product));
    }

    pub(super) fn pair(&self, low: Reg, high: Reg) -> u64 {
        u64::from(self.get(high)) << 32 | u64::from(self.get(low))
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are kept")]
    pub(super) fn set_pair(&mut self, low: Reg, high: Reg, value: u64) {
        self.set(low, value as u32);
        self.set(high, (value >> 32) as u32);
    }

    #[inline(always)]
    pub(super) fn long_multiply(&mut self, op: LongMultiply, low: Reg, high: Reg, rn: Reg, rm: Reg) {
        let (n, m) = (self.get(rn), self.get(rm));
        let unsigned = u64::from(n) * u64::from(m);
        let signed = || (i64::from(n.cast_signed()) * i64::from(m.cast_signed())).cast_unsigned();
        let result = match op {
            LongMultiply::Umull => unsigned,
            LongMultiply::Umlal => self.pair(low, high).wrapping_add(unsigned),
            LongMultiply::Smull => signed(),
            LongMultiply::Smlal => self.pair(low, high).wrapping_add(signed()),
            // The largest product and two addends just fit.
            LongMultiply::Umaal => unsigned + u64::from(self.get(low)) + u64::from(self.get(high)),
        };
        self.set_pair(low, high, result);
    }

    pub(super) fn divide(&mut self, signed: bool, rd: Reg, rn: Reg, rm: Reg) -> Run {
        let (n, m) = (self.get(rn), self.get(rm));
        let quotient = match (m, signed) {
            (0, _) if self.state.system.traps_division_by_zero() => return Err(Trap::Fault(Fault::DivideByZero)),
            (0, _) => 0,
            (_, true) => n.cast_signed().wrapping_div(m.cast_signed()).cast_unsigned(),
            (_, false) => n / m,
        };
        self.set(rd, quotient);
        let (n, m) = if signed { (n.cast_signed().unsigned_abs(), m.cast_signed().unsigned_abs()) } else { (n, m) };
        self.charge(cycles::division(n, m));
        Ok(())
    }
}
