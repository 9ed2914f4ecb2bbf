//! Radio power, as decibels for people and as whole numbers for sums.

use std::iter::Sum;
use std::ops::{Add, AddAssign, SubAssign};

use crate::maths;

/// A power in units of 10⁻¹⁵ milliwatts. Whole numbers, so that adding and taking away many signals leaves exactly what
/// is still there, in whatever order it happens. One signal has -150 to +20 dBm, sums of dozens of the strongest fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Power(u64);

/// The strongest that a signal arrives.
const MOST_DBM: f64 = 20.0;

impl Power {
    /// No power at all.
    pub const NONE: Self = Self(0);

    /// A power given in decibels above one milliwatt, capped at what a receiver can stand.
    #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates at both ends")]
    pub fn from_dbm(dbm: f64) -> Self {
        // Rounded: no power is negative.
        Self(((maths::pow(10.0, dbm.min(MOST_DBM) / 10.0) * 1e15 + 0.5) as i64).cast_unsigned())
    }

    /// In decibels above one milliwatt; minus infinity for no power.
    pub fn dbm(self) -> f64 {
        10.0 * maths::log10(self.as_f64() * 1e-15)
    }

    /// This many of the smallest units.
    pub const fn from_units(units: u32) -> Self {
        Self(units as u64)
    }

    /// In the smallest units.
    pub const fn units(self) -> u64 {
        self.0
    }

    /// How many times as strong as another.
    pub fn ratio(self, other: Self) -> f64 {
        self.as_f64() / other.as_f64()
    }

    /// Whether it is at least this many times as strong as another.
    pub fn is_at_least(self, ratio: f64, other: Self) -> bool {
        self.as_f64() >= ratio * other.as_f64()
    }

    /// Whether, with a sum that is in the smallest units, it comes to more than a limit.
    pub const fn exceeds(self, sum: i32, limit: i32) -> bool {
        self.0.cast_signed() + sum as i64 > limit as i64
    }

    /// This many times the power.
    pub const fn times(self, factor: u32) -> Self {
        Self(self.0.saturating_mul(factor as u64))
    }

    /// One of this many equal parts, rounded down.
    pub const fn part(self, of: u32) -> Self {
        Self(self.0 / of as u64)
    }

    /// What is left when another power is taken away; never less than nothing.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The same on a condition, without it none.
    pub const fn only_if(self, condition: bool) -> Self {
        Self(self.0 * condition as u64)
    }

    /// By how many of the smallest units it is greater than another; kept between two numbers.
    pub fn above(self, other: Self, least: i32, most: i32) -> i32 {
        let above = self.0.wrapping_sub(other.0).cast_signed().clamp(i64::from(least), i64::from(most));
        i32::try_from(above).unwrap_or(most)
    }

    /// The power times a length of time, for means.
    pub const fn energy(self, micros: u64) -> u128 {
        self.0 as u128 * micros as u128
    }

    /// The mean power of an energy over a length of time.
    pub fn mean(energy: u128, micros: u64) -> Self {
        Self(u64::try_from(energy / u128::from(micros.max(1))).unwrap_or(u64::MAX))
    }

    /// Powers are far below the greatest signed number, and a processor converts signed ones at once.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are far more than any radio measures")]
    fn as_f64(self) -> f64 {
        self.0.cast_signed() as f64
    }
}

impl Add for Power {
    type Output = Self;

    /// No sum comes near the end of the range: of the strongest signals that there are it would take 92.
    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl AddAssign for Power {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Power {
    fn sub_assign(&mut self, other: Self) {
        *self = self.without(other);
    }
}

impl Sum for Power {
    fn sum<I: Iterator<Item = Self>>(powers: I) -> Self {
        powers.fold(Self::NONE, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::Power;

    #[test]
    fn decibels_come_back() {
        for dbm in [-120.0, -100.5, -75.0, 0.0, 8.0, 20.0] {
            assert!((Power::from_dbm(dbm).dbm() - dbm).abs() < 1e-3, "{dbm}");
        }
        assert!(Power::NONE.dbm().is_infinite());
    }

    #[test]
    fn sums_are_exact_in_any_order() {
        let (a, b, c) = (Power::from_dbm(-40.0), Power::from_dbm(-101.0), Power::from_dbm(8.0));
        let mut sum = a + b + c;
        sum -= c;
        sum -= a;
        assert_eq!(sum, b, "a strong signal that came and went leaves the weak one untouched");
    }

    #[test]
    fn the_strongest_signals_add_up() {
        let strongest: Power = (0..50).map(|_| Power::from_dbm(60.0)).sum();
        assert!(strongest > Power::from_dbm(60.0) && strongest.exceeds(i32::MAX, i32::MAX));
        assert!((strongest.dbm() - 20.0 - 16.99).abs() < 0.01);
    }

    #[test]
    fn means_are_over_time() {
        let power = Power::from_dbm(-60.0);
        let half = Power::mean(power.energy(64), 128);
        assert!((half.dbm() + 63.01).abs() < 0.01);
        assert_eq!(Power::mean(power.energy(128), 128), power);
    }
}
