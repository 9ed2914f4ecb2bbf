//! The flags of the program status register, and the arithmetic that sets them.

use super::op::Shift;

/// The flags. N, Z and V are kept as values to look at later, because most are never looked at.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    /// N is its bit 31.
    negative: u32,
    /// Z says that it is zero.
    not_zero: u32,
    pub carry: bool,
    /// V is its bit 31.
    overflow: u32,
    /// Something was saturated. Only a write to the register clears it.
    pub saturated: bool,
    /// Four bits, one for every byte of the last parallel operation.
    pub greater_equal: u8,
}

impl Default for Flags {
    fn default() -> Self {
        Self { negative: 0, not_zero: 1, carry: false, overflow: 0, saturated: false, greater_equal: 0 }
    }
}

impl Flags {
    #[inline(always)]
    pub fn set_nz(&mut self, value: u32) {
        self.negative = value;
        self.not_zero = value;
    }

    pub fn n(&self) -> bool {
        self.negative >> 31 == 1
    }

    pub fn z(&self) -> bool {
        self.not_zero == 0
    }

    pub fn v(&self) -> bool {
        self.overflow >> 31 == 1
    }

    /// Sets N, Z, C and V from the highest four bits.
    pub fn set_nzcv(&mut self, bits: u32) {
        self.negative = bits;
        self.not_zero = u32::from(bits >> 30 & 1 == 0);
        self.carry = bits >> 29 & 1 == 1;
        self.overflow = bits << 3;
    }

    /// The application's part of the status register.
    pub fn apsr(&self) -> u32 {
        u32::from(self.n()) << 31
            | u32::from(self.z()) << 30
            | u32::from(self.carry) << 29
            | u32::from(self.v()) << 28
            | u32::from(self.saturated) << 27
            | u32::from(self.greater_equal) << 16
    }

    /// Whether a condition holds. The lowest bit of its number negates it; 14 and 15 always hold.
    #[inline(always)]
    pub fn holds(&self, condition: u8) -> bool {
        let positive = match condition >> 1 {
            0 => self.z(),
            1 => self.carry,
            2 => self.n(),
            3 => self.v(),
            4 => self.carry && !self.z(),
            5 => self.n() == self.v(),
            6 => self.n() == self.v() && !self.z(),
            _ => return true,
        };
        positive != (condition & 1 == 1)
    }

    /// Adds with a carry and sets the flags.
    #[inline(always)]
    pub fn add(&mut self, a: u32, b: u32, carry: bool) -> u32 {
        let (partial, first) = a.overflowing_add(b);
        let (sum, second) = partial.overflowing_add(u32::from(carry));
        self.set_nz(sum);
        self.carry = first | second;
        // Both operands had the sign that the sum has not.
        self.overflow = (a ^ sum) & (b ^ sum);
        sum
    }
}

/// Shifts by a distance from an instruction, 1 to 32. Returns the last bit shifted out, too.
#[inline(always)]
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "an arithmetic shift looks at the sign bit")]
pub fn shift_by_constant(value: u32, shift: Shift, amount: u8, carry: bool) -> (u32, bool) {
    let amount = u32::from(amount);
    match shift {
        Shift::Lsl => (value << (amount & 31), value >> ((32 - amount) & 31) & 1 == 1),
        Shift::Lsr => (value.checked_shr(amount).unwrap_or(0), value >> (amount - 1) & 1 == 1),
        Shift::Asr => ((value as i32 >> amount.min(31)) as u32, value >> (amount - 1) & 1 == 1),
        Shift::Ror => {
            let rotated = value.rotate_right(amount);
            (rotated, rotated >> 31 == 1)
        }
        Shift::Rrx => (u32::from(carry) << 31 | value >> 1, value & 1 == 1),
    }
}

/// Shifts by the lowest byte of a register, 0 to 255. Returns the last bit shifted out, too.
pub fn shift_by_register(value: u32, shift: Shift, amount: u32, carry: bool) -> (u32, bool) {
    match (amount & 0xFF, shift) {
        (0, _) => (value, carry),
        (amount, Shift::Ror) => {
            let rotated = value.rotate_right(amount & 31);
            (rotated, rotated >> 31 == 1)
        }
        // From 33 on nothing of the value is left; only ASR goes on copying the sign.
        (33.., Shift::Lsl | Shift::Lsr) => (0, false),
        (32, Shift::Lsl) => (0, value & 1 == 1),
        (amount, shift) => {
            let amount = u8::try_from(amount.min(32)).unwrap_or(32);
            shift_by_constant(value, shift, amount, carry)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flags, shift_by_constant, shift_by_register};
    use crate::cpu::op::Shift;

    fn nzcv(flags: &Flags) -> u32 {
        flags.apsr() >> 28
    }

    #[test]
    fn sums_and_differences_set_carry_and_overflow() {
        let mut flags = Flags::default();
        assert_eq!(flags.add(0x7FFF_FFFF, 1, false), 0x8000_0000);
        assert_eq!(nzcv(&flags), 0b1001);
        assert_eq!(flags.add(5, !5, true), 0);
        assert_eq!(nzcv(&flags), 0b0110, "5 - 5: no borrow");
        flags.add(3, !5, true);
        assert_eq!(nzcv(&flags), 0b1000, "3 - 5: a borrow");
        flags.add(u32::MAX, u32::MAX, true);
        assert_eq!(nzcv(&flags), 0b1010);
    }

    #[test]
    fn every_condition_and_its_opposite_differ() {
        for bits in 0..16 {
            let mut flags = Flags::default();
            flags.set_nzcv(bits << 28);
            assert_eq!(nzcv(&flags), bits);
            for condition in (0..14).step_by(2) {
                assert_ne!(flags.holds(condition), flags.holds(condition + 1), "{condition} with {bits:04b}");
            }
            assert!(flags.holds(14));
        }
    }

    #[test]
    fn shifts_by_many_bits_leave_what_the_manual_says() {
        let value = 0x8000_0001;
        assert_eq!(shift_by_register(value, Shift::Lsl, 32, false), (0, true));
        assert_eq!(shift_by_register(value, Shift::Lsl, 33, true), (0, false));
        assert_eq!(shift_by_register(value, Shift::Lsr, 32, false), (0, true));
        assert_eq!(shift_by_register(value, Shift::Lsr, 40, true), (0, false));
        assert_eq!(shift_by_register(value, Shift::Asr, 200, false), (u32::MAX, true));
        assert_eq!(shift_by_register(value, Shift::Ror, 32, false), (value, true));
        assert_eq!(shift_by_register(value, Shift::Ror, 256, true), (value, true), "256 is a shift by nothing");
        assert_eq!(shift_by_constant(value, Shift::Rrx, 1, true), (0xC000_0000, true));
        assert_eq!(shift_by_constant(value, Shift::Lsl, 31, false), (0x8000_0000, false));
    }
}
