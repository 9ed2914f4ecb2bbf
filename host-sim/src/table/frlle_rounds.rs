//! FRLLE on a synchronous ring, where two equal copies that meet at a node may be taken as one.
//!
//! The ideal network hands a node one message at a time. The costs that seed 002 counts need both copies together
//! ([`Frlle::on_pair`]), so this driver steps the ring itself. In each step: what was heard of the leader, then arrivals
//! (nodes in ring order, from the left before from the right), then detections.

use std::collections::VecDeque;

use common::coefficient::Coefficient;
use common::election::circle::RingConfig;
use common::election::frlle::{Frlle, FrlleConfig, FrlleMsg, FrlleRules};
use common::outbox::{Command, Outbox};
use common::protocol::{Cx, Protocol, Signal};
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::{NodeId, RingPlace, Side};

use crate::net::ROUND;

/// How an election ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Messages sent.
    pub messages: u64,
    /// When the last message arrived.
    pub steps: u64,
    /// Whom each node follows, in ring order.
    pub leaders: Vec<NodeId>,
}

/// Runs the published rules on a ring of live nodes that all follow `failed`, until nothing is under way and nobody
/// has a detection to come. `detect` and `responses` say when which node finds the leader lost, and hears it again;
/// `joint` whether equal copies that arrive together are taken as one.
///
/// # Panics
/// When there is not one coefficient for each node.
pub fn run(
    ring: &[NodeId],
    coefficients: &[Coefficient],
    failed: NodeId,
    detect: &[(u64, NodeId)],
    responses: &[(u64, NodeId)],
    joint: bool,
) -> Outcome {
    assert_eq!(ring.len(), coefficients.len(), "one coefficient for each node");
    let mut steps = Steps::new(ring, coefficients, failed);
    let last_detection = detect.iter().map(|&(time, _)| time).max().unwrap_or(0);
    let mut last_arrival = 0;
    for time in 0.. {
        let due = |list: &[(u64, NodeId)]| list.iter().filter(|&&(at, _)| at == time).map(|&(_, id)| id).collect();
        let (heard, lost): (Vec<NodeId>, Vec<NodeId>) = (due(responses), due(detect));
        steps.time = time;
        steps.signal(&heard, Signal::LeaderHeard);
        if steps.deliver(joint) {
            last_arrival = time;
        }
        steps.signal(&lost, Signal::LeaderLost);
        if steps.is_quiet() && time >= last_detection {
            break;
        }
    }
    let leaders = steps.nodes.iter().map(|node| node.leader().unwrap_or(failed)).collect();
    Outcome { messages: steps.messages, steps: last_arrival, leaders }
}

/// What is about to arrive at one node.
#[derive(Clone, Debug, Default)]
struct Inbox {
    from_left: VecDeque<FrlleMsg>,
    from_right: VecDeque<FrlleMsg>,
}

struct Steps<'a> {
    ring: &'a [NodeId],
    nodes: Vec<Frlle>,
    inboxes: Vec<Inbox>,
    time: u64,
    messages: u64,
    rng: Rng,
}

impl<'a> Steps<'a> {
    fn new(ring: &'a [NodeId], coefficients: &[Coefficient], failed: NodeId) -> Self {
        let n = ring.len();
        let node = |at: usize| {
            let place = RingPlace { left: ring[(at + n - 1) % n], right: ring[(at + 1) % n] };
            let config = FrlleConfig {
                ring: RingConfig { place, patience: Duration::ZERO },
                hop: ROUND,
                coefficient: coefficients[at],
                rules: FrlleRules::Published,
            };
            Frlle::new(ring[at], config, Some(failed))
        };
        let nodes = (0..n).map(node).collect();
        Self { ring, nodes, inboxes: vec![Inbox::default(); n], time: 0, messages: 0, rng: Rng::new(0) }
    }

    fn is_quiet(&self) -> bool {
        self.inboxes.iter().all(|inbox| inbox.from_left.is_empty() && inbox.from_right.is_empty())
    }

    fn signal(&mut self, ids: &[NodeId], signal: Signal) {
        for id in ids {
            if let Some(at) = self.ring.iter().position(|member| member == id) {
                self.call(at, |node, cx| node.on_signal(signal, cx));
            }
        }
    }

