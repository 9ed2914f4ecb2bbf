//! Which nodes of a trace could hear each other, and when.

use std::collections::{BTreeMap, BTreeSet};

use common::types::NodeId;

/// How far back receptions count: long enough for a few hellos from every neighbour.
const WINDOW_S: u64 = 3;

/// This long after the last frame, every inferred link has faded.
pub const FADED_US: u64 = (WINDOW_S + 1) * 1_000_000;

/// The links of a trace. If the nodes report their links, those count. Otherwise two nodes are linked while each receives
/// at least half of what the other sends.
#[derive(Clone, Debug)]
pub struct Links {
    /// Whether the nodes report their links.
    are_told: bool,
    told: BTreeSet<(usize, NodeId)>,
    /// Frames sent, by node and second.
    sent: BTreeMap<usize, Seconds>,
    /// Frames received, by sender and receiver, and second.
    received: BTreeMap<(usize, usize), Seconds>,
}

/// Counts per second, the oldest first: `(second, count)`.
#[derive(Clone, Debug, Default)]
struct Seconds(Vec<(u64, u32)>);

impl Seconds {
    fn add(&mut self, time_us: u64) {
        let second = time_us / 1_000_000;
        match self.0.last_mut() {
            Some((last, count)) if *last == second => *count += 1,
            _ => self.0.push((second, 1)),
        }
        self.0.retain(|&(at, _)| at + WINDOW_S > second);
    }

    fn recent(&self, time_us: u64) -> u32 {
        let second = time_us / 1_000_000;
        self.0.iter().filter(|&&(at, _)| at + WINDOW_S > second).map(|&(_, count)| count).sum()
    }
}

impl Links {
    pub fn new(are_told: bool) -> Self {
        Self { are_told, told: BTreeSet::new(), sent: BTreeMap::new(), received: BTreeMap::new() }
    }

    pub fn are_told(&self) -> bool {
        self.are_told
    }

    /// A node reports a link up or down.
    pub fn tell(&mut self, node: usize, peer: NodeId, up: bool) {
        if up {
            self.told.insert((node, peer));
        } else {
            self.told.remove(&(node, peer));
        }
    }

    /// A node forgets all its links.
    pub fn forget(&mut self, node: usize) {
        self.told.retain(|&(at, _)| at != node);
        self.sent.remove(&node);
        self.received.retain(|&(from, to), _| from != node && to != node);
    }

    pub fn sent(&mut self, time_us: u64, node: usize) {
        self.sent.entry(node).or_default().add(time_us);
    }

    pub fn received(&mut self, time_us: u64, from: usize, to: usize) {
        self.received.entry((from, to)).or_default().add(time_us);
    }

    /// The pairs that are linked now. `index` finds a node by its id.
    pub fn now(&self, time_us: u64, index: &BTreeMap<NodeId, usize>) -> Vec<(usize, usize)> {
        if self.are_told {
            let pairs = self.told.iter().filter_map(|&(node, peer)| Some((node, *index.get(&peer)?)));
            let pairs: BTreeSet<(usize, usize)> = pairs.collect();
            return pairs.iter().copied().filter(|&(a, b)| a < b && pairs.contains(&(b, a))).collect();
        }
        let hears = |from: usize, to: usize| {
            let sent = self.sent.get(&from).map_or(0, |seconds| seconds.recent(time_us));
            let received = self.received.get(&(from, to)).map_or(0, |seconds| seconds.recent(time_us));
            received > 0 && received * 2 >= sent
        };
        let pairs = self.received.keys().copied().filter(|&(a, b)| a < b);
        pairs.filter(|&(a, b)| hears(a, b) && hears(b, a)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use common::types::NodeId;

    use super::Links;

    #[test]
    fn told_links_count_when_both_ends_tell() {
        let index: BTreeMap<NodeId, usize> = [(NodeId(10), 0), (NodeId(11), 1)].into();
        let mut links = Links::new(true);
        links.tell(0, NodeId(11), true);
        assert_eq!(links.now(0, &index), []);
        links.tell(1, NodeId(10), true);
        links.tell(1, NodeId(99), true);
        assert_eq!(links.now(0, &index), [(0, 1)]);
        links.tell(0, NodeId(11), false);
        assert_eq!(links.now(0, &index), []);
    }

    #[test]
    fn frames_make_links_both_ways_and_for_a_while() {
        let mut links = Links::new(false);
        let none = BTreeMap::new();
        for time in [0, 500_000, 1_000_000, 1_500_000] {
            links.sent(time, 0);
            links.sent(time, 1);
            links.received(time, 0, 1);
        }
        assert_eq!(links.now(1_500_000, &none), [], "one way only");
        links.received(500_000, 1, 0);
        assert_eq!(links.now(1_500_000, &none), [], "one of four is too few");
        links.received(1_000_000, 1, 0);
        assert_eq!(links.now(1_500_000, &none), [(0, 1)]);
        assert_eq!(links.now(9_000_000, &none), [], "long ago");
    }
}
