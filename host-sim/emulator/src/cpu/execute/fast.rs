//! What the commonest operations with flags do. They set flags outside IT blocks only.

use super::super::op::Reg;
use super::Cpu;

impl Cpu {
    /// A logical result: the carry stays what it is.
    #[inline(always)]
    pub(super) fn set_with_flags(&mut self, rd: Reg, value: u32) {
        if !self.state.in_it {
            self.state.flags.set_nz(value);
        }
        self.set(rd, value);
    }

    #[inline(always)]
    pub(super) fn add_with_flags(&mut self, rd: Reg, a: u32, b: u32, carry: bool) {
        let sum = if self.state.in_it {
            a.wrapping_add(b).wrapping_add(u32::from(carry))
        } else {
            self.state.flags.add(a, b, carry)
        };
        self.set(rd, sum);
    }

    /// By 1 to 31 bits; the last one that is shifted out is the carry.
    #[inline(always)]
    pub(super) fn shift_left_with_flags(&mut self, rd: Reg, value: u32, amount: u8) {
        let amount = u32::from(amount & 31);
        if !self.state.in_it {
            self.state.flags.carry = value << (amount - 1) >> 31 == 1;
        }
        self.set_with_flags(rd, value << amount);
    }

    /// By 1 to 31 bits; the last one that is shifted out is the carry.
    #[inline(always)]
    pub(super) fn shift_right_with_flags(&mut self, rd: Reg, value: u32, amount: u8) {
        let amount = u32::from(amount & 31);
        if !self.state.in_it {
            self.state.flags.carry = value >> (amount - 1) & 1 == 1;
        }
        self.set_with_flags(rd, value >> amount);
    }

    #[inline(always)]
    pub(super) fn branch_if(&mut self, holds: bool, target: u32) {
        if holds {
            self.state.pc = target;
        }
    }
}
