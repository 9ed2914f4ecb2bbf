//! Arithmetic that sets the flags, and instructions under conditions.

use crate::{Digest, Operands, instruction};

/// What APSR shows: N, Z, C and V.
#[cfg(not(target_arch = "arm"))]
fn nzcv(result: u32, carry: bool, overflow: bool) -> u32 {
    result >> 31 << 3 | u32::from(result == 0) << 2 | u32::from(carry) << 1 | u32::from(overflow)
}

#[cfg(not(target_arch = "arm"))]
fn sum_flags(a: u32, b: u32, carry: u32) -> u32 {
    let unsigned = u64::from(a) + u64::from(b) + u64::from(carry);
    let signed = i64::from(a.cast_signed()) + i64::from(b.cast_signed()) + i64::from(carry);
    let result = a.wrapping_add(b).wrapping_add(carry);
    nzcv(result, unsigned >> 32 != 0, i32::try_from(signed).is_err())
}

// A shift right by one first brings the lowest bit of an operand into the carry, where an instruction reads it.
instruction!(adds, "adds {r}, {a}, {b}\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| sum_flags(a, b, 0));
instruction!(subs, "subs {r}, {a}, {b}\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| sum_flags(a, !b, 1));
instruction!(cmns, "cmn {a}, {b}\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| sum_flags(a, b, 0));
instruction!(adcs, "lsrs {r}, {b}, #1\nadcs {r}, {a}, {b}\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| sum_flags(
    a,
    b,
    b & 1
));
instruction!(sbcs, "lsrs {r}, {b}, #1\nsbcs {r}, {a}, {b}\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| sum_flags(
    a,
    !b,
    b & 1
));
instruction!(rsbs, "rsbs {r}, {a}, {b}, lsl #3\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| sum_flags(!a, b << 3, 1));
instruction!(tst_shifted, "adds {r}, {a}, {b}\ntst {a}, {b}, ror #7\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| {
    let rotated = b.rotate_right(7);
    nzcv(a & rotated, rotated >> 31 == 1, sum_flags(a, b, 0) & 1 == 1)
});
instruction!(rrx, "lsrs {r}, {b}, #1\nrrx {r}, {a}", |a, b| (b & 1) << 31 | a >> 1);
instruction!(shift_left_flags, "cmp {a}, {a}\nlsls {r}, {a}, {b}\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| {
    let amount = b & 0xFF;
    let result = a.checked_shl(amount).unwrap_or(0);
    let carry = match amount {
        0 => true,
        1..=32 => a >> (32 - amount) & 1 == 1,
        _ => false,
    };
    nzcv(result, carry, false)
});
instruction!(shift_right_flags, "cmp {a}, {a}\nasrs {r}, {a}, {b}\nmrs {r}, apsr\nlsr {r}, {r}, #28", |a, b| {
    let amount = b & 0xFF;
    let result = (i64::from(a.cast_signed()) >> amount.min(40)).cast_unsigned();
    let carry = amount == 0 || (i64::from(a.cast_signed()) << 1 >> amount.min(40)) & 1 == 1;
    nzcv(u32::try_from(result & 0xFFFF_FFFF).unwrap_or(0), carry, false)
});
instruction!(
    conditional,
    "cmp {a}, {b}
     ittee hi
     subhi {r}, {a}, {b}
     lsrhi {r}, {r}, #1
     addls {r}, {b}, #1
     eorls {r}, {r}, {a}
     it vs
     mvnvs {r}, {r}
     cmp {r}, #0
     itete lt
     orrlt {r}, {r}, #1
     bicge {r}, {r}, #1
     asrlt {r}, {r}, #3
     lslge {r}, {r}, #2",
    |a, b| {
        let value = if a > b { (a - b) >> 1 } else { b.wrapping_add(1) ^ a };
        let overflow = a.cast_signed().checked_sub(b.cast_signed()).is_none();
        let value = if overflow { !value } else { value };
        if value >> 31 == 1 { ((value | 1).cast_signed() >> 3).cast_unsigned() } else { (value & !1) << 2 }
    }
);
instruction!(bit_fields, "mov {r}, {a}\nbfi {r}, {b}, #5, #11\nbfc {r}, #20, #3\nsbfx {r}, {r}, #3, #19", |a, b| {
    let inserted = a & !(0x7FF << 5) | (b & 0x7FF) << 5;
    let cleared = inserted & !(7 << 20);
    (cleared.cast_signed() << 10 >> 13).cast_unsigned()
});

pub(crate) fn digest(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed ^ 0x00F1_A650);
    let all = [
        adds,
        subs,
        cmns,
        adcs,
        sbcs,
        rsbs,
        tst_shifted,
        rrx,
        shift_left_flags,
        shift_right_flags,
        conditional,
        bit_fields,
    ];
    for _ in 0..2000 {
        let (a, b) = (operands.next(), operands.next());
        for instruction in all {
            digest.add(instruction(a, b));
        }
    }
    digest.0
}
