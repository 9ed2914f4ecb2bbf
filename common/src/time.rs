//! Time as the driver tells it. Nothing in this crate can read a clock.

use core::ops::{Add, Sub};

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// A point in time: microseconds since the driver's own zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Instant(u64);

/// A length of time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Duration(u64);

impl Instant {
    /// The driver's zero.
    pub const ZERO: Self = Self(0);

    /// A time that does not come: the deadline of what is not waited for.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant this many microseconds after zero.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The instant this many milliseconds after zero.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Microseconds since zero.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since zero.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Time since `earlier`, or nothing if `earlier` is later.
    #[cfg_attr(target_os = "none", inline(never))]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    pub const ZERO: Self = Self(0);

    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub const fn times(self, factor: u32) -> Self {
        Self(self.0.saturating_mul(factor as u64))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    // The most frequent sum of all; on a board each copy of it would take as much as the code around it.
    #[cfg_attr(target_os = "none", inline(never))]
    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(length.0))
    }
}

impl Add for Duration {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant};

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        let last = Instant::from_micros(u64::MAX);
        assert_eq!(last + Duration::from_millis(1), last);
        assert_eq!(Instant::ZERO - Duration::from_millis(1), Instant::ZERO);
        assert_eq!(Instant::ZERO.since(last), Duration::ZERO);
    }

    #[test]
    fn units_agree() {
        assert_eq!(Instant::from_millis(3), Instant::from_micros(3_000));
        assert_eq!(Duration::from_millis(2).times(3).as_micros(), 6_000);
        assert_eq!(Instant::from_micros(1_999).as_millis(), 1);
    }
}
