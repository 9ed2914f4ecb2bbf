//! The decoder: from one or two halfwords to an [`Op`](super::op::Op).
//!
//! It follows the tables of chapter A5 of the architecture manual. Encodings that the manual calls unpredictable decode to
//! [`Op::Unknown`](super::op::Op::Unknown): a compiler never emits them, so meeting one means that something went wrong.

mod float;
mod load_store;
mod multiply;
mod narrow;
mod wide;

use super::cycles::Cost;
use super::op::{Decoded, Op, Reg};

/// Decodes the instruction at an address. `second` is looked at only if the instruction is a long one. What it costs depends
/// on what follows it, and is not known here.
pub fn decode(address: u32, first: u16, second: u16) -> Decoded {
    let first = u32::from(first);
    if is_wide(first) {
        let bits = first << 16 | u32::from(second);
        Decoded { op: wide::decode(address, bits).unwrap_or(Op::Unknown { bits }), size: 4, cost: Cost::ONE }
    } else {
        let op = narrow::decode(address, first).unwrap_or(Op::Unknown { bits: first });
        Decoded { op, size: 2, cost: Cost::ONE }
    }
}

/// Whether a halfword begins a 32-bit instruction.
pub fn is_wide(first: u32) -> bool {
    first >> 11 >= 0b11101
}

/// `count` bits from bit `from` on.
const fn field(bits: u32, from: u32, count: u32) -> u32 {
    bits >> from & ((1 << count) - 1)
}

const fn bit(bits: u32, at: u32) -> bool {
    bits >> at & 1 == 1
}

/// The number of a core register from four bits.
fn reg(bits: u32, from: u32) -> Reg {
    byte(field(bits, from, 4))
}

/// The number of a low register from three bits.
fn low_reg(bits: u32, from: u32) -> Reg {
    byte(field(bits, from, 3))
}

/// A field that is known to be narrow.
#[expect(clippy::cast_possible_truncation, reason = "only called with fields of at most eight bits")]
const fn byte(value: u32) -> u8 {
    value as u8
}

/// Extends a number of `count` bits by its sign.
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "the sign bit is what it is about")]
const fn sign_extend(value: u32, count: u32) -> u32 {
    ((value << (32 - count)) as i32 >> (32 - count)) as u32
}

/// A distance that is added or subtracted.
const fn signed(add: bool, distance: u32) -> u32 {
    if add { distance } else { distance.wrapping_neg() }
}