    /// Delivers everything that was sent before; false where there was nothing.
    fn deliver(&mut self, joint: bool) -> bool {
        let any = !self.is_quiet();
        let empty = vec![Inbox::default(); self.ring.len()];
        for (at, mut inbox) in std::mem::replace(&mut self.inboxes, empty).into_iter().enumerate() {
            let (left, right) = self.neighbours(at);
            while let Some(msg) = inbox.from_left.pop_front() {
                let twin = inbox.from_right.iter().position(|other| joint && msg.is_twin_of(other));
                match twin.and_then(|twin| inbox.from_right.remove(twin)) {
                    Some(twin) => self.call(at, |node, cx| node.on_pair(msg, twin, cx)),
                    None => self.call(at, |node, cx| node.on_message(left, msg, cx)),
                }
            }
            for msg in inbox.from_right {
                self.call(at, |node, cx| node.on_message(right, msg, cx));
            }
        }
        any
    }

    fn neighbours(&self, at: usize) -> (NodeId, NodeId) {
        let n = self.ring.len();
        (self.ring[(at + n - 1) % n], self.ring[(at + 1) % n])
    }

    /// Calls a handler of one node and puts what it sends into the inboxes of the next step.
    fn call(&mut self, at: usize, handler: impl FnOnce(&mut Frlle, &mut Cx<'_, Frlle>)) {
        let (left, right) = self.neighbours(at);
        let peers = [left.min(right), left.max(right)];
        let now = Instant::ZERO + ROUND.times(u32::try_from(self.time).unwrap_or(u32::MAX));
        let mut out = Outbox::new();
        let mut cx = Cx { id: self.ring[at], now, peers: &peers, rng: &mut self.rng, out: &mut out };
        handler(&mut self.nodes[at], &mut cx);
        assert!(!out.overflowed(), "defect in the core: node {} issued too many commands", self.ring[at]);
        let n = self.ring.len();
        for command in out.drain() {
            let Command::Send(_, msg) = command else { continue };
            self.messages += 1;
            match msg.toward {
                Side::Right => self.inboxes[(at + 1) % n].from_left.push_back(msg),
                Side::Left => self.inboxes[(at + n - 1) % n].from_right.push_back(msg),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use common::coefficient::Coefficient;
    use common::types::NodeId;

    use super::{Outcome, run};

    const FAILED: NodeId = NodeId(99);

    fn ring_of(n: u16) -> (Vec<NodeId>, Vec<Coefficient>) {
        ((0..n).map(NodeId).collect(), (0..n).map(Coefficient).collect())
    }

    #[test]
    fn copies_that_meet_are_taken_as_one_only_in_joint_mode() {
        let (ring, coefficients) = ring_of(6);
        let detect = [(0, NodeId(0))];
        let joint = run(&ring, &coefficients, FAILED, &detect, &[], true);
        let apart = run(&ring, &coefficients, FAILED, &detect, &[], false);
        assert!(joint.messages < apart.messages, "{joint:?} {apart:?}");
        assert!(joint.leaders.iter().chain(&apart.leaders).all(|&leader| leader == NodeId(0)));
    }

    #[test]
    fn a_leader_that_both_neighbours_hear_stays() {
        let (ring, coefficients) = ring_of(5);
        let responses = [(1, NodeId(1)), (1, NodeId(3))];
        let outcome = run(&ring, &coefficients, FAILED, &[(0, NodeId(2))], &responses, true);
        assert_eq!(outcome, Outcome { messages: 4, steps: 2, leaders: vec![FAILED; 5] });
    }

    #[test]
    fn a_detection_to_come_is_waited_for() {
        let (ring, coefficients) = ring_of(4);
        let late = run(&ring, &coefficients, FAILED, &[(7, NodeId(3))], &[], true);
        let early = run(&ring, &coefficients, FAILED, &[(0, NodeId(3))], &[], true);
        assert_eq!((late.messages, late.steps), (early.messages, early.steps + 7));
    }

    #[test]
    fn equal_coefficients_are_won_by_the_larger_id() {
        let ring = [NodeId(4), NodeId(8), NodeId(2)];
        let outcome = run(&ring, &[Coefficient(5); 3], FAILED, &[(0, NodeId(2))], &[], false);
        assert_eq!(outcome.leaders, [NodeId(8); 3]);
    }
}
