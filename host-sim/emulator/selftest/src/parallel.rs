//! Parallel arithmetic on bytes and halfwords, the selection after it, and saturation.

use crate::{Digest, Operands, instruction};

/// How lanes are paired and what is done to each pair.
#[cfg(not(target_arch = "arm"))]
#[derive(Clone, Copy, PartialEq)]
enum Lanes {
    Add8,
    Sub8,
    Add16,
    Sub16,
    Asx,
    Sax,
}

/// What becomes of a result that does not fit its lane.
#[cfg(not(target_arch = "arm"))]
#[derive(Clone, Copy)]
enum Range {
    Wrap,
    Saturate,
    Halve,
}

/// One lane: the result, and whether it is "greater or equal".
#[cfg(not(target_arch = "arm"))]
fn lane(x: i32, y: i32, subtract: bool, size: i32, range: Range, signed: bool) -> (u32, bool) {
    let exact = if subtract { x - y } else { x + y };
    let (low, high) = if signed { (-size / 2, size / 2 - 1) } else { (0, size - 1) };
    let flag = if signed || subtract { exact >= 0 } else { exact > high };
    let value = match range {
        Range::Wrap => exact.rem_euclid(size),
        Range::Saturate => exact.max(low).min(high).rem_euclid(size),
        Range::Halve => exact.div_euclid(2).rem_euclid(size),
    };
    (value.cast_unsigned(), flag)
}

/// The result and, mixed in, what SEL chooses after it.
#[cfg(not(target_arch = "arm"))]
fn reference(a: u32, b: u32, lanes: Lanes, range: Range, signed: bool) -> u32 {
    let (a_bytes, b_bytes) = (a.to_le_bytes(), b.to_le_bytes());
    let (mut result, mut chosen) = (0, 0);
    if matches!(lanes, Lanes::Add8 | Lanes::Sub8) {
        for place in 0..4 {
            let number = |byte: u8| if signed { i32::from(byte.cast_signed()) } else { i32::from(byte) };
            let (x, y) = (number(a_bytes[place]), number(b_bytes[place]));
            let (value, flag) = lane(x, y, lanes == Lanes::Sub8, 0x100, range, signed);
            result |= value << (8 * place);
            chosen |= u32::from(if flag { a_bytes[place] } else { b_bytes[place] }) << (8 * place);
        }
    } else {
        let halves = |word: u32| [word & 0xFFFF, word >> 16];
        let (a_halves, b_halves) = (halves(a), halves(b));
        let crossed = matches!(lanes, Lanes::Asx | Lanes::Sax);
        for place in 0..2 {
            let number = |half: u32| {
                let half = half.cast_signed();
                if signed && half > 0x7FFF { half - 0x10000 } else { half }
            };
            let x = number(a_halves[place]);
            let y = number(b_halves[if crossed { 1 - place } else { place }]);
            let subtract = match lanes {
                Lanes::Asx => place == 0,
                Lanes::Sax => place == 1,
                other => other == Lanes::Sub16,
            };
            let (value, flag) = lane(x, y, subtract, 0x10000, range, signed);
            result |= value << (16 * place);
            chosen |= (if flag { a_halves[place] } else { b_halves[place] }) << (16 * place);
        }
    }
    // Only the wrapping ones set the flags that SEL looks at.
    if matches!(range, Range::Wrap) { result ^ chosen.rotate_right(11) } else { result }
}

macro_rules! parallel {
    ($name:ident, $mnemonic:literal, $lanes:expr, Range::Wrap, $signed:literal) => {
        #[inline(never)]
        fn $name(a: u32, b: u32) -> u32 {
            #[cfg(target_arch = "arm")]
            {
                let result: u32;
                // SAFETY: the instructions compute with registers alone.
                unsafe {
                    core::arch::asm!(
                        concat!($mnemonic, " {r}, {a}, {b}"),
                        "sel {t}, {a}, {b}",
                        "eor {r}, {r}, {t}, ror #11",
                        r = out(reg) result, t = out(reg) _, a = in(reg) a, b = in(reg) b,
                        options(pure, nomem, nostack));
                }
                result
            }
            #[cfg(not(target_arch = "arm"))]
            reference(a, b, $lanes, Range::Wrap, $signed)
        }
    };
    ($name:ident, $mnemonic:literal, $lanes:expr, $range:expr, $signed:literal) => {
        #[inline(never)]
        fn $name(a: u32, b: u32) -> u32 {
            #[cfg(target_arch = "arm")]
            {
                let result: u32;
                // SAFETY: the instruction computes with registers alone.
                unsafe {
                    core::arch::asm!(concat!($mnemonic, " {r}, {a}, {b}"),
                        r = out(reg) result, a = in(reg) a, b = in(reg) b, options(pure, nomem, nostack));
                }
                result
            }
            #[cfg(not(target_arch = "arm"))]
            reference(a, b, $lanes, $range, $signed)
        }
    };
}

