//! Multiplications of halves, words and pairs, with and without an addend.

use crate::{Digest, Operands, instruction};

#[cfg(not(target_arch = "arm"))]
fn bottom(value: u32) -> i64 {
    i64::from(value.cast_signed() << 16 >> 16)
}

#[cfg(not(target_arch = "arm"))]
fn top(value: u32) -> i64 {
    i64::from(value.cast_signed() >> 16)
}

#[cfg(not(target_arch = "arm"))]
fn long(value: u32) -> i64 {
    i64::from(value.cast_signed())
}

#[cfg(not(target_arch = "arm"))]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the lower word is meant")]
fn low(value: i64) -> u32 {
    value as u32
}

instruction!(smulbb, "smulbb {r}, {a}, {b}", |a, b| low(bottom(a) * bottom(b)));
instruction!(smulbt, "smulbt {r}, {a}, {b}", |a, b| low(bottom(a) * top(b)));
instruction!(smultb, "smultb {r}, {a}, {b}", |a, b| low(top(a) * bottom(b)));
instruction!(smultt, "smultt {r}, {a}, {b}", |a, b| low(top(a) * top(b)));
instruction!(smlabt, "smlabt {r}, {a}, {b}, {b}", |a, b| low(bottom(a) * top(b) + long(b)));
instruction!(smulwb, "smulwb {r}, {a}, {b}", |a, b| low((long(a) * bottom(b)) >> 16));
instruction!(smlawt, "smlawt {r}, {a}, {b}, {a}", |a, b| low(((long(a) * top(b)) >> 16) + long(a)));
instruction!(smuad, "smuad {r}, {a}, {b}", |a, b| low(bottom(a) * bottom(b) + top(a) * top(b)));
instruction!(smuadx, "smuadx {r}, {a}, {b}", |a, b| low(bottom(a) * top(b) + top(a) * bottom(b)));
instruction!(smusd, "smusd {r}, {a}, {b}", |a, b| low(bottom(a) * bottom(b) - top(a) * top(b)));
instruction!(smusdx, "smusdx {r}, {a}, {b}", |a, b| low(bottom(a) * top(b) - top(a) * bottom(b)));
instruction!(smlad, "smlad {r}, {a}, {b}, {b}", |a, b| low(bottom(a) * bottom(b) + top(a) * top(b) + long(b)));
instruction!(smlsdx, "smlsdx {r}, {a}, {b}, {a}", |a, b| low(bottom(a) * top(b) - top(a) * bottom(b) + long(a)));
instruction!(smmul, "smmul {r}, {a}, {b}", |a, b| low((long(a) * long(b)) >> 32));
instruction!(smmulr, "smmulr {r}, {a}, {b}", |a, b| low((long(a) * long(b) + (1 << 31)) >> 32));
instruction!(smmla, "smmla {r}, {a}, {b}, {b}", |a, b| low(((long(b) << 32).wrapping_add(long(a) * long(b))) >> 32));
instruction!(smmls, "smmls {r}, {a}, {b}, {a}", |a, b| low(((long(a) << 32).wrapping_sub(long(a) * long(b))) >> 32));
instruction!(mls, "mls {r}, {a}, {b}, {b}", |a, b| b.wrapping_sub(a.wrapping_mul(b)));
instruction!(mla, "mla {r}, {a}, {b}, {a}", |a, b| a.wrapping_add(a.wrapping_mul(b)));
instruction!(muls, "mov {r}, {a}\nmul {r}, {r}, {b}", |a, b| a.wrapping_mul(b));
// Quotients by nothing are zero, and the one that does not fit wraps around.
instruction!(sdiv, "sdiv {r}, {a}, {b}", |a, b| if b == 0 {
    0
} else {
    a.cast_signed().wrapping_div(b.cast_signed()).cast_unsigned()
});
instruction!(udiv, "udiv {r}, {a}, {b}", |a, b| a.checked_div(b).unwrap_or(0));

/// An instruction that adds a product to a pair of registers.
macro_rules! accumulating {
    ($name:ident, $mnemonic:literal, |$pair:ident, $a:ident, $b:ident| $reference:expr) => {
        #[inline(never)]
        fn $name($pair: u64, $a: u32, $b: u32) -> u64 {
            #[cfg(target_arch = "arm")]
            {
                let [b0, b1, b2, b3, b4, b5, b6, b7] = $pair.to_le_bytes();
                let mut low = u32::from_le_bytes([b0, b1, b2, b3]);
                let mut high = u32::from_le_bytes([b4, b5, b6, b7]);
                // SAFETY: the instruction computes with registers alone.
                unsafe {
                    core::arch::asm!(concat!($mnemonic, " {l}, {h}, {a}, {b}"), l = inout(reg) low,
                        h = inout(reg) high, a = in(reg) $a, b = in(reg) $b, options(pure, nomem, nostack));
                }
                u64::from(high) << 32 | u64::from(low)
            }
            #[cfg(not(target_arch = "arm"))]
            $reference
        }
    };
}

accumulating!(smlal, "smlal", |pair, a, b| pair.wrapping_add_signed(long(a) * long(b)));
accumulating!(umlal, "umlal", |pair, a, b| pair.wrapping_add(u64::from(a) * u64::from(b)));
accumulating!(umaal, "umaal", |pair, a, b| u64::from(a) * u64::from(b) + (pair >> 32) + (pair & 0xFFFF_FFFF));
accumulating!(smlaltb, "smlaltb", |pair, a, b| pair.wrapping_add_signed(top(a) * bottom(b)));
accumulating!(smlald, "smlald", |pair, a, b| pair.wrapping_add_signed(bottom(a) * bottom(b) + top(a) * top(b)));
accumulating!(smlaldx, "smlaldx", |pair, a, b| pair.wrapping_add_signed(bottom(a) * top(b) + top(a) * bottom(b)));
accumulating!(smlsld, "smlsld", |pair, a, b| pair.wrapping_add_signed(bottom(a) * bottom(b) - top(a) * top(b)));

pub(crate) fn digest(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed ^ 0x0030_1713);
    let short = [
        smulbb, smulbt, smultb, smultt, smlabt, smulwb, smlawt, smuad, smuadx, smusd, smusdx, smlad, smlsdx, smmul,
        smmulr, smmla, smmls, mls, mla, muls, sdiv, udiv,
    ];
    let long = [smlal, umlal, umaal, smlaltb, smlald, smlaldx, smlsld];
    let mut pair = u64::from(seed);
    for _ in 0..1500 {
        let (a, b) = (operands.next(), operands.next());
        for instruction in short {
            digest.add(instruction(a, b));
        }
        for instruction in long {
            pair = instruction(pair, a, b);
            digest.add_long(pair);
        }
    }
    digest.0
}
