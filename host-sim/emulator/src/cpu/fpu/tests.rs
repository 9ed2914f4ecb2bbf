use super::{
    DEFAULT_NAN, DIVISION_BY_ZERO, FLUSH_TO_ZERO, Fpu, INEXACT, INPUT_DENORMAL, INVALID, OVERFLOW, Rounding, UNDERFLOW,
};
use crate::cpu::op::FpBinary;

fn with(rounding: Rounding) -> Fpu {
    let mode = match rounding {
        Rounding::Nearest => 0,
        Rounding::Up => 1,
        Rounding::Down => 2,
        Rounding::TowardZero => 3,
    };
    Fpu { status: mode << 22, ..Fpu::default() }
}

fn flags(fpu: &Fpu) -> u32 {
    fpu.status & 0x9F
}

#[test]
fn the_four_roundings_enclose_the_exact_result() {
    let mut random = 0x9E37_79B9_u32;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random
    };
    let ops = [FpBinary::Vadd, FpBinary::Vmul, FpBinary::Vdiv, FpBinary::Vfma];
    let mut inexact = 0;
    for _ in 0..20_000 {
        let (d, n, m) = (next(), next(), next());
        for op in ops {
            let compute = |rounding| {
                let mut fpu = with(rounding);
                (f32::from_bits(fpu.binary(op, d, n, m)), flags(&fpu))
            };
            let (nearest, told) = compute(Rounding::Nearest);
            let ((up, _), (down, _), (zero, _)) =
                (compute(Rounding::Up), compute(Rounding::Down), compute(Rounding::TowardZero));
            if nearest.is_nan() {
                assert!(up.is_nan() && down.is_nan() && zero.is_nan());
                continue;
            }
            if told & INEXACT == 0 {
                assert!(up == nearest && down == nearest && zero == nearest);
                continue;
            }
            inexact += 1;
            assert_eq!(up, down.next_up(), "{op:?} {d:#x} {n:#x} {m:#x}: neighbours");
            assert!(nearest == up || nearest == down);
            assert_eq!(zero, if down >= 0.0 { down } else { up });
        }
    }
    assert!(inexact > 20_000, "{inexact} results were rounded at all");
}

#[test]
fn flags_tell_what_happened() {
    let mut fpu = Fpu::default();
    let max = f32::MAX.to_bits();
    assert_eq!(fpu.add(max, max), f32::INFINITY.to_bits());
    assert_eq!(flags(&fpu), OVERFLOW | INEXACT);
    let mut fpu = with(Rounding::TowardZero);
    assert_eq!(fpu.add(max, max), max, "never to infinity");
    let mut fpu = Fpu::default();
    assert_eq!(fpu.divide(1_f32.to_bits(), (-0_f32).to_bits()), f32::NEG_INFINITY.to_bits());
    assert_eq!(flags(&fpu), DIVISION_BY_ZERO);
    let mut fpu = Fpu::default();
    assert_eq!(fpu.divide(0, 0), DEFAULT_NAN);
    assert_eq!(flags(&fpu), INVALID);
    let mut fpu = Fpu::default();
    assert_eq!(fpu.multiply(f32::MIN_POSITIVE.to_bits(), 0x3F00_0001), 0x0040_0000);
    assert_eq!(flags(&fpu), UNDERFLOW | INEXACT);
    let mut fpu = Fpu { status: FLUSH_TO_ZERO, ..Fpu::default() };
    assert_eq!(fpu.add(0x8000_0001, 0), 0, "a denormal counts as zero");
    assert_eq!(flags(&fpu), INPUT_DENORMAL);
}

#[test]
fn what_is_no_number_goes_through_in_order() {
    let (quiet, signalling) = (0x7FC0_1234, 0xFF80_0042);
    let mut fpu = Fpu::default();
    assert_eq!(fpu.add(quiet, signalling), signalling | 1 << 22, "a signalling one goes first");
    assert_eq!(flags(&fpu), INVALID);
    let mut fpu = Fpu::default();
    assert_eq!(fpu.binary(FpBinary::Vsub, 0, 0, quiet), quiet, "and keeps its sign");
    assert_eq!(flags(&fpu), 0);
    assert_eq!(fpu.multiply_add(quiet, f32::INFINITY.to_bits(), 0), DEFAULT_NAN);
    fpu.compare(quiet, 0, false);
    assert_eq!(fpu.status >> 28, 0b0011);
}

#[test]
fn a_sum_that_cancels_has_the_sign_of_its_rounding() {
    let one = 1_f32.to_bits();
    assert_eq!(Fpu::default().binary(FpBinary::Vsub, 0, one, one), 0);
    assert_eq!(with(Rounding::Down).binary(FpBinary::Vsub, 0, one, one), 0x8000_0000);
}

#[test]
fn conversions_limit_and_round() {
    let mut fpu = Fpu::default();
    assert_eq!(fpu.convert_to_integer((-1.5_f32).to_bits(), true, true), 0xFFFF_FFFF);
    assert_eq!(flags(&fpu), INEXACT);
    assert_eq!(fpu.convert_to_integer(2.5_f32.to_bits(), true, false), 2, "to even");
    let mut fpu = Fpu::default();
    assert_eq!(fpu.convert_to_integer(3e9_f32.to_bits(), true, true), 0x7FFF_FFFF);
    assert_eq!(flags(&fpu), INVALID);
    let mut fpu = Fpu::default();
    assert_eq!(fpu.convert_to_integer((-0.25_f32).to_bits(), false, true), 0);
    assert_eq!(flags(&fpu), INEXACT, "it is rounded into the range");
    assert_eq!(fpu.convert_to_integer((-3_f32).to_bits(), false, true), 0);
    assert_eq!(fpu.convert_to_fixed((-1.5_f32).to_bits(), true, false, 8), 0xFFFF_FE80);
    assert_eq!(fpu.convert_from_fixed(0xFE80, true, false, 8), (-1.5_f32).to_bits());
    assert_eq!(with(Rounding::Up).convert_from_integer(0x0100_0001, false), 16_777_218_f32.to_bits());
    assert_eq!(with(Rounding::Up).convert_from_integer(0xFEFF_FFFF, true), (-16_777_217_f32).to_bits());
}

#[test]
fn every_half_survives_a_round_trip() {
    for half in 0..=u16::MAX {
        let mut fpu = Fpu::default();
        let single = fpu.convert_from_half(half);
        let quiet = if half & 0x7FFF > 0x7C00 { half | 0x200 } else { half };
        assert_eq!(fpu.convert_to_half(single), quiet, "{half:#06x}");
    }
    let mut fpu = Fpu::default();
    assert_eq!(fpu.convert_to_half(65_520_f32.to_bits()), 0x7C00);
    assert_eq!(with(Rounding::TowardZero).convert_to_half(65_520_f32.to_bits()), 0x7BFF);
    assert_eq!(fpu.convert_to_half(2.980_232_2e-8_f32.to_bits()), 0, "half of the smallest, to even");
}
