//! The DSP extension: parallel arithmetic on bytes and halfwords, saturation, and multiplications of halfwords.

use super::super::flags::shift_by_constant;
use super::super::op::{Dsp, Lanes, Parallel, Reg, Shift};
use super::Cpu;

/// The signed lower or upper half of a register.
#[expect(clippy::cast_possible_truncation, reason = "a half is meant")]
fn half(value: u32, top: bool) -> i64 {
    let half = if top { value >> 16 } else { value } as u16;
    i64::from(half.cast_signed())
}

fn word(value: u32) -> i64 {
    i64::from(value.cast_signed())
}

/// The lower 32 bits of a result.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "wrapping around is meant")]
const fn low_word(value: i64) -> u32 {
    value as u32
}

/// Limits a value to a signed or unsigned number of bits.
fn limit(value: i64, signed: bool, bits: u8) -> i64 {
    if signed {
        let bound = 1 << (bits - 1);
        value.clamp(-bound, bound - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

/// A lane of a register as a number.
fn lane(value: u32, at: u32, bits: u8, signed: bool) -> i64 {
    let top = value << (32 - u32::from(bits) - at);
    let spare = 32 - u32::from(bits);
    if signed { i64::from(top.cast_signed() >> spare) } else { i64::from(top >> spare) }
}

impl Cpu {
    #[inline(never)]
    pub(super) fn execute_dsp(&mut self, op: Dsp) {
        match op {
            Dsp::Parallel { op, lanes, signed, rd, rn, rm } => self.parallel(op, lanes, signed, (rd, rn, rm)),
            Dsp::SaturatingAdd { double, subtract, rd, rn, rm } => {
                let n = word(self.get(rn));
                let n = if double { self.saturated(2 * n, true, 32) } else { n };
                let m = word(self.get(rm));
                let sum = self.saturated(if subtract { m - n } else { m + n }, true, 32);
                self.set(rd, low_word(sum));
            }
            Dsp::Saturate { signed, rd, rn, bits, shift, amount } => {
                let value = self.get(rn);
                // A shift left by nothing is none.
                let shifted = match (shift, amount) {
                    (Shift::Lsl, 0) => value,
                    _ => shift_by_constant(value, shift, amount, false).0,
                };
                let result = self.saturated(word(shifted), signed, bits);
                self.set(rd, low_word(result));
            }
            Dsp::Saturate16 { signed, rd, rn, bits } => {
                let value = self.get(rn);
                let low = self.saturated(half(value, false), signed, bits);
                let high = self.saturated(half(value, true), signed, bits);
                self.set(rd, low_word(low) & 0xFFFF | low_word(high) << 16);
            }
            Dsp::Select { rd, rn, rm } => {
                let chosen = self.state.flags.greater_equal;
                let mask = (0..4).fold(0, |mask, byte| mask | (u32::from(chosen >> byte & 1) * 0xFF) << (8 * byte));
                self.set(rd, self.get(rn) & mask | self.get(rm) & !mask);
            }
            Dsp::Pack { top, rd, rn, rm, amount } => {
                let (n, m) = (self.get(rn), self.get(rm));
                let result = if top {
                    let shifted = (m.cast_signed() >> amount.min(31)).cast_unsigned();
                    n & 0xFFFF_0000 | shifted & 0xFFFF
                } else {
                    m << amount & 0xFFFF_0000 | n & 0xFFFF
                };
                self.set(rd, result);
            }
            other => self.execute_multiply(other),
        }
    }

    fn execute_multiply(&mut self, op: Dsp) {
        match op {
            Dsp::MultiplyHalves { n_top, m_top, rd, rn, rm, ra } => {
                let product = half(self.get(rn), n_top) * half(self.get(rm), m_top);
                self.accumulate(rd, ra, product);
            }
            Dsp::MultiplyWordHalf { m_top, rd, rn, rm, ra } => {
                let product = (word(self.get(rn)) * half(self.get(rm), m_top)) >> 16;
                self.accumulate(rd, ra, product);
            }
            Dsp::MultiplyDual { subtract, exchange, rd, rn, rm, ra } => {
                let sum = self.dual(subtract, exchange, rn, rm);
                self.accumulate(rd, ra, sum);
            }
            Dsp::MultiplyTop { subtract, round, rd, rn, rm, ra } => {
                let addend = if ra == 15 { 0 } else { word(self.get(ra)) << 32 };
                let product = word(self.get(rn)) * word(self.get(rm));
                let product = if subtract { product.wrapping_neg() } else { product };
                let half_unit = if round { 1 << 31 } else { 0 };
                self.set(rd, low_word(addend.wrapping_add(product).wrapping_add(half_unit) >> 32));
            }
            Dsp::LongMultiplyHalves { n_top, m_top, low, high, rn, rm } => {
                let product = half(self.get(rn), n_top) * half(self.get(rm), m_top);
                self.accumulate_long(low, high, product);
            }
            Dsp::LongMultiplyDual { subtract, exchange, low, high, rn, rm } => {
                let sum = self.dual(subtract, exchange, rn, rm);
                self.accumulate_long(low, high, sum);
            }
            Dsp::SumOfDifferences { rd, rn, rm, ra } => {
                let (n, m) = (self.get(rn).to_le_bytes(), self.get(rm).to_le_bytes());
                let addend = if ra == 15 { 0 } else { self.get(ra) };
                let sum = n.iter().zip(m).map(|(&n, m)| u32::from(n.abs_diff(m))).sum::<u32>();
                self.set(rd, addend.wrapping_add(sum));
            }
            // The caller executes the others itself.
            _ => {}
        }
    }

    fn saturated(&mut self, value: i64, signed: bool, bits: u8) -> i64 {
        let limited = limit(value, signed, bits);
        self.state.flags.saturated |= limited != value;
        limited
    }

    fn dual(&self, subtract: bool, exchange: bool, rn: Reg, rm: Reg) -> i64 {
        let n = self.get(rn);
        let m = if exchange { self.get(rm).rotate_right(16) } else { self.get(rm) };
        let (low, high) = (half(n, false) * half(m, false), half(n, true) * half(m, true));
        if subtract { low - high } else { low + high }
    }

    /// Adds a register, wraps around, and notes that it did.
    fn accumulate(&mut self, rd: Reg, ra: Reg, product: i64) {
        let sum = product + if ra == 15 { 0 } else { word(self.get(ra)) };
        self.state.flags.saturated |= i32::try_from(sum).is_err();
        self.set(rd, low_word(sum));
    }

    fn accumulate_long(&mut self, low: Reg, high: Reg, product: i64) {
        let sum = self.pair(low, high).wrapping_add_signed(product);
        self.set_pair(low, high, sum);
    }

    fn parallel(&mut self, op: Parallel, lanes: Lanes, signed: bool, (rd, rn, rm): (Reg, Reg, Reg)) {
        let (n, m) = (self.get(rn), self.get(rm));
        let bits: u8 = if matches!(op, Parallel::Add8 | Parallel::Sub8) { 8 } else { 16 };
        let m = if matches!(op, Parallel::Asx | Parallel::Sax) { m.rotate_right(16) } else { m };
        let (mut result, mut flags) = (0, 0);
        for at in (0..32).step_by(usize::from(bits)) {
            let subtracts = match op {
                Parallel::Add16 | Parallel::Add8 => false,
                Parallel::Sub16 | Parallel::Sub8 => true,
                Parallel::Asx => at == 0,
                Parallel::Sax => at != 0,
            };
            let (a, b) = (lane(n, at, bits, signed), lane(m, at, bits, signed));
            let exact = if subtracts { a - b } else { a + b };
            // Unsigned sums tell of a carry, everything else of a result that is not negative.
            let greater_equal = if signed || subtracts { exact >= 0 } else { exact >= 1 << bits };
            let value = match lanes {
                Lanes::Modulo => exact,
                Lanes::Saturate => limit(exact, signed, bits),
                Lanes::Halve => exact >> 1,
            };
            let mask = (1 << bits) - 1;
            result |= (low_word(value) & mask) << at;
            if greater_equal {
                flags |= (if bits == 8 { 0b1 } else { 0b11 }) << (at / 8);
            }
        }
        if lanes == Lanes::Modulo {
            self.state.flags.greater_equal = flags;
        }
        self.set(rd, result);
    }
}
