//! Ids in random order.

use common::rng::Rng;
use common::types::NodeId;

/// The ids `1..=count` in an order that the generator decides.
pub fn shuffled_ids(count: u16, rng: &mut Rng) -> Vec<NodeId> {
    let mut ids: Vec<NodeId> = (1..=count).map(NodeId).collect();
    shuffle(&mut ids, rng);
    ids
}

/// Puts things in random order (Fisher and Yates).
pub fn shuffle<T>(things: &mut [T], rng: &mut Rng) {
    for last in (1..things.len()).rev() {
        let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
        things.swap(last, rng.below(bound) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::shuffled_ids;
    use common::rng::Rng;

    #[test]
    fn every_id_appears_once_and_every_order_occurs() {
        let mut rng = Rng::new(3);
        let mut orders = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let ids = shuffled_ids(3, &mut rng);
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().map(|id| id.0).eq(1..=3));
            orders.insert(ids);
        }
        assert_eq!(orders.len(), 6);
    }
}
