//! The formulas that tables 3.1 and 3.2 of Biswas et al. 2021 print, and those that hold where the printed ones do not.

use common::election::Algorithm;

use super::Case;

/// A cost in terms of the number of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    pub text: &'static str,
    /// Its value for n nodes.
    pub value: fn(u64) -> u64,
}

/// The algorithms of the two tables, in their order.
pub const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::Ring,
    Algorithm::Lcr,
    Algorithm::Hs,
    Algorithm::TimerBased,
    Algorithm::Bully,
    Algorithm::ModifiedBully,
    Algorithm::Abraham,
    Algorithm::Frlle,
];

const N: Formula = Formula { text: "N", value: |n| n };
const TWICE: Formula = Formula { text: "2N", value: |n| 2 * n };
const THREE_STEPS: Formula = Formula { text: "3", value: |_| 3 };
const THRICE: Formula = Formula { text: "3N", value: |n| 3 * n };

/// What table 3.1 prints, or nothing for an algorithm that is not in it.
pub fn printed_messages(algorithm: Algorithm, case: Case) -> Option<Formula> {
    Some(match (algorithm, case) {
        (Algorithm::Ring | Algorithm::Lcr, Case::Best) => TWICE,
        (Algorithm::Ring, Case::Worst) => Formula { text: "2N²", value: |n| 2 * n * n },
        (Algorithm::Lcr, Case::Worst) => Formula { text: "(N²+3N)/2", value: |n| n * (n + 3) / 2 },
        (Algorithm::Hs, Case::Best) => Formula { text: "4Σ2^k+3N", value: hs_best },
        (Algorithm::Hs, Case::Worst) => Formula { text: "4Σ2^k⌈N/(2^(k-1)+1)⌉+5N", value: hs_worst },
        (Algorithm::TimerBased | Algorithm::Bully | Algorithm::ModifiedBully, Case::Best) => N,
        (Algorithm::TimerBased, Case::Worst) => Formula { text: "(N²+N)/2", value: |n| n * (n + 1) / 2 },
        (Algorithm::Bully, Case::Worst) => Formula { text: "N²+N-1", value: |n| n * n + n - 1 },
        (Algorithm::ModifiedBully, Case::Worst) => Formula { text: "(N²+5N)/2", value: |n| n * (n + 5) / 2 },
        (Algorithm::Abraham, Case::Best) => Formula { text: "N²+2N", value: |n| n * n + 2 * n },
        (Algorithm::Abraham, Case::Worst) => Formula { text: "(3N²+3N)/2", value: |n| 3 * n * (n + 1) / 2 },
        (Algorithm::Frlle, Case::Best) => Formula { text: "4", value: |_| 4 },
        (Algorithm::Frlle, Case::Worst) => Formula { text: "(N²+14N-8)/4", value: |n| (n * n + 14 * n - 8) / 4 },
        (Algorithm::Height | Algorithm::Hierarchy, _) => return None,
    })
}

/// What table 3.2 prints, or nothing for an algorithm that is not in it.
pub fn printed_steps(algorithm: Algorithm, case: Case) -> Option<Formula> {
    Some(match (algorithm, case) {
        (Algorithm::Ring, _) | (Algorithm::Lcr, Case::Best) => TWICE,
        (Algorithm::Lcr, Case::Worst) => Formula { text: "3N-1", value: |n| 3 * n - 1 },
        (Algorithm::Hs, Case::Best) => Formula { text: "4N-2", value: |n| 4 * n - 2 },
        (Algorithm::Hs, Case::Worst) => Formula { text: "6N-2", value: |n| 6 * n - 2 },
        (Algorithm::TimerBased, _) | (Algorithm::Frlle, Case::Worst) => N,
        (Algorithm::Bully | Algorithm::ModifiedBully, Case::Best) => THREE_STEPS,
        (Algorithm::Bully, Case::Worst) => Formula { text: "5", value: |_| 5 },
        (Algorithm::ModifiedBully, Case::Worst) => Formula { text: "4", value: |_| 4 },
        (Algorithm::Abraham, _) => THRICE,
        (Algorithm::Frlle, Case::Best) => Formula { text: "2", value: |_| 2 },
        (Algorithm::Height | Algorithm::Hierarchy, _) => return None,
    })
}

