//! Conversions that Rust has no operator for: fixed point, half precision, rounding by mode.

use crate::{Digest, Operands};

/// A conversion of one register in place.
macro_rules! conversion {
    ($name:ident, $assembly:literal, |$value:ident| $reference:expr) => {
        #[inline(never)]
        fn $name($value: u32) -> u32 {
            #[cfg(target_arch = "arm")]
            {
                let mut result = $value;
                // SAFETY: the instructions compute with registers and restore the one that they borrow.
                unsafe {
                    core::arch::asm!("vpush {{s0}}", "vmov s0, {r}", $assembly, "vmov {r}, s0", "vpop {{s0}}",
                        r = inout(reg) result, options(pure, nomem));
                }
                result
            }
            #[cfg(not(target_arch = "arm"))]
            $reference
        }
    };
}

/// Scales, rounds toward zero and limits.
#[cfg(not(target_arch = "arm"))]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited before")]
fn to_fixed(value: u32, scale: f64, least: f64, most: f64) -> u32 {
    let number = f64::from(f32::from_bits(value));
    if number.is_nan() { 0 } else { (number * scale).trunc().max(least).min(most) as i64 as u32 }
}

conversion!(to_s16, "vcvt.s16.f32 s0, s0, #7", |value| to_fixed(value, 128.0, -32768.0, 32767.0));
conversion!(to_u16, "vcvt.u16.f32 s0, s0, #3", |value| to_fixed(value, 8.0, 0.0, 65535.0));
conversion!(to_s32, "vcvt.s32.f32 s0, s0, #12", |value| to_fixed(value, 4096.0, -2_147_483_648.0, 2_147_483_647.0));
conversion!(to_u32, "vcvt.u32.f32 s0, s0, #1", |value| to_fixed(value, 2.0, 0.0, 4_294_967_295.0));
#[cfg(not(target_arch = "arm"))]
#[expect(clippy::cast_possible_truncation, reason = "to the nearest")]
fn scaled(number: f64, scale: f64) -> u32 {
    ((number / scale) as f32).to_bits()
}
conversion!(from_s16, "vcvt.f32.s16 s0, s0, #7", |value| scaled(f64::from(value.cast_signed() << 16 >> 16), 128.0));
conversion!(from_u16, "vcvt.f32.u16 s0, s0, #16", |value| scaled(f64::from(value & 0xFFFF), 65536.0));
conversion!(from_s32, "vcvt.f32.s32 s0, s0, #31", |value| scaled(f64::from(value.cast_signed()), 2_147_483_648.0));
conversion!(from_u32, "vcvt.f32.u32 s0, s0, #1", |value| scaled(f64::from(value), 2.0));
// The rounding mode after a reset is to the nearest, ties to even.
conversion!(rounded, "vcvtr.s32.f32 s0, s0", |value| { saturate(f64::from(f32::from_bits(value)).round_ties_even()) });

#[cfg(not(target_arch = "arm"))]
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates and makes NaN zero, as the instruction does")]
fn saturate(number: f64) -> u32 {
    (number as i32).cast_unsigned()
}

/// The single of a half: by its fields, with integers.
#[cfg(not(target_arch = "arm"))]
fn single_of_half(half: u32) -> u32 {
    let (sign, exponent, fraction) = (half >> 15 << 31, half >> 10 & 31, half & 0x3FF);
    match (exponent, fraction) {
        (0, 0) => sign,
        (0, _) => {
            // The highest bit of the fraction becomes the hidden one.
            let shift = fraction.leading_zeros() - 21;
            sign | (113 - shift) << 23 | (fraction << shift & 0x3FF) << 13
        }
        (31, 0) => sign | 0x7F80_0000,
        (31, _) => sign | 0x7FC0_0000 | fraction << 13,
        _ => sign | (exponent + 112) << 23 | fraction << 13,
    }
}

/// The half nearest to a single, ties to even: by its fields, with integers.
#[cfg(not(target_arch = "arm"))]
fn half_of_single(single: u32) -> u32 {
    let (sign, magnitude) = (single >> 31 << 15, single & 0x7FFF_FFFF);
    if magnitude > 0x7F80_0000 {
        return sign | 0x7E00 | magnitude >> 13 & 0x3FF;
    }
    let exponent = magnitude >> 23;
    let significand = if exponent == 0 { magnitude } else { magnitude & 0x7F_FFFF | 0x80_0000 };
    // How many bits are dropped, and what the rest begins from.
    let (dropped, base) = if exponent >= 113 { (13, (exponent - 113) << 10) } else { (13 + 113 - exponent.max(1), 0) };
    if dropped > 25 {
        return sign;
    }
    let (kept, rest, middle) = (significand >> dropped, significand & ((1 << dropped) - 1), 1 << (dropped - 1));
    let up = rest > middle || rest == middle && kept & 1 == 1;
    sign | (base + kept + u32::from(up)).min(0x7C00)
}

conversion!(from_half, "vcvtb.f32.f16 s0, s0", |value| single_of_half(value & 0xFFFF));
conversion!(from_top_half, "vcvtt.f32.f16 s0, s0", |value| single_of_half(value >> 16));
conversion!(to_half, "vcvtb.f16.f32 s0, s0", |value| value & 0xFFFF_0000 | half_of_single(value));
conversion!(to_top_half, "vcvtt.f16.f32 s0, s0", |value| value & 0xFFFF | half_of_single(value) << 16);

pub(crate) fn digest(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed ^ 0x00C0_3141);
    let all = [
        to_s16,
        to_u16,
        to_s32,
        to_u32,
        from_s16,
        from_u16,
        from_s32,
        from_u32,
        rounded,
        from_half,
        from_top_half,
        to_half,
        to_top_half,
    ];
    for round in 0..4000 {
        let random = operands.next();
        // Most random singles are far outside every range; every second one is brought near.
        let value = if round & 1 == 0 { random } else { random & 0x87FF_FFFF | 0x3800_0000 };
        for conversion in all {
            digest.add(conversion(value));
        }
    }
    digest.0
}
