//! Arithmetic whose results are known: the same source gives the same digests on a PC and on a board.
//!
//! Everything that a compiler emits by itself is written in Rust. Instructions that it seldom emits are written as
//! assembly on a board and as plain Rust on a PC, so that equal digests mean that each does what the plain Rust says.

#![cfg_attr(target_arch = "arm", no_std)]

mod conversion;
mod flags;
mod float;
mod integer;
mod memory;
mod multiply;
mod parallel;

use core::hint::black_box;

/// A part of the test: its name and what computes its digest from a seed.
pub type Part = (&'static str, fn(u32) -> u32);

pub const PARTS: [Part; 9] = [
    ("integers", integer::digest),
    ("flags", flags::digest),
    ("memory", memory::digest),
    ("parallel arithmetic", parallel::digest),
    ("multiplications", multiply::digest),
    ("single precision", float::single),
    ("double precision", float::double),
    ("floating-point instructions", float::instructions),
    ("conversions", conversion::digest),
];

pub fn digests(seed: u32) -> [u32; PARTS.len()] {
    PARTS.map(|(_, digest)| digest(black_box(seed)))
}

/// Gathers results.
struct Digest(u32);

impl Digest {
    const fn new() -> Self {
        Self(0x811C_9DC5)
    }

    fn add(&mut self, value: u32) {
        self.0 = (self.0 ^ value).wrapping_mul(0x0100_0193).rotate_left(5);
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are added")]
    fn add_long(&mut self, value: u64) {
        self.add(value as u32);
        self.add((value >> 32) as u32);
    }
}

/// Operands: random ones, and often the ones at which arithmetic goes wrong.
struct Operands(u32);

impl Operands {
    const fn new(seed: u32) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        let value = self.0;
        black_box(match value >> 28 {
            0 => 0,
            1 => u32::MAX,
            2 => 0x8000_0000,
            3 => 0x7FFF_FFFF,
            4 => 0x7FFF_8000 ^ (value & 0x10001),
            5 => value & 0x80FF_7F01,
            6 => value & 0x3F,
            _ => value.rotate_left(value & 31),
        })
    }
}

/// An instruction with two operands and a result: assembly on a board, an expression on a PC.
macro_rules! instruction {
    ($name:ident, $assembly:literal, |$a:ident, $b:ident| $reference:expr) => {
        #[inline(never)]
        fn $name($a: u32, $b: u32) -> u32 {
            #[cfg(target_arch = "arm")]
            {
                let result: u32;
                // SAFETY: the instructions compute with registers alone.
                unsafe {
                    core::arch::asm!($assembly, r = out(reg) result, a = in(reg) $a, b = in(reg) $b,
                        options(pure, nomem, nostack));
                }
                result
            }
            #[cfg(not(target_arch = "arm"))]
            $reference
        }
    };
}
pub(crate) use instruction;
