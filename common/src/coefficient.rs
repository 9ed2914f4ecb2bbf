//! FRLLE's leader coefficient: how unfit a node is to lead (Biswas et al. 2021, definitions 1 and 8).
//!
//! `Lc = w·CPU + x·memory + y·bandwidth + z·F`, weights summing to one, smaller is better. `F` is the probability of
//! failing between two times under a Weibull distribution; they call their (3.3) a rate, but it is
//! `F(t1) − F(t0)`. Everything is a share in ten-thousandths, so that every node computes the same number; only the
//! distribution itself needs floating point.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// What one is made of: shares and weights are ten-thousandths.
pub const WHOLE: u16 = 10_000;

/// A share between nothing and everything, in ten-thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Share(u16);

impl Share {
    /// A share; more than everything is everything.
    pub const fn new(ten_thousandths: u16) -> Self {
        Self(if ten_thousandths > WHOLE { WHOLE } else { ten_thousandths })
    }

    /// `part` of `whole`; of nothing, the share is nothing.
    pub fn of(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self(0);
        }
        let scaled = u128::from(part.min(whole)) * u128::from(WHOLE) / u128::from(whole);
        Self(u16::try_from(scaled).unwrap_or(WHOLE))
    }

    /// The share in ten-thousandths.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// A leader coefficient: smaller is fitter. A coefficient made by [`Weights::coefficient`] is at most [`WHOLE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Coefficient(pub u16);

impl Coefficient {
    /// Of a node that has not measured anything yet. It has just started, perhaps because it crashed, so nothing good is known
    /// of it: anybody who has measured is fitter, and among those who have not, the id decides.
    pub const UNKNOWN: Self = Self(WHOLE);

    /// How much fitter another node must be for an election without any other reason, in ten-thousandths. Loads rise and fall;
    /// a leader is not exchanged for one that is better by chance.
    pub const MARGIN: u16 = 500;

    /// Whether it is so much fitter than another one that an election is worth it.
    pub fn is_much_fitter_than(self, other: Self) -> bool {
        self.0.saturating_add(Self::MARGIN) <= other.0
    }

    /// The coefficient as one byte, by which the hierarchy ranks nodes. It is coarse on purpose, so that small changes of
    /// load change no rank.
    pub fn as_byte(self) -> u8 {
        let scaled = u32::from(self.0.min(WHOLE)) * 255 / u32::from(WHOLE);
        u8::try_from(scaled).unwrap_or(u8::MAX)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Load {
    /// The share of time its processor was awake.
    pub cpu: Share,
    /// The share of its memory that was ever in use.
    pub memory: Share,
    /// The share of time its radio was on the air.
    pub bandwidth: Share,
}

/// Weights that do not sum to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct WeightsError {
    /// What they sum to, in ten-thousandths.
    pub sum: u32,
}

/// The weights of the four terms, checked to sum to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Weights {
    cpu: u16,
    memory: u16,
    bandwidth: u16,
    failure: u16,
}

impl Weights {
    /// All four terms count alike.
    pub const EQUAL: Self = Self { cpu: WHOLE / 4, memory: WHOLE / 4, bandwidth: WHOLE / 4, failure: WHOLE / 4 };

    /// Weights in ten-thousandths, which must sum to exactly [`WHOLE`].
    pub const fn new(cpu: u16, memory: u16, bandwidth: u16, failure: u16) -> Result<Self, WeightsError> {
        let sum = cpu as u32 + memory as u32 + bandwidth as u32 + failure as u32;
        if sum == WHOLE as u32 { Ok(Self { cpu, memory, bandwidth, failure }) } else { Err(WeightsError { sum }) }
    }

