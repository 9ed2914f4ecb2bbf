//! FRLLE: every order of deliveries and recoveries on rings of three and four, whichever nodes detect.
//!
//! `RINGLEADER_DEEP=1` lets the old leader be heard twice on rings of four too: 8 million states.
//!
//! Time moves one round per event, and a hop is declared to take one round, so a message is never younger than it claims
//! and the recovery condition means what it should. A state's key omits absolute time, and when a node heard the old
//! leader once that is too long ago for any message in flight. (A message's delay grows by one round per hop and the time
//! since by one per event, so that never changes again.)

use std::hash::{Hash, Hasher};

use common::coefficient::Coefficient;
use common::election::circle::RingTimer;
use common::election::frlle::{Frlle, FrlleBody, FrlleConfig, FrlleMsg, FrlleRules};
use common::outbox::Outbox;
use common::protocol::{Cx, Protocol, Signal};
use common::rng::Rng;
use common::time::Instant;
use common::types::NodeId;
use ideal::index::NodeIndex;
use ideal::net::{Channel, Net, ROUND};
use ideal::ring;

use crate::interleavings::arrange::subsets;
use crate::interleavings::walk::{Space, Walk};
use crate::support::fold::Fold;
use crate::support::ring::patient;

/// The leader believed lost. It is no longer on the ring.
const OLD: NodeId = NodeId(99);

/// When the election begins: long after every node last heard the old leader, at time zero.
const BEGIN: Instant = Instant::from_millis(1_000);

#[derive(Clone, Debug)]
struct State {
    net: Net<Frlle, 2>,
    /// When each node last heard the old leader.
    heard: Vec<Instant>,
    hears_left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Deliver(Channel),
    Hear(NodeIndex),
}

/// How elections end on a ring with these coefficients, in ring order. The node at index `i` has the id `i + 1`.
#[derive(Clone, Debug)]
struct Ring {
    coefficients: Vec<u16>,
    rules: FrlleRules,
    /// How often the old leader is heard.
    hears: u8,
}

fn id(at: NodeIndex) -> NodeId {
    NodeId(u16::try_from(at.0 + 1).expect("a small ring"))
}

impl Ring {
    fn start(&self, detectors: &[NodeIndex]) -> State {
        let mut net = Net::default();
        let ids: Vec<_> = NodeIndex::first(self.coefficients.len()).map(id).collect();
        for at in NodeIndex::first(ids.len()) {
            let (ring, coefficient) = (patient(&ids, at), self.coefficients[at]);
            let config = FrlleConfig { ring, hop: ROUND, coefficient: Coefficient(coefficient), rules: self.rules };
            net.add(ids[at], 0, Frlle::new(ids[at], config, Some(OLD)));
        }
        ring::join(&mut net);
        net.start_all();
        net.nodes().for_each(|node| net.signal(node, Signal::LeaderHeard));
        net.set_now(BEGIN);
        for &node in detectors {
            net.signal(node, Signal::LeaderLost);
        }
        State { heard: vec![Instant::ZERO; net.len()], net, hears_left: self.hears }
    }

    fn best(&self) -> Option<NodeId> {
        let nodes = NodeIndex::first(self.coefficients.len());
        nodes.min_by_key(|&at| (self.coefficients[at], std::cmp::Reverse(at))).map(id)
    }
}

