//! The distribution of many numbers, summarised in a few.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    pub count: usize,
    pub p50: u64,
    /// Nine of ten are no larger.
    pub p90: u64,
    /// Ninety-nine of a hundred are no larger.
    pub p99: u64,
    pub max: u64,
}

impl Spread {
    /// Summarises the numbers by nearest rank; `None` if there are none.
    pub fn of(mut numbers: Vec<u64>) -> Option<Self> {
        numbers.sort_unstable();
        let rank = |percent: usize| numbers.get((numbers.len() * percent).div_ceil(100).max(1) - 1).copied();
        Some(Self { count: numbers.len(), p50: rank(50)?, p90: rank(90)?, p99: rank(99)?, max: rank(100)? })
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let spread = Spread::of((1..=200).rev().collect());
        assert_eq!(spread, Some(Spread { count: 200, p50: 100, p90: 180, p99: 198, max: 200 }));
        assert_eq!(Spread::of(vec![7]), Some(Spread { count: 1, p50: 7, p90: 7, p99: 7, max: 7 }));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