parallel!(sadd8, "sadd8", Lanes::Add8, Range::Wrap, true);
parallel!(ssub8, "ssub8", Lanes::Sub8, Range::Wrap, true);
parallel!(sadd16, "sadd16", Lanes::Add16, Range::Wrap, true);
parallel!(ssub16, "ssub16", Lanes::Sub16, Range::Wrap, true);
parallel!(sasx, "sasx", Lanes::Asx, Range::Wrap, true);
parallel!(ssax, "ssax", Lanes::Sax, Range::Wrap, true);
parallel!(qadd8, "qadd8", Lanes::Add8, Range::Saturate, true);
parallel!(qsub8, "qsub8", Lanes::Sub8, Range::Saturate, true);
parallel!(qadd16, "qadd16", Lanes::Add16, Range::Saturate, true);
parallel!(qsub16, "qsub16", Lanes::Sub16, Range::Saturate, true);
parallel!(qasx, "qasx", Lanes::Asx, Range::Saturate, true);
parallel!(qsax, "qsax", Lanes::Sax, Range::Saturate, true);
parallel!(shadd8, "shadd8", Lanes::Add8, Range::Halve, true);
parallel!(shsub8, "shsub8", Lanes::Sub8, Range::Halve, true);
parallel!(shadd16, "shadd16", Lanes::Add16, Range::Halve, true);
parallel!(shsub16, "shsub16", Lanes::Sub16, Range::Halve, true);
parallel!(shasx, "shasx", Lanes::Asx, Range::Halve, true);
parallel!(shsax, "shsax", Lanes::Sax, Range::Halve, true);
parallel!(uadd8, "uadd8", Lanes::Add8, Range::Wrap, false);
parallel!(usub8, "usub8", Lanes::Sub8, Range::Wrap, false);
parallel!(uadd16, "uadd16", Lanes::Add16, Range::Wrap, false);
parallel!(usub16, "usub16", Lanes::Sub16, Range::Wrap, false);
parallel!(uasx, "uasx", Lanes::Asx, Range::Wrap, false);
parallel!(usax, "usax", Lanes::Sax, Range::Wrap, false);
parallel!(uqadd8, "uqadd8", Lanes::Add8, Range::Saturate, false);
parallel!(uqsub8, "uqsub8", Lanes::Sub8, Range::Saturate, false);
parallel!(uqadd16, "uqadd16", Lanes::Add16, Range::Saturate, false);
parallel!(uqsub16, "uqsub16", Lanes::Sub16, Range::Saturate, false);
parallel!(uqasx, "uqasx", Lanes::Asx, Range::Saturate, false);
parallel!(uqsax, "uqsax", Lanes::Sax, Range::Saturate, false);
parallel!(uhadd8, "uhadd8", Lanes::Add8, Range::Halve, false);
parallel!(uhsub8, "uhsub8", Lanes::Sub8, Range::Halve, false);
parallel!(uhadd16, "uhadd16", Lanes::Add16, Range::Halve, false);
parallel!(uhsub16, "uhsub16", Lanes::Sub16, Range::Halve, false);
parallel!(uhasx, "uhasx", Lanes::Asx, Range::Halve, false);
parallel!(uhsax, "uhsax", Lanes::Sax, Range::Halve, false);

/// A saturating instruction; the Q flag that it leaves is mixed in.
macro_rules! saturating {
    ($name:ident, $assembly:literal, |$a:ident, $b:ident| $reference:expr) => {
        #[inline(never)]
        fn $name($a: u32, $b: u32) -> u32 {
            #[cfg(target_arch = "arm")]
            {
                let result: u32;
                // SAFETY: the instructions compute with registers and flags alone.
                unsafe {
                    core::arch::asm!("mov {t}, #0", "msr apsr_nzcvqg, {t}", $assembly, "mrs {t}, apsr",
                        "eor {r}, {r}, {t}", r = out(reg) result, t = out(reg) _, a = in(reg) $a, b = in(reg) $b,
                        options(pure, nomem, nostack));
                }
                result
            }
            #[cfg(not(target_arch = "arm"))]
            {
                let (value, exact): (i64, i64) = $reference;
                low(value) ^ u32::from(value != exact) << 27
            }
        }
    };
}

#[cfg(not(target_arch = "arm"))]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the lower word is meant")]
fn low(value: i64) -> u32 {
    value as u32
}

#[cfg(not(target_arch = "arm"))]
fn long(value: u32) -> i64 {
    i64::from(value.cast_signed())
}

#[cfg(not(target_arch = "arm"))]
fn limit(exact: i64, least: i64, most: i64) -> (i64, i64) {
    (exact.max(least).min(most), exact)
}

#[cfg(not(target_arch = "arm"))]
fn limit_word(exact: i64) -> (i64, i64) {
    limit(exact, i64::from(i32::MIN), i64::from(i32::MAX))
}