impl Space for Ring {
    type State = State;
    type Action = Action;

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.clear();
        actions.extend(state.net.pending().map(Action::Deliver));
        // After the last message no node asks any more.
        if state.hears_left > 0 && !state.net.is_quiet() {
            actions.extend(state.net.nodes().map(Action::Hear));
        }
    }

    fn apply(&self, state: &mut State, action: Action) {
        let now = state.net.now() + ROUND;
        state.net.set_now(now);
        match action {
            Action::Deliver(channel) => {
                state.net.deliver(channel);
            }
            Action::Hear(node) => {
                state.net.signal(node, Signal::LeaderHeard);
                state.heard[node] = now;
                state.hears_left -= 1;
            }
        }
        state.net.reset_counts();
    }

    fn key(&self, state: &State) -> u64 {
        let now = state.net.now();
        let mut hash = Fold::default();
        let delay = |body| if let FrlleBody::Election { delay, .. } = body { delay } else { 0 };
        let longest = state.net.under_way().map(|(_, msg)| u64::from(delay(msg.body))).max().unwrap_or(0);
        for (at, &heard) in state.net.nodes().zip(&state.heard) {
            let soonest = (now + ROUND).since(heard).as_micros();
            let heard = if soonest < longest { Instant::from_micros(soonest) } else { Instant::ZERO };
            with_heard(state.net.node(at), heard).hash(&mut hash);
        }
        state.net.under_way().for_each(|message| message.hash(&mut hash));
        hash.finish()
    }

    fn left(&self, state: &State) -> u8 {
        state.hears_left
    }

    fn end(&self, state: &State) -> Option<Result<(), String>> {
        let leaders: Vec<_> = state.net.nodes().map(|node| state.net.node(node).leader()).collect();
        let all = |leader| leaders.iter().all(|&other| other == leader);
        let is_right = all(self.best()) || (all(Some(OLD)) && self.hears > 0);
        state.net.is_quiet().then(|| if is_right { Ok(()) } else { Err(format!("the leaders are {leaders:?}")) })
    }
}

/// The node as if it had heard the old leader at this time.
fn with_heard(node: &Frlle, at: Instant) -> Frlle {
    let mut node = node.clone();
    let (mut rng, mut out) = (Rng::new(0), Outbox::<FrlleMsg, RingTimer>::new());
    let mut cx = Cx { id: OLD, now: at, peers: &[], rng: &mut rng, out: &mut out };
    node.on_signal(Signal::LeaderHeard, &mut cx);
    node
}

/// Every way to rank `n` nodes with ties, as coefficients.
fn weak_orders(n: usize) -> Vec<Vec<u16>> {
    let n16 = u16::try_from(n).expect("a small ring");
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        all = all.iter().flat_map(|order: &Vec<u16>| (0..n16).map(|c| [&order[..], &[c]].concat())).collect();
    }
    // Ranks without gaps: each weak order once.
    all.retain(|order| (0..*order.iter().max().unwrap_or(&0)).all(|rank| order.contains(&rank)));
    all
}

fn explore(orders: &[Vec<u16>], rules: FrlleRules, hears: u8) -> Result<u64, String> {
    let mut states = 0;
    for coefficients in orders {
        let mut walk = Walk::new(Ring { coefficients: coefficients.clone(), rules, hears });
        for detectors in subsets(coefficients.len()) {
            let start = walk.space().start(&detectors);
            walk.explore(start).map_err(|run| format!("{coefficients:?}, {detectors:?} detect: {run}"))?;
        }
        states += walk.seen().states;
    }
    println!("{rules:?}, {hears} recoveries: {states} states");
    Ok(states)
}

/// Only the order of the candidates matters to the rules, and a ring has no beginning and no handedness. That leaves three
/// orders of four: which node is opposite the best. Each has two ties, which the larger id wins.
fn four() -> Vec<Vec<u16>> {
    vec![vec![0, 1, 0, 1], vec![1, 1, 0, 0], vec![0, 1, 1, 0]]
}

#[test]
fn three_nodes_agree_whoever_detects_and_however_often_the_old_leader_is_heard() {
    explore(&weak_orders(3), FrlleRules::Hardened, 0).expect("the best is elected");
    explore(&weak_orders(3), FrlleRules::Hardened, 2).expect("all agree");
}

#[test]
fn four_nodes_agree_whoever_detects_and_whenever_the_old_leader_is_heard() {
    let hears = if std::env::var_os("RINGLEADER_DEEP").is_some() { 2 } else { 1 };
    explore(&four(), FrlleRules::Hardened, 0).expect("the best is elected");
    explore(&four(), FrlleRules::Hardened, hears).expect("all agree");
}

#[test]
fn the_published_rules_agree_only_without_a_recovery() {
    explore(&weak_orders(3), FrlleRules::Published, 0).expect("the best is elected");
    explore(&four(), FrlleRules::Published, 0).expect("the best is elected");
    let race = explore(&weak_orders(3), FrlleRules::Published, 1).expect_err("a recovery can race a declaration");
    assert!(race.contains("the leaders are"), "{race}");
}

#[test]
fn every_ranking_is_there_once() {
    assert_eq!((weak_orders(3).len(), weak_orders(4).len()), (13, 75));
}
