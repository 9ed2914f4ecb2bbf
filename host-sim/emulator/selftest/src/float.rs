//! Floating-point arithmetic: single precision by the unit, double precision by the compiler's library.

use core::hint::black_box;

use crate::{Digest, Operands};

/// What is not a number has many representations, and a PC chooses another one.
fn bits(value: f32) -> u32 {
    if value.is_nan() { 0x7FC0_0000 } else { value.to_bits() }
}

fn long_bits(value: f64) -> u64 {
    if value.is_nan() { 0x7FF8_0000_0000_0000 } else { value.to_bits() }
}

/// A number from random bits: half of them anything, the others near one, where sums cancel and round.
fn number(operands: &mut Operands) -> f32 {
    let random = operands.next();
    black_box(f32::from_bits(if random & 1 == 0 { random } else { random & 0x81FF_FFFF | 0x3E00_0000 }))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "conversions and comparisons are the point"
)]
pub(crate) fn single(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed ^ 0x00F3_2000);
    for _ in 0..4000 {
        let (a, b, c) = (number(&mut operands), number(&mut operands), number(&mut operands));
        for value in [a + b, a - b, a * b, a / b, -a, a.abs(), a * b + c, a * b - c, -(a * b) - c, c - a * b] {
            digest.add(bits(value));
        }
        digest.add(a as u32 ^ (b as i32).cast_unsigned());
        digest.add(u32::from(a as u8) ^ u32::from(b as u16) << 8 ^ i32::from(c as i16).cast_unsigned());
        let order = [a < b, a <= b, a == b, a >= b, a > b, a != b, a < 0.0, b >= 0.0];
        digest.add(order.iter().fold(0, |bits, &holds| bits << 1 | u32::from(holds)));
        digest.add(bits(if a < b { a } else { b }));
        let integer = operands.next();
        digest.add(bits(black_box(integer) as f32));
        digest.add(bits(black_box(integer.cast_signed()) as f32));
    }
    digest.0
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "conversions and comparisons are the point"
)]
pub(crate) fn double(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed ^ 0x00F6_4000);
    for _ in 0..1200 {
        let (a, b) = (f64::from(number(&mut operands)), f64::from(number(&mut operands)));
        let (integer, other) = (operands.next(), operands.next());
        let long = u64::from(integer) << 32 | u64::from(other);
        let (c, d) = (a + f64::from(integer), b * f64::from(other.cast_signed()) / 3.0);
        for value in [a + b, c - d, c * d, c / d, long as f64, long.cast_signed() as f64] {
            digest.add_long(long_bits(value));
        }
        digest.add(bits(c as f32) ^ bits(d as f32));
        digest.add_long((c * d) as u64 ^ (d as i64).cast_unsigned());
        digest.add(d as u32 ^ (c as i32).cast_unsigned());
        digest.add(u32::from(a < b) | u32::from(c >= d) << 1 | u32::from(c == d) << 2);
    }
    digest.0
}

/// A floating-point instruction on three registers, the first of which is also the result.
macro_rules! accumulating {
    ($name:ident, $mnemonic:literal, |$d:ident, $n:ident, $m:ident| $reference:expr) => {
        #[inline(never)]
        fn $name($d: f32, $n: f32, $m: f32) -> f32 {
            #[cfg(target_arch = "arm")]
            {
                let mut result = $d.to_bits();
                // SAFETY: the instructions compute with registers and restore those that they borrow.
                unsafe {
                    core::arch::asm!(
                        "vpush {{s0-s2}}",
                        "vmov s0, {d}",
                        "vmov s1, {n}",
                        "vmov s2, {m}",
                        concat!($mnemonic, " s0, s1, s2"),
                        "vmov {d}, s0",
                        "vpop {{s0-s2}}",
                        d = inout(reg) result, n = in(reg) $n.to_bits(), m = in(reg) $m.to_bits(),
                        options(pure, nomem));
                }
                f32::from_bits(result)
            }
            #[cfg(not(target_arch = "arm"))]
            $reference
        }
    };
}

accumulating!(vfma, "vfma.f32", |d, n, m| n.mul_add(m, d));
accumulating!(vfms, "vfms.f32", |d, n, m| (-n).mul_add(m, d));
accumulating!(vfnma, "vfnma.f32", |d, n, m| (-n).mul_add(m, -d));
accumulating!(vfnms, "vfnms.f32", |d, n, m| n.mul_add(m, -d));
// These round the product before they add.
accumulating!(vmla, "vmla.f32", |d, n, m| d + black_box(n * m));
accumulating!(vmls, "vmls.f32", |d, n, m| d - black_box(n * m));
accumulating!(vnmla, "vnmla.f32", |d, n, m| -d - black_box(n * m));
accumulating!(vnmls, "vnmls.f32", |d, n, m| -d + black_box(n * m));

#[cfg(target_arch = "arm")]
fn square_root(value: f32) -> f32 {
    let mut result = value.to_bits();
    // SAFETY: the instructions compute with registers and restore the one that they borrow.
    unsafe {
        core::arch::asm!("vpush {{s0}}", "vmov s0, {r}", "vsqrt.f32 s0, s0", "vmov {r}, s0", "vpop {{s0}}",
            r = inout(reg) result, options(pure, nomem));
    }
    f32::from_bits(result)
}

#[cfg(not(target_arch = "arm"))]
fn square_root(value: f32) -> f32 {
    value.sqrt()
}

pub(crate) fn instructions(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed ^ 0x00F3_2001);
    for _ in 0..3000 {
        let (d, n, m) = (number(&mut operands), number(&mut operands), number(&mut operands));
        for instruction in [vfma, vfms, vfnma, vfnms, vmla, vmls, vnmla, vnmls] {
            digest.add(bits(instruction(d, n, m)));
        }
        digest.add(bits(square_root(d)));
        digest.add(bits(square_root(n.abs())));
    }
    digest.0
}
