//! FRLLE on a synchronous ring, step by step: a message sent in one step arrives in the next.
//!
//! The order within a step is fixed: responses of the leader, then arrivals (nodes in ring order, left port first), then
//! detections. With [`Mode::Joint`] two equal messages that reach a node from both sides in one step count as one, which
//! is how Biswas et al. count.

use std::collections::BTreeMap;

use common::coefficient::Coefficient;
use common::election::circle::{RingConfig, RingTimer};
use common::election::frlle::{Frlle, FrlleConfig, FrlleMsg, FrlleRules};
use common::notice::Event;
use common::outbox::{Command, Dest, Outbox};
use common::protocol::{Cx, Message, Protocol, Signal};
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::{NodeId, Side};
use ideal::index::NodeIndex;
use ideal::net::ROUND;
use ideal::ring;

/// Whether copies that arrive together count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every message counts, as on a radio.
    Sequential,
    /// Two equal messages from both sides in one step count as one.
    Joint,
}

#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub id: NodeId,
    pub coefficient: Coefficient,
}

/// Something that happens to a node in a step.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    pub step: u64,
    pub node: NodeId,
}

/// What is to happen on the ring.
#[derive(Clone, Debug)]
pub struct Script {
    /// The live nodes in ring order.
    pub ring: Vec<Member>,
    /// The leader that has failed, which every node follows at first.
    pub failed: NodeId,
    /// When nodes detect the failure; in list order within a step.
    pub detections: Vec<Timed>,
    /// When nodes hear from the old leader.
    pub responses: Vec<Timed>,
    pub mode: Mode,
}

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The leader each node follows in the end, in ring order.
    pub leaders: Vec<Option<NodeId>>,
    pub messages: BTreeMap<&'static str, u64>,
    /// Messages sent in each step.
    pub sent_per_step: Vec<u64>,
    /// Who declared a leader, in order.
    pub declarers: Vec<NodeId>,
    /// Who found the old leader alive, in order.
    pub recovery_creators: Vec<NodeId>,
    /// The last step in which a node adopted its final leader.
    pub agreed_at: u64,
    /// The step in which the last message arrived.
    pub quiet_at: u64,
}

impl Outcome {
    pub fn total(&self) -> u64 {
        self.messages.values().sum()
    }

