//! The ring size from which HS is cheaper than FRLLE. Biswas et al. (2021) say 231 nodes.

use common::election::Algorithm;

use super::Case;
use super::findings::frlle_all_detect;
use super::formula::printed_messages;
use crate::lab::hs_extremes;

/// The largest ring compared: well past the published crossover.
pub const LARGEST: u16 = 300;

/// The smallest ring compared. With two nodes both neighbours are the same.
pub const SMALLEST: u16 = 3;

/// Where one worst case stops costing more than the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossover {
    /// HS costs more at every size up to this one.
    pub always_up_to: u16,
    /// The largest size at which HS costs more.
    pub last: u16,
}

/// The crossover of the worst cases measured.
pub fn measured() -> anyhow::Result<Crossover> {
    let hs = hs_extremes::worst_counts(LARGEST.into());
    let frlle = (SMALLEST..=LARGEST).map(frlle_all_detect).collect::<anyhow::Result<Vec<u64>>>()?;
    Ok(crossover(|n| {
        let announced = hs[usize::from(n)] + u64::from(n);
        announced > frlle[usize::from(n - SMALLEST)]
    }))
}

/// The crossover of the published formulas.
pub fn printed() -> Crossover {
    let value = |algorithm, n: u16| printed_messages(algorithm, Case::Worst).map(|formula| (formula.value)(n.into()));
    crossover(|n| value(Algorithm::Hs, n) > value(Algorithm::Frlle, n))
}

fn crossover(hs_costs_more: impl Fn(u16) -> bool) -> Crossover {
    let always_up_to = (SMALLEST..=LARGEST).take_while(|&n| hs_costs_more(n)).last().unwrap_or(0);
    let last = (SMALLEST..=LARGEST).rev().find(|&n| hs_costs_more(n)).unwrap_or(0);
    Crossover { always_up_to, last }
}

#[cfg(test)]
mod tests {
    use super::{Crossover, crossover};

    #[test]
    fn a_gap_is_told_apart_from_the_end() {
        assert_eq!(crossover(|n| n <= 40), Crossover { always_up_to: 40, last: 40 });
        assert_eq!(crossover(|n| n <= 40 || n == 50), Crossover { always_up_to: 40, last: 50 });
        assert_eq!(crossover(|_| false), Crossover { always_up_to: 0, last: 0 });
    }
}
