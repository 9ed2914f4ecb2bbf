//! Links that came up before a recording began.
//!
//! Boards report links only when they change, so nobody reports these as up. But a link that nobody reports has not changed
//! while both its ends ran: it was there all that time, or never. Frames say which. And a link that is first reported as down
//! was up before.

use std::collections::{BTreeMap, BTreeSet};

use common::types::NodeId;
use sim::air::trace::{Event, NodeNumber, Record};

use super::trace_file::Trace;
use crate::field::monitor::boards::BOARDS_MAX;

/// Fewer frames than these say nothing.
const FRAMES_MIN: u32 = 3;

/// What can be known of links that were there before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Ends that report the link for the first time as down.
    pub up_before: BTreeSet<(NodeNumber, NodeId)>,
    /// Ends that ever report the link.
    pub reporting: BTreeSet<(NodeNumber, NodeId)>,
    /// Links that neither end reports, while each received at least half of what the other sent. The lower number is first.
    pub inferred: BTreeSet<(NodeNumber, NodeNumber)>,
}

/// Whether a node is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorded {
    NotYet,
    Now,
    /// Its cable is out.
    Paused,
    /// It has restarted, and has reported all links since.
    NoMore,
}

/// Frames of each node that each other one could have received, or did.
#[derive(Debug)]
struct Counts {
    nodes: usize,
    counts: Vec<u32>,
}

impl Counts {
    fn new(nodes: usize) -> Self {
        Self { nodes, counts: vec![0; nodes * nodes] }
    }

    fn add(&mut self, from: usize, to: usize) {
        if let Some(count) = self.counts.get_mut(from * self.nodes + to) {
            *count = count.saturating_add(1);
        }
    }

    fn at(&self, from: usize, to: usize) -> u32 {
        self.counts.get(from * self.nodes + to).copied().unwrap_or(0)
    }
}

impl Earlier {
    pub fn of(trace: &Trace) -> Self {
        let mut earlier = Self::default();
        let mut is_restarted = BTreeSet::new();
        for Record { node, event, .. } in &trace.records {
            match (node, event) {
                (&Some(node), &Event::Link { peer, up }) => {
                    let is_first = earlier.reporting.insert((node, peer));
                    if is_first && !up && !is_restarted.contains(&node) {
                        earlier.up_before.insert((node, peer));
                    }
                }
                (&Some(node), Event::PowerOff {}) => drop(is_restarted.insert(node)),
                _ => {}
            }
        }
        // A board may take another id.
        let mut owner: BTreeMap<NodeId, NodeNumber> = trace.ids.iter().map(|(&node, &id)| (id, node)).collect();
        for record in &trace.records {
            if let (Some(node), Event::Id { id }) = (record.node, &record.event) {
                owner.entry(*id).or_insert(node);
            }
        }
        let pair = |&(node, peer): &(NodeNumber, NodeId)| {
            owner.get(&peer).map(|&peer| if node < peer { (node, peer) } else { (peer, node) })
        };
        let reported: BTreeSet<(NodeNumber, NodeNumber)> = earlier.reporting.iter().filter_map(pair).collect();
        earlier.inferred = heard_both_ways(trace).into_iter().filter(|link| !reported.contains(link)).collect();
        earlier
    }
}

/// The pairs of which each received at least half of what the other sent, until one of them restarted.
fn heard_both_ways(trace: &Trace) -> Vec<(NodeNumber, NodeNumber)> {
    let nodes: Vec<NodeNumber> = trace.in_use.iter().copied().collect();
    // No monitor watches more.
    if nodes.len() > BOARDS_MAX {
        return Vec::new();
    }
    let (mut sent, mut received) = (Counts::new(nodes.len()), Counts::new(nodes.len()));
    let mut recorded = vec![Recorded::NotYet; nodes.len()];
    for Record { node, event, .. } in &trace.records {
        let Some(Ok(at)) = node.map(|node| nodes.binary_search(&node)) else { continue };
        recorded[at] = match (recorded[at], event) {
            (Recorded::NoMore, _) | (_, Event::PowerOff {}) => Recorded::NoMore,
            (_, Event::Unseen {}) => Recorded::Paused,
            _ => Recorded::Now,
        };
        let is_recorded = |at: usize| recorded[at] == Recorded::Now;
        match event {
            Event::Frame { .. } if is_recorded(at) => {
                (0..nodes.len()).filter(|&other| is_recorded(other)).for_each(|other| sent.add(at, other));
            }
            Event::Received { from, .. } => {
                if let Ok(from) = nodes.binary_search(from)
                    && is_recorded(from)
                    && is_recorded(at)
                {
                    received.add(from, at);
                }
            }
            _ => {}
        }
    }
    let hears = |from: usize, to: usize| {
        let received = received.at(from, to);
        received >= FRAMES_MIN && received.saturating_mul(2) >= sent.at(from, to)
    };
    let pairs = (0..nodes.len()).flat_map(|a| (a + 1..nodes.len()).map(move |b| (a, b)));
    pairs.filter(|&(a, b)| hears(a, b) && hears(b, a)).map(|(a, b)| (nodes[a], nodes[b])).collect()
}
