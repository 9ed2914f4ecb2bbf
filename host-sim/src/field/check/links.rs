//! Which nodes of a trace could hear each other, and when.

use std::collections::{BTreeMap, BTreeSet};

use common::types::NodeId;
use sim::air::trace::NodeNumber;

use super::earlier::Earlier;

/// How far back receptions count: long enough for a few hellos from every neighbour.
const WINDOW_S: u64 = 3;

/// This long after the last frame, every inferred link has faded.
pub const FADED_US: u64 = (WINDOW_S + 1) * 1_000_000;

/// The links of a trace. If the nodes report their links, those count, and in a recording those that were up before it began.
/// Otherwise two nodes are linked while each receives at least half of what the other sends.
#[derive(Clone, Debug)]
pub struct Links {
    /// Whether the nodes report their links.
    are_told: bool,
    told: BTreeSet<(NodeNumber, NodeId)>,
    /// What is known of links from before a recording, as far as their ends have not restarted since.
    earlier: Option<Earlier>,
    restarted: BTreeSet<NodeNumber>,
    /// Frames sent, by node and second.
    sent: BTreeMap<NodeNumber, Seconds>,
    /// Frames received, by sender and receiver, and second.
    received: BTreeMap<(NodeNumber, NodeNumber), Seconds>,
}

/// Counts per second, the oldest first.
#[derive(Clone, Debug, Default)]
struct Seconds(Vec<Tally>);

#[derive(Clone, Copy, Debug)]
struct Tally {
    second: u64,
    count: u32,
}

impl Seconds {
    fn add(&mut self, time_us: u64) {
        let second = time_us / 1_000_000;
        match self.0.last_mut() {
            Some(last) if last.second == second => last.count += 1,
            _ => self.0.push(Tally { second, count: 1 }),
        }
        self.0.retain(|tally| tally.second + WINDOW_S > second);
    }

    fn recent(&self, time_us: u64) -> u32 {
        let second = time_us / 1_000_000;
        self.0.iter().filter(|tally| tally.second + WINDOW_S > second).map(|tally| tally.count).sum()
    }
}

impl Links {
    pub fn new(are_told: bool) -> Self {
        let (told, restarted) = (BTreeSet::new(), BTreeSet::new());
        Self { are_told, told, earlier: None, restarted, sent: BTreeMap::new(), received: BTreeMap::new() }
    }

    /// The links of a recording in which nodes report theirs, but which may have begun after some of them came up.
    pub fn recorded(earlier: Earlier) -> Self {
        Self { told: earlier.up_before.clone(), earlier: Some(earlier), ..Self::new(true) }
    }

    /// How many links that nobody reports are inferred from frames, where others are reported.
    pub fn inferred(&self) -> usize {
        self.earlier.as_ref().map_or(0, |earlier| earlier.inferred.len())
    }

    pub fn are_told(&self) -> bool {
        self.are_told
    }

    /// A node reports a link up or down.
    pub fn tell(&mut self, node: NodeNumber, peer: NodeId, up: bool) {
        if up {
            self.told.insert((node, peer));
        } else {
            self.told.remove(&(node, peer));
        }
    }

    /// A node forgets all its links.
    pub fn forget(&mut self, node: NodeNumber) {
        self.told.retain(|&(at, _)| at != node);
        self.restarted.insert(node);
        self.sent.remove(&node);
        self.received.retain(|&(from, to), _| from != node && to != node);
    }

    pub fn sent(&mut self, time_us: u64, node: NodeNumber) {
        self.sent.entry(node).or_default().add(time_us);
    }

    pub fn received(&mut self, time_us: u64, from: NodeNumber, to: NodeNumber) {
        self.received.entry((from, to)).or_default().add(time_us);
    }

    /// The pairs that are linked now. `index` finds a node by its id.
    pub fn now(&self, time_us: u64, index: &BTreeMap<NodeId, NodeNumber>) -> Vec<(NodeNumber, NodeNumber)> {
        if self.are_told {
            return self.told_now(index);
        }
        let hears = |from: NodeNumber, to: NodeNumber| {
            let sent = self.sent.get(&from).map_or(0, |seconds| seconds.recent(time_us));
            let received = self.received.get(&(from, to)).map_or(0, |seconds| seconds.recent(time_us));
            received > 0 && received * 2 >= sent
        };
        let pairs = self.received.keys().copied().filter(|&(a, b)| a < b);
        pairs.filter(|&(a, b)| hears(a, b) && hears(b, a)).collect()
    }
}

impl Links {
    fn told_now(&self, index: &BTreeMap<NodeId, NodeNumber>) -> Vec<(NodeNumber, NodeNumber)> {
        let ends = self.told.iter().filter_map(|&(node, peer)| Some((node, *index.get(&peer)?)));
        let ends: BTreeSet<(NodeNumber, NodeNumber)> = ends.collect();
        let Some(earlier) = &self.earlier else {
            return ends.iter().copied().filter(|&(a, b)| a < b && ends.contains(&(b, a))).collect();
        };
        let ids: BTreeMap<NodeNumber, NodeId> = index.iter().map(|(&id, &node)| (node, id)).collect();
        let is_new = |node: &NodeNumber| self.restarted.contains(node);
        // An end that says nothing of a link at all may have been linked before it was recorded.
        let is_silent = |end: NodeNumber, peer: NodeNumber| {
            !is_new(&end) && ids.get(&peer).is_some_and(|&peer| !earlier.reporting.contains(&(end, peer)))
        };
        let told = ends.iter().copied().filter(|&(a, b)| ends.contains(&(b, a)) || is_silent(b, a));
        let told = told.map(|(a, b)| if a < b { (a, b) } else { (b, a) });
        let inferred = earlier.inferred.iter().copied().filter(|(a, b)| !is_new(a) && !is_new(b));
        told.chain(inferred).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use common::types::NodeId;

    use super::{Links, NodeNumber};

    const A: NodeNumber = NodeNumber(0);
    const B: NodeNumber = NodeNumber(1);

    #[test]
    fn told_links_count_when_both_ends_tell() {
        let index: BTreeMap<NodeId, NodeNumber> = [(NodeId(10), A), (NodeId(11), B)].into();
        let mut links = Links::new(true);
        links.tell(A, NodeId(11), true);
        assert_eq!(links.now(0, &index), []);
        links.tell(B, NodeId(10), true);
        links.tell(B, NodeId(99), true);
        assert_eq!(links.now(0, &index), [(A, B)]);
        links.tell(A, NodeId(11), false);
        assert_eq!(links.now(0, &index), []);
    }

    #[test]
    fn frames_make_links_both_ways_and_for_a_while() {
        let mut links = Links::new(false);
        let none = BTreeMap::new();
        for time in [0, 500_000, 1_000_000, 1_500_000] {
            links.sent(time, A);
            links.sent(time, B);
            links.received(time, A, B);
        }
        assert_eq!(links.now(1_500_000, &none), [], "one way only");
        links.received(500_000, B, A);
        assert_eq!(links.now(1_500_000, &none), [], "one of four is too few");
        links.received(1_000_000, B, A);
        assert_eq!(links.now(1_500_000, &none), [(A, B)]);
        assert_eq!(links.now(9_000_000, &none), [], "long ago");
    }
}
