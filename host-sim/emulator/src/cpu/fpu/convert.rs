//! Conversions between single precision, integers, fixed point and half precision.

use std::cmp::Ordering;

use super::{
    ALTERNATIVE_HALF, DEFAULT_NAN_MODE, Fpu, INEXACT, INVALID, OVERFLOW, QUIET, Rounding, SIGN, UNDERFLOW, is_nan,
    is_signalling,
};

fn round_to_integer(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Up => value.ceil(),
        Rounding::Down => value.floor(),
        Rounding::TowardZero => value.trunc(),
    }
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from(2).powi(exponent)
}

impl Fpu {
    /// To an integer of `bits` bits, limited to its range, with `fraction` of them behind the point.
    fn convert_to_number(&mut self, value: u32, signed: bool, bits: u32, fraction: u8, rounding: Rounding) -> u32 {
        let value = self.operand(value);
        if is_nan(value) {
            self.status |= INVALID;
            return 0;
        }
        let exact = f64::from(f32::from_bits(value)) * power_of_two(i32::from(fraction));
        let rounded = round_to_integer(exact, rounding);
        let range = power_of_two(bits.cast_signed());
        let (low, high) = if signed { (-range / 2.0, range / 2.0 - 1.0) } else { (0.0, range - 1.0) };
        let limited = rounded.clamp(low, high);
        if limited != rounded {
            self.status |= INVALID;
        } else if rounded != exact {
            self.status |= INEXACT;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is within 33 bits")]
        let number = limited as i64 as u32;
        number
    }

    pub fn convert_to_integer(&mut self, value: u32, signed: bool, toward_zero: bool) -> u32 {
        let rounding = if toward_zero { Rounding::TowardZero } else { self.rounding() };
        self.convert_to_number(value, signed, 32, 0, rounding)
    }

    /// 16-bit results are extended to the whole register.
    pub fn convert_to_fixed(&mut self, value: u32, signed: bool, wide: bool, fraction: u8) -> u32 {
        self.convert_to_number(value, signed, if wide { 32 } else { 16 }, fraction, Rounding::TowardZero)
    }

    #[expect(clippy::cast_possible_truncation, reason = "to the nearest, as intended")]
    fn narrow(&mut self, exact: f64) -> u32 {
        let nearest = exact as f32;
        let order = exact.partial_cmp(&f64::from(nearest)).unwrap_or(Ordering::Equal);
        self.round(nearest, order)
    }

    pub fn convert_from_integer(&mut self, value: u32, signed: bool) -> u32 {
        let exact = if signed { f64::from(value.cast_signed()) } else { f64::from(value) };
        self.narrow(exact)
    }

    /// Always to the nearest, whatever the rounding mode.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half of the register, and the nearest single")]
    pub fn convert_from_fixed(&mut self, value: u32, signed: bool, wide: bool, fraction: u8) -> u32 {
        let number = match (signed, wide) {
            (true, true) => f64::from(value.cast_signed()),
            (true, false) => f64::from((value as u16).cast_signed()),
            (false, true) => f64::from(value),
            (false, false) => f64::from(value as u16),
        };
        let exact = number / power_of_two(i32::from(fraction));
        let nearest = exact as f32;
        if f64::from(nearest) != exact {
            self.status |= INEXACT;
        }
        nearest.to_bits()
    }

    pub fn convert_from_half(&mut self, half: u16) -> u32 {
        let half = u32::from(half);
        let sign = (half & 0x8000) << 16;
        let (exponent, fraction) = (half >> 10 & 31, half & 0x3FF);
        match exponent {
            31 if self.status & ALTERNATIVE_HALF == 0 => self.special_half(sign, fraction),
            0 => {
                #[expect(clippy::cast_possible_truncation, reason = "ten bits are exact in a single")]
                let value = (f64::from(fraction) * power_of_two(-24)) as f32;
                sign | value.to_bits()
            }
            exponent => sign | (exponent + 112) << 23 | fraction << 13,
        }
    }

    fn special_half(&mut self, sign: u32, fraction: u32) -> u32 {
        let bits = sign | 0x7F80_0000 | fraction << 13;
        if fraction == 0 { bits } else { self.not_a_number(&[bits]).unwrap_or(bits) }
    }

    pub fn convert_to_half(&mut self, value: u32) -> u16 {
        let value = self.operand(value);
        let sign = u16::try_from(value >> 31 << 15).unwrap_or(0);
        let alternative = self.status & ALTERNATIVE_HALF != 0;
        if is_nan(value) {
            return self.half_nan(value, sign, alternative);
        }
        let magnitude = f64::from(f32::from_bits(value & !SIGN));
        if magnitude.is_infinite() {
            if alternative {
                self.status |= INVALID;
            }
            return sign | if alternative { 0x7FFF } else { 0x7C00 };
        }
        // In units of the last place of a half in this binade; the smallest halves share one.
        let exponent = ((value >> 23 & 0xFF).cast_signed() - 127).max(-14);
        let scaled = magnitude * power_of_two(10 - exponent);
        let rounding = match (self.rounding(), sign) {
            (Rounding::Up, 0) | (Rounding::Down, 0x8000) => Rounding::Up,
            (Rounding::Nearest, _) => Rounding::Nearest,
            _ => Rounding::TowardZero,
        };
        let rounded = round_to_integer(scaled, rounding);
        #[expect(clippy::cast_possible_truncation, reason = "at most 2048")]
        let bits = ((exponent + 14) << 10) + rounded as i32;
        let limit = if alternative { 0x7FFF } else { 0x7BFF };
        if bits > limit {
            return sign | self.half_overflow(rounding, alternative);
        }
        if rounded != scaled {
            self.status |= INEXACT;
            if scaled < 1024.0 {
                self.status |= UNDERFLOW;
            }
        }
        sign | u16::try_from(bits).unwrap_or(0)
    }

    fn half_overflow(&mut self, rounding: Rounding, alternative: bool) -> u16 {
        if alternative {
            self.status |= INVALID;
            return 0x7FFF;
        }
        self.status |= OVERFLOW | INEXACT;
        if rounding == Rounding::TowardZero { 0x7BFF } else { 0x7C00 }
    }

    fn half_nan(&mut self, value: u32, sign: u16, alternative: bool) -> u16 {
        if is_signalling(value) || alternative {
            self.status |= INVALID;
        }
        if alternative {
            return sign;
        }
        if self.status & DEFAULT_NAN_MODE != 0 {
            return 0x7E00;
        }
        let fraction = (value | QUIET) >> 13 & 0x3FF;
        sign | 0x7C00 | u16::try_from(fraction).unwrap_or(0x200)
    }
}
