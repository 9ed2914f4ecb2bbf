//! The exact arrangements of uids on which HS costs most and least, for any ring size.
//!
//! When all nodes start, what a node's probes cost depends only on how far away the nearest larger uid is on either
//! side. Cut the ring at the maximum: what remains is a gap of n − 1 nodes between two larger ones. The largest node of
//! a gap splits it into two smaller gaps that are independent of each other, so the best split of every length follows
//! from those of the shorter ones: dynamic programming in n² steps instead of n! runs.

/// An arrangement and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// Probes out and back when all nodes start; the announcement, n more, is not included.
    pub election_messages: u64,
    /// An arrangement that costs this much: the uids 1 to n in ring order, the maximum first.
    pub uids: Vec<u16>,
}

/// The arrangement of n uids that costs most.
///
/// # Panics
/// When there are no nodes, or more than there are uids.
pub fn worst(n: usize) -> Extreme {
    Splits::new(n, |candidate, chosen| candidate > chosen).extreme(n)
}

/// The arrangement of n uids that costs least.
///
/// # Panics
/// When there are no nodes, or more than there are uids.
pub fn best(n: usize) -> Extreme {
    Splits::new(n, |candidate, chosen| candidate < chosen).extreme(n)
}

/// The messages of the worst arrangement of every size up to `largest`, by size; without nodes there are none.
pub fn worst_counts(largest: usize) -> Vec<u64> {
    let splits = Splits::new(largest, |candidate, chosen| candidate > chosen);
    (0..=largest).map(|n| splits.election_messages(n)).collect()
}

/// The best way to split every gap shorter than a ring, by the length of the gap.
struct Splits {
    /// The total cost of the gap's nodes.
    messages: Vec<u64>,
    /// The position of its largest node, counted from 1.
    largest_at: Vec<usize>,
}

impl Splits {
    fn new(ring: usize, better: impl Fn(u64, u64) -> bool) -> Self {
        let mut splits = Self { messages: vec![0], largest_at: vec![0] };
        for gap in 1..ring {
            let cost_at = |at: usize| probes(at, gap + 1 - at) + splits.messages[at - 1] + splits.messages[gap - at];
            // A gap and its mirror image cost the same, so half of the positions suffice.
            let mut chosen = (1, cost_at(1));
            for at in 2..=gap.div_ceil(2) {
                let cost = cost_at(at);
                if better(cost, chosen.1) {
                    chosen = (at, cost);
                }
            }
            splits.largest_at.push(chosen.0);
            splits.messages.push(chosen.1);
        }
        splits
    }

    fn election_messages(&self, n: usize) -> u64 {
        n.checked_sub(1).map_or(0, |gap| maximum(n) + self.messages[gap])
    }

    fn extreme(&self, n: usize) -> Extreme {
        assert!(n > 0, "a ring has at least one node");
        let mut uid = u16::try_from(n).unwrap_or_else(|_| panic!("{n} nodes are more than there are uids"));
        let mut uids = vec![uid; n];
        // Gaps still to fill, as the position of the larger node before them and their length. In whatever order they
        // are filled, a gap's largest node gets its uid before all nodes that it must exceed.
        let mut open = vec![(0, n - 1)];
        while let Some((before, gap)) = open.pop() {
            if gap > 0 {
                let at = self.largest_at[gap];
                uid -= 1;
                uids[before + at] = uid;
                open.push((before + at, gap - at));
                open.push((before, at - 1));
            }
        }
        Extreme { election_messages: self.election_messages(n), uids }
    }
}

/// The cost of the probes of a node whose nearest larger uids are this far away.
fn probes(left: usize, right: usize) -> u64 {
    let mut total = 0;
    let mut reach = 1;
    loop {
        total += probe(left, reach) + probe(right, reach);
        if left.min(right) <= reach {
            return total;
        }
        reach *= 2;
    }
}

/// One probe: swallowed by the larger node, or out and back.
fn probe(larger_at: usize, reach: usize) -> u64 {
    if larger_at <= reach { larger_at as u64 } else { 2 * reach as u64 }
}

/// The cost of the maximum's probes: out and back both ways while they do not reach around, then once around each.
fn maximum(n: usize) -> u64 {
    if n < 2 {
        return 0;
    }
    let reaches = std::iter::successors(Some(1), |reach| Some(2 * reach));
    let phases: usize = reaches.take_while(|&reach| reach < n).map(|reach| 4 * reach).sum();
    (phases + 2 * n) as u64
}

#[cfg(test)]
mod tests {
    use common::types::NodeId;

    use super::{best, worst, worst_counts};
    use crate::lab::table::measure::{Starters, hs};

    /// Probe messages that the core sends on a ring when all nodes start.
    fn measured(uids: &[u16]) -> u64 {
        let ids: Vec<NodeId> = uids.iter().map(|&uid| NodeId(uid)).collect();
        let run = hs(&ids, Starters::All).expect("HS ends");
        run.counts.of("out") + run.counts.of("back")
    }

    /// Every order of the uids 1 to n, by Heap's algorithm.
    fn arrangements(n: u16) -> Vec<Vec<u16>> {
        let mut uids: Vec<u16> = (1..=n).collect();
        let mut all = vec![uids.clone()];
        let mut swaps = vec![0; uids.len()];
        let mut at = 1;
        while at < uids.len() {
            if swaps[at] < at {
                uids.swap(if at % 2 == 0 { 0 } else { swaps[at] }, at);
                all.push(uids.clone());
                swaps[at] += 1;
                at = 1;
            } else {
                swaps[at] = 0;
                at += 1;
            }
        }
        all
    }

    #[test]
    fn no_arrangement_of_a_small_ring_is_beyond_the_extremes() {
        for n in 1..=7 {
            let all = arrangements(n);
            assert_eq!(all.len(), (1..=usize::from(n)).product::<usize>());
            let costs: Vec<u64> = all.iter().map(|uids| measured(uids)).collect();
            assert_eq!(costs.iter().max(), Some(&worst(n.into()).election_messages), "worst of {n}");
            assert_eq!(costs.iter().min(), Some(&best(n.into()).election_messages), "best of {n}");
        }
    }

    #[test]
    fn the_core_spends_on_a_witness_what_was_computed() {
        for n in (8..40).chain([63, 64, 65, 100, 127, 128, 129, 230]) {
            for extreme in [worst(n), best(n)] {
                let mut sorted = extreme.uids.clone();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq((1..).take(n)), "{n} uids, each once");
                assert_eq!(measured(&extreme.uids), extreme.election_messages, "{:?}", extreme.uids);
            }
        }
    }

    #[test]
    fn the_worst_totals_with_announcement_are_the_known_ones() {
        let counts = worst_counts(100);
        let totals: Vec<u64> = (10..=100).step_by(10).map(|n| counts[n] + n as u64).collect();
        assert_eq!(totals, [162, 408, 612, 984, 1206, 1476, 2062, 2304, 2596, 2896]);
    }

    #[test]
    fn all_sizes_at_once_give_what_each_gives_alone() {
        let counts = worst_counts(33);
        assert_eq!(counts[0], 0);
        assert!((1..=33).all(|n| counts[n] == worst(n).election_messages));
    }

    #[test]
    fn the_best_case_has_a_closed_form() {
        for n in 2_usize..200 {
            let circled = n.next_power_of_two() as u64;
            let total = best(n).election_messages + n as u64;
            assert_eq!(total, 6 * n as u64 + 4 * circled - 8, "n = {n}");
        }
    }
}
