//! The floating-point unit: its registers and its arithmetic in single precision.
//!
//! Sums, products, quotients and roots are first computed as the host does, to the nearest. Whether the exact result lies
//! above or below follows from double precision, in which products of singles are exact and the error of a sum is known.
//! That gives the other rounding modes and the flags.

#![expect(clippy::float_cmp, reason = "whether two numbers are exactly the same is what it is about")]

mod convert;

use std::cmp::Ordering;

use super::op::FpBinary;

const INVALID: u32 = 1;
const DIVISION_BY_ZERO: u32 = 1 << 1;
const OVERFLOW: u32 = 1 << 2;
const UNDERFLOW: u32 = 1 << 3;
const INEXACT: u32 = 1 << 4;
const INPUT_DENORMAL: u32 = 1 << 7;
const FLUSH_TO_ZERO: u32 = 1 << 24;
const DEFAULT_NAN_MODE: u32 = 1 << 25;
const ALTERNATIVE_HALF: u32 = 1 << 26;

const SIGN: u32 = 1 << 31;
const QUIET: u32 = 1 << 22;
const DEFAULT_NAN: u32 = 0x7FC0_0000;

/// How a result between two numbers is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounding {
    Nearest,
    Up,
    Down,
    TowardZero,
}

#[derive(Clone, Default)]
pub struct Fpu {
    /// The registers, as bits.
    pub s: [u32; 32],
    /// The status and control register.
    pub status: u32,
}

/// The cumulative flags of FPSCR.
const FLAGS: u32 = 0x9F;
/// The number of the unit's interrupt on an nRF52.
pub const INTERRUPT: u32 = 38;

/// The bits of FPSCR that can be written.
pub const STATUS_MASK: u32 = 0xF7C0_009F;

fn is_nan(bits: u32) -> bool {
    bits & !SIGN > 0x7F80_0000
}

fn is_signalling(bits: u32) -> bool {
    is_nan(bits) && bits & QUIET == 0
}

fn is_denormal(bits: u32) -> bool {
    bits & 0x7F80_0000 == 0 && bits & !SIGN != 0
}

/// The exact sum of two doubles.
#[derive(Clone, Copy)]
struct Sum {
    rounded: f64,
    /// How far the exact sum lies above it.
    error: f64,
}

impl Sum {
    fn is_zero(self) -> bool {
        self.rounded == 0.0 && self.error == 0.0
    }
}

fn two_sum(a: f64, b: f64) -> Sum {
    let sum = a + b;
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    Sum { rounded: sum, error }
}

/// How an exact sum compares with a single.
fn compare_sum(sum: Sum, single: f32) -> Ordering {
    let order = sum.rounded.partial_cmp(&f64::from(single)).unwrap_or(Ordering::Equal);
    order.then(sum.error.partial_cmp(&0.0).unwrap_or(Ordering::Equal))
}

impl Fpu {
    /// The line of the unit's interrupt, which is high while any of its cumulative flags is set.
    pub fn interrupt_line(&self) -> u64 {
        u64::from(self.status & FLAGS != 0) << INTERRUPT
    }

    fn rounding(&self) -> Rounding {
        match self.status >> 22 & 3 {
            0 => Rounding::Nearest,
            1 => Rounding::Up,
            2 => Rounding::Down,
            _ => Rounding::TowardZero,
        }
    }

    /// An operand as the unit sees it: denormals may count as zero.
    fn operand(&mut self, bits: u32) -> u32 {
        if self.status & FLUSH_TO_ZERO != 0 && is_denormal(bits) {
            self.status |= INPUT_DENORMAL;
            return bits & SIGN;
        }
        bits
    }

    fn invalid(&mut self) -> u32 {
        self.status |= INVALID;
        DEFAULT_NAN
    }