/// What the messages measured are, if known and not what is printed.
pub fn exact_messages(algorithm: Algorithm, case: Case) -> Option<Formula> {
    match (algorithm, case) {
        (Algorithm::Hs, Case::Best) => {
            Some(Formula { text: "4(2^⌈log₂N⌉-1)+3N", value: |n| 4 * (n.next_power_of_two() - 1) + 3 * n })
        }
        (Algorithm::ModifiedBully, Case::Worst) => Some(Formula { text: "N²+2N-2", value: |n| n * n + 2 * n - 2 }),
        (Algorithm::Abraham, _) => Some(Formula { text: "N²+N", value: |n| n * n + n }),
        _ => None,
    }
}

/// What the steps measured are, if known and not what is printed.
pub fn exact_steps(algorithm: Algorithm, case: Case) -> Option<Formula> {
    match (algorithm, case) {
        (Algorithm::Hs, _) => {
            Some(Formula { text: "2·2^⌈log₂N⌉-2+2N", value: |n| 2 * n.next_power_of_two() - 2 + 2 * n })
        }
        (Algorithm::Abraham, Case::Best) => Some(TWICE),
        (Algorithm::Abraham, Case::Worst) => Some(Formula { text: "3N-1", value: |n| 3 * n - 1 }),
        (Algorithm::Frlle, Case::Worst) => Some(Formula { text: "3N/2", value: |n| 3 * n / 2 }),
        _ => None,
    }
}

/// The base-two logarithm, rounded up.
fn log2_up(n: u64) -> u32 {
    n.next_power_of_two().ilog2()
}

/// The sum runs over k from 0 to ⌈log₂(N/2)⌉ - 1.
fn hs_best(n: u64) -> u64 {
    // ⌈log₂(N/2)⌉ is one less than ⌈log₂N⌉.
    let phases = log2_up(n).saturating_sub(1);
    4 * (0..phases).map(|k| 1 << k).sum::<u64>() + 3 * n
}

/// The sum runs over k from 1 to ⌈log₂N⌉.
fn hs_worst(n: u64) -> u64 {
    let phase = |k: u32| (1_u64 << k) * n.div_ceil((1 << (k - 1)) + 1);
    4 * (1..=log2_up(n)).map(phase).sum::<u64>() + 5 * n
}

#[cfg(test)]
mod tests {
    use common::election::Algorithm;

    use super::{ALGORITHMS, exact_steps, hs_best, hs_worst, printed_messages, printed_steps};
    use crate::lab::table::Case;

    #[test]
    fn the_sums_are_those_printed() {
        // N = 10: 4(1 + 2 + 4) + 30, and 4(2·5 + 4·4 + 8·2 + 16·2) + 50.
        assert_eq!(hs_best(10), 58);
        assert_eq!(hs_worst(10), 346);
        // N = 16: 4(1 + 2 + 4) + 48, and 4(2·8 + 4·6 + 8·4 + 16·2) + 80.
        assert_eq!(hs_best(16), 76);
        assert_eq!(hs_worst(16), 496);
    }

    #[test]
    fn abraham_is_printed_as_n_squared_more_than_lcr() {
        let value = |algorithm, case, n| printed_messages(algorithm, case).map(|formula| (formula.value)(n));
        for case in [Case::Best, Case::Worst] {
            for n in 2..200 {
                let lcr = value(Algorithm::Lcr, case, n);
                assert_eq!(value(Algorithm::Abraham, case, n), lcr.map(|messages| messages + n * n));
            }
        }
    }

    #[test]
    fn the_printed_time_of_hs_holds_at_powers_of_two_only() {
        for n in 2_u64..200 {
            let printed = printed_steps(Algorithm::Hs, Case::Best).map(|formula| (formula.value)(n));
            let exact = exact_steps(Algorithm::Hs, Case::Best).map(|formula| (formula.value)(n));
            assert_eq!(printed == exact, n.is_power_of_two(), "n = {n}");
        }
    }

    #[test]
    fn every_algorithm_of_the_tables_has_its_formulas() {
        for algorithm in Algorithm::ALL {
            for case in [Case::Best, Case::Worst] {
                let listed = ALGORITHMS.contains(&algorithm);
                assert_eq!(printed_messages(algorithm, case).is_some(), listed, "{algorithm:?}");
                assert_eq!(printed_steps(algorithm, case).is_some(), listed, "{algorithm:?}");
            }
        }
    }
}