    /// The coefficient (3.4), rounded to the nearest ten-thousandth.
    pub fn coefficient(self, load: Load, failure: Share) -> Coefficient {
        let term = |weight: u16, share: Share| u32::from(weight) * u32::from(share.0);
        // At most WHOLE², which is far below 2³².
        let sum = term(self.cpu, load.cpu)
            + term(self.memory, load.memory)
            + term(self.bandwidth, load.bandwidth)
            + term(self.failure, failure);
        let rounded = (sum + u32::from(WHOLE) / 2) / u32::from(WHOLE);
        Coefficient(u16::try_from(rounded).unwrap_or(WHOLE))
    }
}

/// Parameters that do not describe a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum WeibullError {
    /// The scale must be a positive number.
    Scale,
    /// The shape must be a positive number.
    Shape,
}

/// A two-parameter Weibull distribution of the time to failure.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Weibull {
    scale: f32,
    shape: f32,
}

impl Weibull {
    /// Scale `eta` in any unit of time, and shape `beta`: below 1 failures become rarer with age, above 1 more frequent.
    pub fn new(scale: f32, shape: f32) -> Result<Self, WeibullError> {
        // Written so that a value that is not a number is refused too.
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(WeibullError::Scale);
        }
        if !(shape > 0.0 && shape.is_finite()) {
            return Err(WeibullError::Shape);
        }
        Ok(Self { scale, shape })
    }

    /// The probability (3.1) of having failed by age `t`, in the unit of the scale.
    pub fn failed_by(self, t: f32) -> f32 {
        if t > 0.0 { -libm::expm1f(-power(t / self.scale, self.shape)) } else { 0.0 }
    }

    /// The probability (3.3) of failing between the ages `t0` and `t1`; zero if `t1` is not later.
    pub fn fails_between(self, t0: f32, t1: f32) -> Share {
        let probability = (self.failed_by(t1) - self.failed_by(t0)).clamp(0.0, 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=10000")]
        Share::new(libm::roundf(probability * f32::from(WHOLE)) as u16)
    }
}

/// A positive number to a power, to within a millionth of the larger of it and one. The library's own is exact to its last
/// digit, which is not needed here, and takes four times as much flash.
pub(crate) fn power(base: f32, exponent: f32) -> f32 {
    1.0 + libm::expm1f(exponent * libm::logf(base))
}

#[cfg(test)]
mod tests {
    use super::{Coefficient, Load, Share, WHOLE, Weibull, WeibullError, Weights, WeightsError, power};

    #[test]
    fn powers_are_close_enough() {
        for base in [1e-6_f32, 1e-3, 0.2, 0.999, 1.0, 1.001, 5.0] {
            for exponent in [0.2_f32, 0.3, 1.0, 1.7, 3.3, 5.0] {
                let (ours, exact) = (power(base, exponent), f64::from(base).powf(f64::from(exponent)));
                assert!((f64::from(ours) - exact).abs() <= 1e-6 * exact.max(1.0), "{base}^{exponent}: {ours}, {exact}");
            }
        }
        assert_eq!(power(0.0, 2.0).to_bits(), 0.0_f32.to_bits());
    }

    #[test]
    fn weights_must_sum_to_one() {
        assert!(Weights::new(2_500, 2_500, 2_500, 2_500).is_ok());
        assert!(Weights::new(0, 0, 0, WHOLE).is_ok());
        assert_eq!(Weights::new(1, 2, 3, 4), Err(WeightsError { sum: 10 }));
        assert_eq!(Weights::new(u16::MAX, u16::MAX, 0, 0), Err(WeightsError { sum: 131_070 }));
    }