    /// The result if an operand is not a number: the first signalling one made quiet, else the first quiet one.
    fn not_a_number(&mut self, operands: &[u32]) -> Option<u32> {
        let signalling = operands.iter().copied().find(|&bits| is_signalling(bits));
        if signalling.is_some() {
            self.status |= INVALID;
        }
        let nan = signalling.or_else(|| operands.iter().copied().find(|&bits| is_nan(bits)))?;
        Some(if self.status & DEFAULT_NAN_MODE != 0 { DEFAULT_NAN } else { nan | QUIET })
    }

    /// Rounds a result that is known to the nearest, given where the exact one lies, and sets the flags.
    fn round(&mut self, nearest: f32, exact: Ordering) -> u32 {
        let below_normal = nearest.abs() < f32::MIN_POSITIVE
            || nearest.abs() == f32::MIN_POSITIVE && (exact == Ordering::Less) == (nearest > 0.0);
        let tiny = below_normal && exact != Ordering::Equal;
        if self.status & FLUSH_TO_ZERO != 0 && (tiny || is_denormal(nearest.to_bits())) {
            self.status |= UNDERFLOW;
            return nearest.to_bits() & SIGN;
        }
        if exact == Ordering::Equal {
            return nearest.to_bits();
        }
        self.status |= INEXACT;
        if tiny {
            self.status |= UNDERFLOW;
        }
        if nearest.is_infinite() {
            self.status |= OVERFLOW;
        }
        let rounded = match (self.rounding(), exact) {
            (Rounding::Up, Ordering::Greater) => nearest.next_up(),
            (Rounding::Down, Ordering::Less) => nearest.next_down(),
            (Rounding::TowardZero, Ordering::Less) if nearest > 0.0 => nearest.next_down(),
            (Rounding::TowardZero, Ordering::Greater) if nearest < 0.0 => nearest.next_up(),
            _ => nearest,
        };
        rounded.to_bits()
    }

    /// The sign of an exact zero that is the sum of two numbers with different signs.
    fn cancelled(&self) -> u32 {
        if self.rounding() == Rounding::Down { SIGN } else { 0 }
    }