    /// Whether all nodes follow the same leader.
    pub fn is_agreed(&self) -> bool {
        self.leaders.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// The two ports of a node, left one first.
type Ports = [Vec<FrlleMsg>; 2];

/// A leader, and the step in which a node adopted it.
#[derive(Clone, Copy)]
struct Adopted {
    leader: NodeId,
    step: u64,
}

struct Run {
    ids: Vec<NodeId>,
    nodes: Vec<Frlle>,
    /// What arrives in the next step.
    arriving: Vec<Ports>,
    /// What each node adopted last.
    adopted: Vec<Option<Adopted>>,
    rng: Rng,
    step: u64,
    outcome: Outcome,
}

/// Runs a script to its end.
///
/// # Panics
/// When a detection or response names a node that is not on the ring.
pub fn run(script: &Script) -> Outcome {
    let mut run = Run::new(script);
    let index = |id: NodeId| {
        let at = script.ring.iter().position(|member| member.id == id);
        NodeIndex(at.unwrap_or_else(|| panic!("node {id} is not on the ring")))
    };
    loop {
        let step = run.step;
        run.outcome.sent_per_step.push(0);
        for response in script.responses.iter().filter(|response| response.step == step) {
            run.call(index(response.node), |node, cx| node.on_signal(Signal::LeaderHeard, cx));
        }
        let count = run.nodes.len();
        let arrivals = std::mem::replace(&mut run.arriving, vec![Ports::default(); count]);
        for (node, ports) in NodeIndex::first(count).zip(arrivals) {
            run.arrive(node, ports, script.mode);
        }
        for detection in script.detections.iter().filter(|detection| detection.step == step) {
            run.call(index(detection.node), |node, cx| node.on_signal(Signal::LeaderLost, cx));
        }
        let under_way = run.arriving.iter().flatten().any(|port| !port.is_empty());
        if !under_way && !script.detections.iter().any(|detection| detection.step > step) {
            return run.finish();
        }
        run.step += 1;
    }
}

impl Run {
    fn new(script: &Script) -> Self {
        let count = script.ring.len();
        let ids: Vec<NodeId> = script.ring.iter().map(|member| member.id).collect();
        let node = |at: NodeIndex| {
            let config = FrlleConfig {
                ring: RingConfig { place: ring::place(&ids, at), patience: Duration::ZERO },
                hop: ROUND,
                coefficient: script.ring[at].coefficient,
                rules: FrlleRules::Published,
            };
            Frlle::new(ids[at], config, Some(script.failed))
        };
        Self {
            nodes: NodeIndex::first(count).map(node).collect(),
            arriving: vec![Ports::default(); count],
            adopted: vec![None; count],
            rng: Rng::new(0),
            step: 0,
            outcome: Outcome::default(),
            ids,
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_micros(ROUND.as_micros() * self.step)
    }

    fn arrive(&mut self, at: NodeIndex, [left, mut right]: Ports, mode: Mode) {
        if !left.is_empty() || !right.is_empty() {
            self.outcome.quiet_at = self.step;
        }
        for msg in left {
            let now = self.now();
            let twin = right.iter().position(|twin| self.nodes[at].may_pair(&msg, twin, now));
            match twin.filter(|_| mode == Mode::Joint) {
                Some(twin) => {
                    right.remove(twin);
                    self.call(at, |node, cx| node.on_pair(msg, cx));
                }
                None => self.take(at, msg),
            }
        }
        for msg in right {
            self.take(at, msg);
        }
    }

    fn take(&mut self, at: NodeIndex, msg: FrlleMsg) {
        let place = ring::place(&self.ids, at);
        let from = match msg.toward {
            Side::Right => place.left,
            Side::Left => place.right,
        };
        self.call(at, |node, cx| node.on_message(from, msg, cx));
    }

    fn call(&mut self, at: NodeIndex, handler: impl FnOnce(&mut Frlle, &mut Cx<'_, Frlle>)) {
        let place = ring::place(&self.ids, at);
        let mut peers = [place.left, place.right];
        peers.sort_unstable();
        let mut out = Outbox::<FrlleMsg, RingTimer>::new();
        let mut cx = Cx { id: self.ids[at], now: self.now(), peers: &peers, rng: &mut self.rng, out: &mut out };
        handler(&mut self.nodes[at], &mut cx);
        assert!(!out.overflowed(), "defect in the core: a handler of FRLLE asked for too much");
        for command in out.drain() {
            match command {
                Command::Send(Dest::One(_), msg) => self.send(at, msg),
                Command::Note(event) => self.note(at, event),
                Command::Send(..) | Command::SetTimer(..) | Command::StopTimer(_) => {}
            }
        }
    }

    fn send(&mut self, from: NodeIndex, msg: FrlleMsg) {
        let count = self.ids.len();
        let (to, port) = match msg.toward {
            Side::Right => (from.right(count), 0),
            Side::Left => (from.left(count), 1),
        };
        *self.outcome.messages.entry(msg.kind()).or_default() += 1;
        if let Some(sent) = self.outcome.sent_per_step.last_mut() {
            *sent += 1;
        }
        self.arriving[to][port].push(msg);
    }

    fn note(&mut self, at: NodeIndex, event: Event) {
        let id = self.ids[at];
        let leader = match event {
            Event::Declared(_) => {
                self.outcome.declarers.push(id);
                return;
            }
            Event::HeardAlive(leader) => {
                self.outcome.recovery_creators.push(id);
                leader
            }
            Event::Recovered(leader) | Event::Followed(leader) => leader,
            Event::ElectedSelf => id,
            _ => return,
        };
        // Adopting the same leader again changes nothing.
        if self.adopted[at].is_none_or(|last| last.leader != leader) {
            self.adopted[at] = Some(Adopted { leader, step: self.step });
        }
    }

    fn finish(mut self) -> Outcome {
        self.outcome.leaders = self.nodes.iter().map(Protocol::leader).collect();
        self.outcome.agreed_at = self.adopted.iter().flatten().map(|adopted| adopted.step).max().unwrap_or(0);
        self.outcome
    }
}
