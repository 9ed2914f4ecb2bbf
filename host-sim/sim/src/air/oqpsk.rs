//! How noise damages the bits of an 802.15.4 radio at 2.4 GHz.
//!
//! Bit error rate of O-QPSK with the 16-ary quasi-orthogonal spreading of IEEE 802.15.4-2006, E.4.1.7:
//! `8/15 · 1/16 · Σ (-1)^k · C(16,k) · exp(20 · SINR · (1/k - 1))` for k from 2 to 16, SINR as a ratio.

use std::sync::LazyLock;

use crate::maths;

/// The probability that one bit is wrong at this ratio of signal to interference and noise.
pub fn bit_error_rate(sinr: f64) -> f64 {
    let mut choose = 16.0;
    let mut sum = 0.0;
    for k in 2..=16_u32 {
        choose *= f64::from(17 - k) / f64::from(k);
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * choose * maths::exp(20.0 * sinr * (1.0 / f64::from(k) - 1.0));
    }
    (8.0 / 15.0 / 16.0 * sum).clamp(0.0, 0.5)
}

/// The probability that at least one of this many bits is wrong.
pub fn packet_error_rate(sinr: f64, bits: u32) -> f64 {
    1.0 - (1.0 - bit_error_rate(sinr)).powi(i32::try_from(bits).unwrap_or(i32::MAX))
}

/// From this ratio (6 dB) on, a wrong bit is so unlikely that a float rounds the probability of a right one to 1.
pub const SURE: u32 = 4;

/// How many bits of the mantissa choose the step. Each doubling of the ratio has 2⁸ steps.
const STEP_BITS: u32 = 8;
const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1 - STEP_BITS;

/// The table begins at this ratio (-18 dB), below which bits are little better than guesses. It ends at [`SURE`].
const LOWEST: f64 = 1.0 / 64.0;
const HIGHEST: f64 = SURE as f64;

/// Where a ratio lies in the table.
struct TablePoint {
    /// Which step it falls into.
    step: u64,
    /// How far along the step it lies, from 0 to 1.
    along: f64,
}

/// The exponent and the first mantissa bits of a positive float approximate its logarithm, so there is no need to compute
/// one.
#[expect(clippy::cast_precision_loss, reason = "the fraction has fewer bits than a float's mantissa")]
fn locate(sinr: f64) -> TablePoint {
    let bits = sinr.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    TablePoint {
        step: (bits >> FRACTION_BITS) - (LOWEST.to_bits() >> FRACTION_BITS),
        along: fraction.cast_signed() as f64 / (1_u64 << FRACTION_BITS) as f64,
    }
}

/// `ln(1 - BER)` at every step. The formula has fifteen exponentials, and a reception may need it for every neighbour,
/// so it is tabulated.
static LN_GOOD_BIT: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let steps = locate(HIGHEST).step;
    let exact = |step: u64| {
        let ratio = f64::from_bits((step + (LOWEST.to_bits() >> FRACTION_BITS)) << FRACTION_BITS);
        maths::ln(1.0 - bit_error_rate(ratio))
    };
    (0..=steps).map(exact).collect()
});

/// The natural logarithm of the probability that one bit is right.
#[expect(clippy::cast_possible_truncation, reason = "the table is far smaller than any address space")]
pub fn ln_good_bit(sinr: f64) -> f64 {
    if sinr >= f64::from(SURE) {
        return 0.0;
    }
    let TablePoint { step, along } = locate(sinr.max(LOWEST));
    let table = &*LN_GOOD_BIT;
    let (here, next) = (table[step as usize], table[step as usize + 1]);
    here + (next - here) * along
}

#[cfg(test)]
mod tests {
    use super::{SURE, bit_error_rate, ln_good_bit, packet_error_rate};

    fn ratio(db: f64) -> f64 {
        10_f64.powf(db / 10.0)
    }

    #[test]
    fn the_formula_gives_the_known_packet_error_rates() {
        // For 40 bytes: 81 % lost at -2 dB, 5 % at 0, 0.4 % at +1 (computed independently from the same formula).
        for (db, per, within) in [(-2.0, 0.81, 0.02), (0.0, 0.05, 0.005), (1.0, 0.004, 0.001)] {
            let got = packet_error_rate(ratio(db), 320);
            assert!((got - per).abs() < within, "{db} dB: {got}");
        }
    }

    #[test]
    fn what_is_sure_is_sure() {
        let sure = f64::from(SURE);
        assert!((0..600).all(|tenth| (1.0 - bit_error_rate(sure + f64::from(tenth) / 100.0)).ln() == 0.0));
        assert!(ln_good_bit(sure * 0.9) < 0.0);
    }

    #[test]
    fn more_signal_never_hurts() {
        let rates: Vec<f64> = (-30..=20).map(|db| bit_error_rate(ratio(f64::from(db) / 2.0))).collect();
        assert!(rates.windows(2).all(|pair| pair[0] >= pair[1]));
        assert!(rates[0] > 0.3 && rates[50] < 1e-12);
    }

    #[test]
    fn the_table_is_the_formula() {
        for tenth in -120..60 {
            let sinr = ratio(f64::from(tenth) / 10.0 + 0.0031);
            let exact = (1.0 - bit_error_rate(sinr)).ln();
            assert!((ln_good_bit(sinr) - exact).abs() <= exact.abs() * 2e-3 + 1e-12, "{tenth}");
        }
        assert!(ln_good_bit(1e9).abs() < f64::EPSILON);
    }
}