    pub fn add(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.operand(a), self.operand(b));
        if let Some(nan) = self.not_a_number(&[a, b]) {
            return nan;
        }
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        let nearest = x + y;
        if nearest.is_nan() {
            return self.invalid();
        }
        if x.is_infinite() || y.is_infinite() {
            return nearest.to_bits();
        }
        let exact = two_sum(f64::from(x), f64::from(y));
        if exact.is_zero() && (a ^ b) & SIGN != 0 {
            return self.cancelled();
        }
        self.round(nearest, compare_sum(exact, nearest))
    }

    pub fn multiply(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.operand(a), self.operand(b));
        if let Some(nan) = self.not_a_number(&[a, b]) {
            return nan;
        }
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        let nearest = x * y;
        if nearest.is_nan() {
            return self.invalid();
        }
        if x.is_infinite() || y.is_infinite() {
            return nearest.to_bits();
        }
        // Two singles' product fits a double.
        let exact = Sum { rounded: f64::from(x) * f64::from(y), error: 0.0 };
        self.round(nearest, compare_sum(exact, nearest))
    }

    pub fn divide(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.operand(a), self.operand(b));
        if let Some(nan) = self.not_a_number(&[a, b]) {
            return nan;
        }
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        let nearest = x / y;
        if nearest.is_nan() {
            return self.invalid();
        }
        if x.is_infinite() || y.is_infinite() {
            return nearest.to_bits();
        }
        if y == 0.0 {
            self.status |= DIVISION_BY_ZERO;
            return nearest.to_bits();
        }
        // The quotient lies above the rounded one if the dividend lies above rounded times divisor, for a positive divisor.
        let back = f64::from(nearest) * f64::from(y);
        let order = f64::from(x).partial_cmp(&back).unwrap_or(Ordering::Equal);
        self.round(nearest, if y < 0.0 { order.reverse() } else { order })
    }

    pub fn square_root(&mut self, a: u32) -> u32 {
        let a = self.operand(a);
        if let Some(nan) = self.not_a_number(&[a]) {
            return nan;
        }
        let x = f32::from_bits(a);
        if x < 0.0 {
            return self.invalid();
        }
        let nearest = x.sqrt();
        if x.is_infinite() {
            return nearest.to_bits();
        }
        let back = f64::from(nearest) * f64::from(nearest);
        self.round(nearest, f64::from(x).partial_cmp(&back).unwrap_or(Ordering::Equal))
    }

    /// `addend + a * b`, rounded once.
    pub fn multiply_add(&mut self, addend: u32, a: u32, b: u32) -> u32 {
        let (addend, a, b) = (self.operand(addend), self.operand(a), self.operand(b));
        let [sum, x, y] = [addend, a, b].map(f32::from_bits);
        let impossible = x.is_infinite() && y == 0.0 || x == 0.0 && y.is_infinite();
        if impossible && is_nan(addend) && !is_signalling(addend) {
            return self.invalid();
        }
        if let Some(nan) = self.not_a_number(&[addend, a, b]) {
            return nan;
        }
        let nearest = x.mul_add(y, sum);
        if impossible || nearest.is_nan() {
            return self.invalid();
        }
        if x.is_infinite() || y.is_infinite() || sum.is_infinite() {
            return nearest.to_bits();
        }
        let exact = two_sum(f64::from(x) * f64::from(y), f64::from(sum));
        if exact.is_zero() && (a ^ b ^ addend) & SIGN != 0 {
            return self.cancelled();
        }
        self.round(nearest, compare_sum(exact, nearest))
    }

    /// An operation on two registers and, where it accumulates, on the destination.
    pub fn binary(&mut self, op: FpBinary, d: u32, n: u32, m: u32) -> u32 {
        match op {
            FpBinary::Vadd => self.add(n, m),
            FpBinary::Vsub => self.subtract(n, m),
            FpBinary::Vmul => self.multiply(n, m),
            FpBinary::Vnmul => self.multiply(n, m) ^ SIGN,
            FpBinary::Vdiv => self.divide(n, m),
            FpBinary::Vmla | FpBinary::Vmls | FpBinary::Vnmla | FpBinary::Vnmls => {
                let product = self.multiply(n, m);
                let negates_product = matches!(op, FpBinary::Vmls | FpBinary::Vnmla);
                let negates_addend = matches!(op, FpBinary::Vnmla | FpBinary::Vnmls);
                self.add(negated(d, negates_addend), negated(product, negates_product))
            }
            FpBinary::Vfma | FpBinary::Vfms | FpBinary::Vfnma | FpBinary::Vfnms => {
                let negates_factor = matches!(op, FpBinary::Vfms | FpBinary::Vfnma);
                let negates_addend = matches!(op, FpBinary::Vfnma | FpBinary::Vfnms);
                self.multiply_add(negated(d, negates_addend), negated(n, negates_factor), m)
            }
        }
    }

    /// Not an addition of the negative: that would change the sign of a NaN.
    fn subtract(&mut self, a: u32, b: u32) -> u32 {
        if is_nan(b) { self.add(a, b) } else { self.add(a, b ^ SIGN) }
    }

    /// Compares and sets N, Z, C and V of the status register.
    pub fn compare(&mut self, a: u32, b: u32, signal_any_nan: bool) {
        let (a, b) = (self.operand(a), self.operand(b));
        let order = f32::from_bits(a).partial_cmp(&f32::from_bits(b));
        if order.is_none() && (signal_any_nan || is_signalling(a) || is_signalling(b)) {
            self.status |= INVALID;
        }
        let nzcv = match order {
            Some(Ordering::Less) => 0b1000,
            Some(Ordering::Equal) => 0b0110,
            Some(Ordering::Greater) => 0b0010,
            None => 0b0011,
        };
        self.status = self.status & 0x0FFF_FFFF | nzcv << 28;
    }
}

fn negated(bits: u32, negate: bool) -> u32 {
    if negate { bits ^ SIGN } else { bits }
}

#[cfg(test)]
mod tests;
