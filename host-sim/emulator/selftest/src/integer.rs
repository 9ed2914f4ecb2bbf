//! What a compiler makes of integer arithmetic, comparisons, tables and 64- and 128-bit numbers.

use crate::{Digest, Operands};

pub(crate) fn digest(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed);
    for _ in 0..3000 {
        let (a, b) = (operands.next(), operands.next());
        words(&mut digest, a, b);
        shifts(&mut digest, a, b);
        longs(&mut digest, a, b);
        choices(&mut digest, a, b);
    }
    digest.0
}

fn words(digest: &mut Digest, a: u32, b: u32) {
    let (i, j) = (a.cast_signed(), b.cast_signed());
    digest.add(a.wrapping_add(b));
    digest.add(a.checked_sub(b).unwrap_or(7));
    digest.add(a.checked_add(b).unwrap_or(9));
    digest.add(i.checked_add(j).unwrap_or(11).cast_unsigned());
    digest.add(i.checked_mul(j).unwrap_or(13).cast_unsigned());
    digest.add(a.checked_div(b).unwrap_or(15));
    digest.add(i.wrapping_div(if j == 0 { 3 } else { j }).cast_unsigned());
    digest.add(a % (b >> 20 | 1));
    digest.add(i.wrapping_rem(j >> 16 | 1).cast_unsigned());
    digest.add(i.saturating_add(j).cast_unsigned());
    digest.add(i.saturating_sub(j).cast_unsigned());
    digest.add(a.saturating_sub(b));
    digest.add((i >> 3).clamp(-512, 511).cast_unsigned());
    digest.add(i.clamp(0, 255).cast_unsigned());
    digest.add(i.unsigned_abs().min(a.abs_diff(b)));
}

#[expect(clippy::cast_possible_truncation, reason = "narrow loads and extensions are the point")]
fn shifts(digest: &mut Digest, a: u32, b: u32) {
    digest.add(a.leading_zeros() + b.trailing_zeros() * 3 + a.count_ones() * 7);
    digest.add(a.reverse_bits() ^ b.swap_bytes());
    digest.add(u32::from((a as u16).swap_bytes()));
    digest.add(i32::from((b as u16).cast_signed().swap_bytes()).cast_unsigned());
    digest.add(a.wrapping_shl(b) ^ b.wrapping_shr(a));
    digest.add(a.cast_signed().wrapping_shr(b).cast_unsigned());
    digest.add(a.rotate_left(b & 31));
    digest.add(a >> 7 & 0x3FF);
    digest.add((a.cast_signed() << 5 >> 20).cast_unsigned());
    digest.add(a & !0xFF0 | (b & 0xFF) << 4);
    digest.add(i32::from((a as u8).cast_signed()).cast_unsigned().wrapping_add(b));
    digest.add(u32::from(a as u16).wrapping_add(b));
    digest.add(a & 0xFFFF | b << 16);
    digest.add(a.checked_shl(b & 63).unwrap_or(a));
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half of a quotient")]
fn longs(digest: &mut Digest, a: u32, b: u32) {
    let product = u64::from(a) * u64::from(b);
    let (i, j) = (i64::from(a.cast_signed()), i64::from(b.cast_signed()));
    let mixed = i.wrapping_mul(j).wrapping_add(product.cast_signed());
    digest.add_long(product);
    digest.add_long(mixed.cast_unsigned());
    digest.add_long(product / (u64::from(b) | 1));
    digest.add_long(mixed.wrapping_rem(j | 1).cast_unsigned());
    digest.add_long(product << (a & 63) ^ product >> (b & 63));
    digest.add_long((mixed >> (a & 63)).cast_unsigned());
    digest.add_long(product.wrapping_sub(mixed.cast_unsigned()));
    digest.add(u32::from(product.cast_signed() < mixed) | u32::from(product > mixed.cast_unsigned()) << 1);
    let wide = u128::from(product) * u128::from(mixed.cast_unsigned());
    digest.add_long((wide >> 40) as u64);
    digest.add_long((wide / (u128::from(a) << 9 | 1)) as u64);
}

fn choices(digest: &mut Digest, a: u32, b: u32) {
    // Dense enough for a jump table, with bodies of different lengths.
    let chosen = match a % 23 {
        0 => 1,
        1 => b,
        2 => b.wrapping_mul(77),
        3 => a ^ 1,
        4 => b.rotate_left(9),
        5 => a / (b | 1),
        6 => b >> 3,
        7 => a.leading_zeros(),
        8 => b.wrapping_add(12),
        9 => a,
        10 => a | b,
        11 => a & b,
        12 => b.count_ones(),
        13 => !a,
        14 => a.wrapping_sub(b),
        _ => 0xFFFF,
    };
    digest.add(chosen);
    let (i, j) = (a.cast_signed(), b.cast_signed());
    let order = [a < b, a <= b, i < j, i <= j, a == b, i > 0, j >= 0 && i != j, a > b && i < j];
    digest.add(order.iter().fold(0, |bits, &holds| bits << 1 | u32::from(holds)));
}
