//! Ring algorithms: random starters and delays, the leader dies, the ring closes, a node comes back.

use common::election::{Algorithm, Election};
use common::protocol::{Protocol, Signal};
use common::rng::Rng;
use common::types::{NodeId, RingPlace};
use ideal::index::NodeIndex;
use ideal::net::{Delay, Net};
use ideal::shuffle::shuffle;

use super::{DELAY, agreed, coefficient, election, settle, sweep};

struct Circle {
    net: Net<Election, 32>,
    ids: Vec<NodeId>,
    algorithm: Algorithm,
    rng: Rng,
}

impl Circle {
    fn new(algorithm: Algorithm, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, 0x51);
        let count = 2 + rng.below(15) as usize;
        let mut all: Vec<NodeId> = (1..60).map(NodeId).collect();
        shuffle(&mut all, &mut rng);
        let ids = all[..count].to_vec();
        let mut net = Net::new(Delay::Random { rounds: DELAY, rng: Rng::stream(seed, 0x52) });
        for at in NodeIndex::first(count) {
            net.add(ids[at], seed, election(ids[at], algorithm, &ids, at));
        }
        // The Ring algorithm skips dead successors over existing links.
        for at in net.nodes() {
            let last = if algorithm == Algorithm::Ring { count } else { 2 };
            let further = (1..last.max(2)).map(|hop| NodeIndex((at.0 + hop) % count));
            further.filter(|&other| other != at).for_each(|other| net.join(at, other));
        }
        Self { net, ids, algorithm, rng }
    }

    fn some(&mut self, of: &[NodeIndex]) -> Vec<NodeIndex> {
        let mut chosen = of.to_vec();
        shuffle(&mut chosen, &mut self.rng);
        chosen.truncate(1 + self.rng.below(u32::try_from(of.len()).unwrap()) as usize);
        chosen
    }

    fn alive(&self) -> Vec<NodeIndex> {
        self.net.nodes().filter(|&node| self.net.is_alive(node)).collect()
    }

    /// The expected winner among the live nodes; none if the algorithm is random.
    fn best(&self) -> Option<NodeId> {
        let alive = self.alive().into_iter().map(|node| self.ids[node]);
        match self.algorithm {
            Algorithm::Abraham => None,
            Algorithm::Frlle => alive.min_by_key(|&id| (coefficient(id), std::cmp::Reverse(id))),
            _ => alive.max(),
        }
    }

    fn check(&self) -> NodeIndex {
        let leader = agreed(&self.net, &self.alive());
        if let Some(best) = self.best() {
            assert_eq!(leader, best);
        }
        self.net.index_of(leader).expect("a member")
    }

    /// A node dies; its live neighbours learn of it at the same time or one after the other, and close the ring.
    fn kill(&mut self, node: NodeIndex) {
        let count = self.ids.len();
        let next = |from: NodeIndex, step: usize| {
            let mut further = (1..=count).map(|hop| NodeIndex((from.0 + hop * step) % count));
            further.find(|&at| self.net.is_alive(at) && at != node).unwrap()
        };
        let (left, right) = (next(node, count - 1), next(node, 1));
        let (beyond_left, beyond_right) = (next(left, count - 1), next(right, 1));
        self.net.crash(node);
        for other in self.alive() {
            if self.net.is_up(other, node) {
                self.net.link_down(other, node);
            }
        }
        if left != right {
            self.net.connect(left, right);
        }
        let ends = [(left, beyond_left, right), (right, left, beyond_right)];
        for (at, left, right) in ends {
            if self.rng.below(2) == 0 {
                self.net.step_round();
            }
            let place = if left == right && left == at {
                RingPlace { left: self.ids[at], right: self.ids[at] }
            } else {
                RingPlace { left: self.ids[left], right: self.ids[right] }
            };
            self.net.signal(at, Signal::Ring(place));
        }
        let alive = self.alive();
        for detector in self.some(&alive) {
            self.net.signal(detector, Signal::LeaderLost);
            if self.rng.below(3) == 0 {
                self.net.step_round();
            }
        }
    }
}

fn ring_case(algorithm: Algorithm, seed: u64) {
    let mut circle = Circle::new(algorithm, seed);
    let all = circle.alive();
    for starter in circle.some(&all) {
        circle.net.start(starter);
        if circle.rng.below(2) == 0 {
            circle.net.step_round();
        }
    }
    settle(&mut circle.net);
    let leader = circle.check();
    if circle.ids.len() > 2 {
        circle.kill(leader);
        settle(&mut circle.net);
        let next = circle.check();
        assert_ne!(circle.ids[next], circle.ids[leader]);
        assert_eq!(circle.net.node(next).leader(), Some(circle.ids[next]), "the leader knows that it leads");
    }
}

#[test]
fn hs() {
    sweep("rings::hs", 1_500, |seed| ring_case(Algorithm::Hs, seed));
}

#[test]
fn lcr() {
    sweep("rings::lcr", 1_500, |seed| ring_case(Algorithm::Lcr, seed));
}

#[test]
fn frlle() {
    sweep("rings::frlle", 1_500, |seed| ring_case(Algorithm::Frlle, seed));
}

#[test]
fn ring() {
    sweep("rings::ring", 1_500, |seed| ring_case(Algorithm::Ring, seed));
}

#[test]
fn abraham() {
    sweep("rings::abraham", 1_500, |seed| ring_case(Algorithm::Abraham, seed));
}

#[test]
fn timer_based() {
    sweep("rings::timer_based", 1_500, |seed| ring_case(Algorithm::TimerBased, seed));
}
