//! Orders and subsets to try.

use ideal::index::NodeIndex;

/// Every order of `0..n`.
pub fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..n {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                (0..=order.len()).map(|at| {
                    let mut longer = order.clone();
                    longer.insert(at, next);
                    longer
                })
            })
            .collect();
    }
    all
}

/// Every order of `0..n` around a ring: those that begin with 0, since a ring has no beginning.
pub fn around(n: usize) -> Vec<Vec<usize>> {
    permutations(n).into_iter().filter(|order| order[0] == 0).collect()
}

/// Every set of nodes among the first `n` but the empty one.
pub fn subsets(n: usize) -> impl Iterator<Item = Vec<NodeIndex>> {
    (1..1_u32 << n).map(move |bits| NodeIndex::first(n).filter(|node| bits >> node.0 & 1 == 1).collect())
}
