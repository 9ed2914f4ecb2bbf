//! HS: every order of deliveries on rings of up to five, explored with stateright.
//!
//! A state counts its deliveries, so no state occurs twice in a run and a finished exploration shows that every run ends.
//!
//! When all nodes start, or the maximum alone, the cost is the formula's under every schedule. When some others start it
//! is at most that: a sleeping node that hears of the leader before a smaller probe reaches it never becomes a candidate.
//!
//! With [`HsRules::Known`] candidates know their two neighbours: one that is larger than both sends its probes around at
//! once, and most of those are mistaken.

use common::election::hs::{Hs, HsRules};
use common::protocol::Protocol;
use common::types::NodeId;
use ideal::index::NodeIndex;
use ideal::net::{Channel, Net};
use ideal::ring;
use stateright::{Checker, Model, Property};

use crate::interleavings::arrange::{around, subsets};
use crate::support::ring::patient;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    net: Net<Hs, 2>,
    delivered: u64,
}

/// One ring and its starters; the others sleep until a message wakes them.
struct Ring {
    ids: Vec<NodeId>,
    starters: Vec<NodeIndex>,
    rules: HsRules,
    expected: u64,
    /// Whether every run costs the same.
    exact: bool,
}

impl Ring {
    fn new(order: &[usize], starters: Vec<NodeIndex>) -> Self {
        let n = order.len();
        let exact = starters.len() == n || order[starters[0]] == n - 1 && starters.len() == 1;
        let ids = order.iter().map(|&rank| NodeId(u16::try_from(rank + 1).expect("a small ring"))).collect();
        Self { expected: messages(order, &starters), ids, starters, rules: HsRules::Published, exact }
    }

    /// The same if candidates know their neighbours. A mistaken one costs at most a whole circle.
    fn known(order: &[usize], starters: Vec<NodeIndex>) -> Self {
        let n = order.len() as u64;
        let ring = Self::new(order, starters);
        Self { rules: HsRules::Known, expected: ring.expected + n * n, exact: false, ..ring }
    }

    fn leads(state: &State, node: NodeIndex) -> bool {
        state.net.node(node).leader() == Some(state.net.id(node))
    }

    fn is_over(&self, state: &State) -> bool {
        let winner = self.ids.iter().max().copied();
        state.net.nodes().all(|node| state.net.node(node).leader() == winner)
            && (!self.exact || state.delivered == self.expected)
    }
}

impl Model for Ring {
    type State = State;
    type Action = Channel;

    fn init_states(&self) -> Vec<State> {
        let mut net = Net::default();
        for at in NodeIndex::first(self.ids.len()) {
            let id = self.ids[at];
            net.add(id, 0, Hs::new(id, patient(&self.ids, at)).with_rules(self.rules));
        }
        ring::join(&mut net);
        self.starters.iter().for_each(|&node| net.start(node));
        vec![State { net, delivered: 0 }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Channel>) {
        actions.extend(state.net.pending());
    }

    fn next_state(&self, last: &State, channel: Channel) -> Option<State> {
        let mut state = last.clone();
        state.net.deliver(channel);
        state.delivered += 1;
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("never two leaders", |_, state: &State| {
                state.net.nodes().filter(|&node| Self::leads(state, node)).count() <= 1
            }),
            Property::always("no more messages than the formula has", |ring, state: &State| {
                state.delivered <= ring.expected
            }),
            Property::always(
                "all nodes follow the maximum in the end, at the formula's cost",
                |ring, state: &State| !state.net.is_quiet() || ring.is_over(state),
            ),
        ]
    }
}