    #[test]
    fn each_term_counts_with_its_weight() {
        let Ok(weights) = Weights::new(4_000, 3_000, 2_000, 1_000) else { panic!("weights sum to one") };
        let load =
            |cpu, memory, bandwidth| Load { cpu: Share(cpu), memory: Share(memory), bandwidth: Share(bandwidth) };
        assert_eq!(weights.coefficient(load(WHOLE, 0, 0), Share(0)), Coefficient(4_000));
        assert_eq!(weights.coefficient(load(0, WHOLE, 0), Share(0)), Coefficient(3_000));
        assert_eq!(weights.coefficient(load(0, 0, WHOLE), Share(0)), Coefficient(2_000));
        assert_eq!(weights.coefficient(load(0, 0, 0), Share(WHOLE)), Coefficient(1_000));
        assert_eq!(weights.coefficient(load(WHOLE, WHOLE, WHOLE), Share(WHOLE)), Coefficient(WHOLE));
        assert_eq!(Weights::EQUAL.coefficient(load(1_100, 1_100, 1_100), Share(1_100)), Coefficient(1_100));
    }

    #[test]
    fn a_byte_keeps_the_order_and_both_ends() {
        assert_eq!(Coefficient(0).as_byte(), 0);
        assert_eq!(Coefficient(WHOLE).as_byte(), 255);
        assert_eq!(Coefficient(u16::MAX).as_byte(), 255);
        assert!((0..WHOLE).all(|c| Coefficient(c).as_byte() <= Coefficient(c + 1).as_byte()));
    }

    #[test]
    fn only_a_clear_difference_is_worth_an_election() {
        assert!(Coefficient(300).is_much_fitter_than(Coefficient(800)));
        assert!(!Coefficient(301).is_much_fitter_than(Coefficient(800)));
        assert!(!Coefficient(800).is_much_fitter_than(Coefficient(300)));
        assert!(Coefficient(WHOLE - 500).is_much_fitter_than(Coefficient::UNKNOWN));
        assert!(!Coefficient(u16::MAX).is_much_fitter_than(Coefficient::UNKNOWN));
    }

    #[test]
    fn shares_never_exceed_everything() {
        assert_eq!(Share::of(3, 4), Share(7_500));
        assert_eq!(Share::of(5, 4), Share(WHOLE));
        assert_eq!(Share::of(5, 0), Share(0));
        assert_eq!(Share::of(u64::MAX, u64::MAX), Share(WHOLE));
        assert_eq!(Share::new(u16::MAX), Share(WHOLE));
    }

    #[test]
    fn weibull_matches_known_values() {
        // Shape 1 is the exponential distribution: F(scale) = 1 − 1/e.
        let Ok(exponential) = Weibull::new(1_000.0, 1.0) else { panic!("parameters are positive") };
        assert_eq!(exponential.fails_between(0.0, 1_000.0), Share(6_321));
        // Whatever the shape, F(scale) = 1 − 1/e; with shape 2, F(scale/2) = 1 − e^(−1/4).
        let Ok(wearing) = Weibull::new(1_000.0, 2.0) else { panic!("parameters are positive") };
        assert_eq!(wearing.fails_between(0.0, 1_000.0), Share(6_321));
        assert_eq!(wearing.fails_between(0.0, 500.0), Share(2_212));
        assert_eq!(wearing.fails_between(500.0, 1_000.0), Share(4_109));
        assert_eq!(wearing.fails_between(1_000.0, 500.0), Share(0));
    }

    #[test]
    fn shape_decides_whether_age_helps() {
        let between = |shape: f32, age: f32| {
            let Ok(weibull) = Weibull::new(100.0, shape) else { panic!("parameters are positive") };
            weibull.fails_between(age, age + 1.0)
        };
        assert!(between(0.5, 1.0) > between(0.5, 50.0), "infant mortality falls with age");
        assert!(between(3.0, 1.0) < between(3.0, 50.0), "wear-out rises with age");
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        assert_eq!(Weibull::new(0.0, 1.0), Err(WeibullError::Scale));
        assert_eq!(Weibull::new(f32::NAN, 1.0), Err(WeibullError::Scale));
        assert_eq!(Weibull::new(1.0, -1.0), Err(WeibullError::Shape));
        assert_eq!(Weibull::new(1.0, f32::INFINITY), Err(WeibullError::Shape));
    }
}