/// A doubled operand that saturates counts, even if the sum then does not.
#[cfg(not(target_arch = "arm"))]
fn doubling(a: u32, b: u32, sign: i64) -> (i64, i64) {
    let (doubled, exact) = limit_word(2 * long(b));
    let (sum, exact_sum) = limit_word(long(a) + sign * doubled);
    (sum, if doubled == exact { exact_sum } else { sum + 1 })
}

/// Both halves limited to the same range.
#[cfg(not(target_arch = "arm"))]
fn limit_halves(value: u32, least: i64, most: i64) -> (i64, i64) {
    let (low_half, high_half) = (long(value << 16) >> 16, long(value) >> 16);
    let (low_limited, high_limited) = (limit(low_half, least, most).0, limit(high_half, least, most).0);
    let both = (low_limited & 0xFFFF) | (high_limited & 0xFFFF) << 16;
    (both, if (low_limited, high_limited) == (low_half, high_half) { both } else { both + 1 })
}

saturating!(qadd, "qadd {r}, {a}, {b}", |a, b| limit_word(long(a) + long(b)));
saturating!(qsub, "qsub {r}, {a}, {b}", |a, b| limit_word(long(a) - long(b)));
saturating!(qdadd, "qdadd {r}, {a}, {b}", |a, b| doubling(a, b, 1));
saturating!(qdsub, "qdsub {r}, {a}, {b}", |a, b| doubling(a, b, -1));
saturating!(ssat, "ssat {r}, #9, {a}, asr #4\neor {r}, {r}, {b}", |a, b| {
    let (value, exact) = limit(long(a) >> 4, -256, 255);
    (value ^ long(b), exact ^ long(b))
});
saturating!(usat, "usat {r}, #13, {a}, lsl #3\neor {r}, {r}, {b}", |a, b| {
    let (value, exact) = limit(long(a << 3), 0, 8191);
    (value ^ long(b), exact ^ long(b))
});
saturating!(ssat16, "ssat16 {r}, #7, {a}\nadd {r}, {r}, {b}", |a, b| {
    let (value, exact) = limit_halves(a, -64, 63);
    (value + i64::from(b), exact + i64::from(b))
});
saturating!(usat16, "usat16 {r}, #5, {a}\nadd {r}, {r}, {b}", |a, b| {
    let (value, exact) = limit_halves(a, 0, 31);
    (value + i64::from(b), exact + i64::from(b))
});

instruction!(pkhbt, "pkhbt {r}, {a}, {b}, lsl #5", |a, b| a & 0xFFFF | b << 5 & 0xFFFF_0000);
instruction!(pkhtb, "pkhtb {r}, {a}, {b}, asr #9", |a, b| a & 0xFFFF_0000
    | (b.cast_signed() >> 9).cast_unsigned() & 0xFFFF);
instruction!(sxtab, "sxtab {r}, {a}, {b}, ror #8", |a, b| a
    .wrapping_add((b.cast_signed() << 16 >> 24).cast_unsigned()));
instruction!(uxtah, "uxtah {r}, {a}, {b}, ror #16", |a, b| a.wrapping_add(b >> 16));
instruction!(sxtab16, "sxtab16 {r}, {a}, {b}, ror #8", |a, b| {
    let extended = |byte: u8| i32::from(byte.cast_signed()).cast_unsigned();
    let [_, low, _, high] = b.to_le_bytes();
    a.wrapping_add(extended(low)) & 0xFFFF | (a >> 16).wrapping_add(extended(high)) << 16
});
instruction!(uxtb16, "uxtb16 {r}, {a}, ror #24\neor {r}, {r}, {b}", |a, b| a.rotate_right(24) & 0x00FF_00FF ^ b);
instruction!(usad8, "usad8 {r}, {a}, {b}", |a, b| {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.map(|(x, y)| u32::from(x.max(y) - x.min(y))).sum()
});
instruction!(usada8, "usada8 {r}, {a}, {b}, {a}", |a, b| {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.fold(a, |sum, (x, y)| sum.wrapping_add(u32::from(x.max(y) - x.min(y))))
});

type Instruction = fn(u32, u32) -> u32;

const PARALLEL: [Instruction; 36] = [
    sadd8, ssub8, sadd16, ssub16, sasx, ssax, qadd8, qsub8, qadd16, qsub16, qasx, qsax, shadd8, shsub8, shadd16,
    shsub16, shasx, shsax, uadd8, usub8, uadd16, usub16, uasx, usax, uqadd8, uqsub8, uqadd16, uqsub16, uqasx, uqsax,
    uhadd8, uhsub8, uhadd16, uhsub16, uhasx, uhsax,
];

const OTHERS: [Instruction; 16] =
    [qadd, qsub, qdadd, qdsub, ssat, usat, ssat16, usat16, pkhbt, pkhtb, sxtab, uxtah, sxtab16, uxtb16, usad8, usada8];

pub(crate) fn digest(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed ^ 0x00D5_9001);
    for _ in 0..1500 {
        let (a, b) = (operands.next(), operands.next());
        for instruction in PARALLEL.iter().chain(&OTHERS) {
            digest.add(instruction(a, b));
        }
    }
    digest.0
}