/// The messages of an election by the rules alone: who is a candidate, how far each probe gets, and which return.
fn messages(order: &[usize], starters: &[NodeIndex]) -> u64 {
    let n = order.len();
    if n == 1 {
        return 0;
    }
    // Hops to the nearest larger node on one side; the largest meets itself.
    let away = |node: NodeIndex, hops: usize, step: usize| NodeIndex((node.0 + hops * step) % n);
    let reach =
        |node: NodeIndex, step: usize| (1..=n).find(|&hops| order[away(node, hops, step)] >= order[node]).unwrap_or(n);
    let sides = |node: NodeIndex| [reach(node, 1), reach(node, n - 1)];
    let last_phase = |node: NodeIndex| {
        let nearest = sides(node).into_iter().min().unwrap_or(n);
        nearest.next_power_of_two().ilog2()
    };
    let mut stands: Vec<bool> = NodeIndex::first(n).map(|node| starters.contains(&node)).collect();
    for _ in 0..n {
        for node in NodeIndex::first(n).filter(|&node| stands[node]).collect::<Vec<_>>() {
            for (hops, step) in sides(node).into_iter().zip([1, n - 1]) {
                // A node that swallows a probe becomes a candidate.
                if hops <= 1 << last_phase(node) {
                    stands[away(node, hops, step)] = true;
                }
            }
        }
    }
    let cost = |node: NodeIndex| -> usize {
        let one = |phase: u32, reach: usize| {
            let hops = 1 << phase;
            if reach <= hops { reach } else { 2 * hops }
        };
        (0..=last_phase(node)).flat_map(|phase| sides(node).map(|reach| one(phase, reach))).sum()
    };
    let election: usize = NodeIndex::first(n).filter(|&node| stands[node]).map(cost).sum();
    (election + n) as u64
}

/// Explores one ring and returns the number of states.
fn explore(ring: Ring) -> usize {
    let what = format!("ring {:?} of which {:?} start", ring.ids, ring.starters);
    let checker = ring.checker().threads(1).spawn_dfs().join();
    if let Some((property, path)) = checker.discoveries().into_iter().next() {
        panic!("{what}, violated: {property}\n{:?}", path.into_actions());
    }
    checker.unique_state_count()
}

#[test]
fn the_formula_gives_the_known_best_cases() {
    for n in 2..100_u32 {
        let sorted: Vec<usize> = (0..n as usize).collect();
        let all: Vec<NodeIndex> = NodeIndex::first(n as usize).collect();
        let power = n.next_power_of_two();
        assert_eq!(messages(&sorted, &all), u64::from(6 * n + 4 * power - 8), "all {n} start");
        assert_eq!(
            messages(&sorted, &all[n as usize - 1..]),
            u64::from(4 * (power - 1) + 3 * n),
            "the last of {n} starts"
        );
    }
}

#[test]
fn every_run_on_rings_of_up_to_five_ends_with_the_maximum() {
    let mut states = 0;
    for n in 1..=5 {
        for order in around(n) {
            states += explore(Ring::new(&order, NodeIndex::first(n).collect()));
        }
    }
    println!("{states} states");
}

#[test]
fn every_run_ends_with_the_maximum_whoever_starts() {
    let mut states = 0;
    for n in 1..=4 {
        for order in around(n) {
            states += subsets(n).map(|starters| explore(Ring::new(&order, starters))).sum::<usize>();
        }
    }
    println!("{states} states");
}

#[test]
fn every_run_of_those_who_know_their_neighbours_ends_with_the_maximum() {
    let mut states = 0;
    for n in 1..=5 {
        for order in around(n) {
            let all: Vec<NodeIndex> = NodeIndex::first(n).collect();
            let starters = subsets(n).filter(|starters| n < 5 || *starters == all);
            states += starters.map(|starters| explore(Ring::known(&order, starters))).sum::<usize>();
        }
    }
    println!("{states} states");
}

#[test]
fn a_maximum_that_knows_all_others_needs_two_rounds() {
    for n in 2..=16 {
        let ids: Vec<NodeId> = (1..=n).map(NodeId).collect();
        let mut net: Net<Hs, 16> = Net::default();
        for at in NodeIndex::first(ids.len()) {
            net.add(ids[at], 0, Hs::new(ids[at], patient(&ids, at)).with_rules(HsRules::Known));
            at.earlier().for_each(|other| net.join(other, at));
        }
        net.start(NodeIndex(ids.len() - 1));
        net.run_rounds(1_000).expect("it ends");
        assert!(net.nodes().all(|node| net.node(node).leader() == Some(NodeId(n))), "{n} nodes");
        let (n, sent) = (u64::from(n), net.counts().total());
        // Probes and announcements go both ways, and the two ends of either may cross.
        assert!((2 * n - 1..=2 * n + 3).contains(&sent), "{n} nodes: {sent} messages");
    }
}
