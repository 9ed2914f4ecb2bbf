//! Any state heals: from every state of a bounded domain, in every order, a network agrees again.
//!
//! Memory of a node went wrong: its own height, or what it believes of a neighbour, is any of the domain: searches that nobody
//! began, by nodes that are not there; leaders that never were; distances that cannot be; and its clock may be behind all of it.
//! Neighbours believe what is so now or what was so before. Nobody notices anything but what the core does once a second: each
//! node looks at itself ([`Signal::Audit`]), and a neighbour whose word does not fit what was heard of it is asked to say it again
//! ([`Signal::Resend`]; on the air two bits of each of three hellos tell, so that comes after everybody has looked at itself). Both
//! happen while nothing is under way, since messages take milliseconds. Who looks first is every order, and so are deliveries.
//!
//! Every run ends, and where neither look finds anything any more, the network is leader-oriented.
//!
//! Not covered: a node that lacks a link which its links have, or has one that they do not have. `node/audit.rs` mends that
//! first, since links are compared with what the election knows of them, and whole nodes are corrupted at random
//! (`ringleader swarm`).
//!
//! Without either look, some states do not heal, which is checked as well.

use common::causal_clock::ClockKind;
use common::election::height::HeightElection;
use common::election::height_tuple::{Height, LeaderPair, RefLevel};
use common::protocol::{Protocol, Signal};
use common::types::NodeId;
use ideal::graph::Graph;
use ideal::index::{Direction, NodeIndex};
use ideal::net::Channel;

use super::canon::fingerprint;
use super::space::{Network, Picture, deliveries};
use super::starts::shapes;
use super::{is_deep, radio};
use crate::interleavings::walk::{Space, Walk};
use crate::support::oriented::{fault, id};

/// A node that is not there.
const GHOST: NodeId = NodeId(9);

/// The clock of everybody whose clock is right.
const TIME: u32 = 3;

#[derive(Clone, Copy, Debug)]
enum Action {
    Deliver(Direction),
    Audit(NodeIndex),
    Resend(NodeIndex),
}

/// Which looks there are. Without one of them, something must be found that does not heal.
#[derive(Clone, Copy)]
struct Healing {
    audits: bool,
    resends: bool,
}

const WHOLE: Healing = Healing { audits: true, resends: true };

impl Healing {
    /// What looking at themselves, and at each other, makes nodes do.
    fn looks(self, net: &Network) -> impl Iterator<Item = Action> + use<> {
        let is_unsound = |&node: &NodeIndex| {
            let mut after = net.clone();
            after.signal(node, Signal::Audit);
            // Where it is sound, it does not even count the look as an event.
            after.node(node).time() != net.node(node).time() || !after.is_quiet()
        };
        let is_misheard = |&node: &NodeIndex| {
            let told = net.node(node).told();
            let mut others = net.nodes().filter(|&other| net.is_up(node, other));
            others.any(|other| net.node(other).heard(net.id(node)) != told)
        };
        let audits: Vec<_> = net.nodes().filter(|_| self.audits).filter(is_unsound).map(Action::Audit).collect();
        let resends = net.nodes().filter(|_| self.resends && audits.is_empty()).filter(is_misheard).map(Action::Resend);
        let resends: Vec<_> = resends.collect();
        audits.into_iter().chain(resends)
    }
}

impl Space for Healing {
    type State = Network;
    type Action = Action;

    fn actions(&self, net: &Network, actions: &mut Vec<Action>) {
        actions.clear();
        if net.is_quiet() {
            actions.extend(self.looks(net));
            return;
        }
        let picture = Picture::of(net);
        let mut choices = Vec::new();
        let alone = picture.nodes().filter(|&x| picture.stands_alone(x, 0));
        if let Some(x) = alone.min_by_key(|&x| picture.full[x].count_ones()) {
            deliveries(&picture, x, &mut choices);
        } else {
            picture.nodes().for_each(|x| deliveries(&picture, x, &mut choices));
        }
        actions.extend(choices.into_iter().filter_map(|choice| match choice {
            super::space::Action::Deliver(direction) => Some(Action::Deliver(direction)),
            _ => None,
        }));
    }

    fn apply(&self, net: &mut Network, action: Action) {
        match action {
            Action::Deliver(Direction { from, to }) => {
                net.deliver(Channel { from, to, lane: 0 });
            }
            Action::Audit(node) => net.signal(node, Signal::Audit),
            Action::Resend(node) => net.signal(node, Signal::Resend),
        }
        net.reset_counts();
    }

    fn key(&self, net: &Network) -> u64 {
        fingerprint(net, ClockKind::Lamport)
    }

    fn left(&self, _: &Network) -> u8 {
        0
    }

    fn end(&self, net: &Network) -> Option<Result<(), String>> {
        let is_end = net.is_quiet() && self.looks(net).next().is_none();
        is_end.then(|| fault(net).map_or(Ok(()), Err))
    }
}

/// The values that a memory may have.
struct Domain {
    times: &'static [u32],
    deltas: &'static [i16],
}

const TINY: Domain = Domain { times: &[0, 2], deltas: &[0] };
const NARROW: Domain = Domain { times: &[0, 2], deltas: &[0, 1] };
const WIDE: Domain = Domain { times: &[0, 1, 3], deltas: &[-1, 0, 2] };

impl Domain {
    /// Every height of a node among so many.
    fn heights(&self, node: NodeIndex, nodes: usize) -> Vec<Height> {
        let ids = || NodeIndex::first(nodes).map(id).chain([GHOST]);
        let mut levels = vec![RefLevel::ZERO, RefLevel { oid: GHOST, reflected: true, ..RefLevel::ZERO }];
        for &tau in self.times.iter().filter(|&&tau| tau > 0) {
            levels.extend(ids().flat_map(|oid| [false, true].map(|reflected| RefLevel { tau, oid, reflected })));
        }
        let mut heights = Vec::new();
        for &level in &levels {
            for (&delta, &elected_at) in
                self.deltas.iter().flat_map(|delta| self.times.iter().map(move |at| (delta, at)))
            {
                let leaders = ids().map(|lid| LeaderPair { elected_at, lid });
                heights.extend(leaders.map(|leader| Height { level, delta, leader, id: id(node) }));
            }
        }
        heights
    }
}

/// What each node is and believes.
#[derive(Clone)]
struct Memory {
    heights: Vec<Height>,
    /// Of each node, what it believes of each other.
    views: Vec<Vec<Height>>,
    times: Vec<u32>,
}

impl Memory {
    /// As it should be: the first node leads.
    fn sound(graph: &Graph) -> Self {
        let distances = graph.distances(NodeIndex(0));
        let height = |node: NodeIndex| {
            let hops = distances[node].expect("a connected graph");
            let leader = LeaderPair { elected_at: 1, lid: id(NodeIndex(0)) };
            Height { leader, ..Height::initial(id(node), leader.lid, i16::try_from(hops).expect("a short way")) }
        };
        let heights: Vec<Height> = graph.nodes().map(height).collect();
        Self { views: vec![heights.clone(); heights.len()], times: vec![TIME; heights.len()], heights }
    }

    fn net(&self, graph: &Graph) -> Network {
        let mut net = Network::default();
        for node in graph.nodes() {
            let mut state = HeightElection::with_height(self.heights[node.0], radio(ClockKind::Lamport))
                .at_time(self.times[node.0]);
            for other in graph.nodes().filter(|&other| graph.has(node, other)) {
                state = state.with_neighbour(self.views[node.0][other.0]).expect("room for all links");
            }
            net.add(id(node), 0, state);
        }
        graph.edges().for_each(|edge| net.join(edge.u, edge.v));
        net
    }
}

/// The networks in which one node's memory is any of the domain: its own height, known to the others or not, and its clock; or
/// what it believes of one neighbour.
fn corrupted(graph: &Graph, sound: &Memory, node: NodeIndex, domain: &Domain, mut each: impl FnMut(&Memory)) {
    for height in domain.heights(node, graph.len()) {
        for (is_known, time) in [(false, TIME), (true, TIME), (false, 0), (true, 0)] {
            let mut memory = sound.clone();
            memory.heights[node.0] = height;
            memory.times[node.0] = time;
            if is_known {
                memory.views.iter_mut().for_each(|views| views[node.0] = height);
            }
            each(&memory);
        }
    }
    for other in graph.nodes().filter(|&other| graph.has(node, other)) {
        for view in domain.heights(other, graph.len()) {
            let mut memory = sound.clone();
            memory.views[node.0][other.0] = view;
            each(&memory);
        }
    }
}

fn connected(nodes: usize) -> impl Iterator<Item = Graph> {
    shapes(nodes).filter(|graph| graph.components().len() == 1)
}

fn heal(walk: &mut Walk<Healing>, graph: &Graph, memory: &Memory) -> Result<(), String> {
    let Memory { heights, views, times } = memory;
    let told = |run| {
        let links: Vec<_> = graph.edges().collect();
        format!("links {links:?}, heights {heights:?}, times {times:?}, views {views:?}: {run}")
    };
    walk.explore(memory.net(graph)).map_err(told)
}

/// Every start in which so many nodes, one or two, have a corrupted memory, and every order of what follows.
fn explore(nodes: usize, corrupt: usize, domain: &Domain, healing: Healing) -> Result<(), String> {
    let (mut walk, mut starts) = (Walk::new(healing), 0);
    for graph in connected(nodes) {
        let sound = Memory::sound(&graph);
        let mut memories = Vec::new();
        for one in graph.nodes() {
            corrupted(&graph, &sound, one, domain, |memory| memories.push((one, memory.clone())));
        }
        for (one, memory) in &memories {
            let mut outcome = Ok(());
            let mut each = |memory: &Memory| {
                starts += 1;
                if outcome.is_ok() {
                    outcome = heal(&mut walk, &graph, memory);
                }
            };
            if corrupt == 1 {
                each(memory);
            } else {
                let others = graph.nodes().filter(|other| other > one);
                others.for_each(|other| corrupted(&graph, memory, other, domain, &mut each));
            }
            outcome?;
        }
    }
    let seen = walk.seen();
    assert!(!seen.ends.is_empty(), "no run has ended");
    println!("{corrupt} of {nodes}: {starts} starts, {} states, {} ends", seen.states, seen.ends.len());
    Ok(())
}

fn check(nodes: usize, corrupt: usize, usual: &Domain, deep: &Domain) {
    let domain = if is_deep() { deep } else { usual };
    explore(nodes, corrupt, domain, WHOLE).unwrap_or_else(|fault| panic!("{fault}"));
}

#[test]
fn one_corrupted_node_of_two_agrees_with_the_other_again() {
    check(2, 1, &WIDE, &WIDE);
}

#[test]
fn two_corrupted_nodes_agree_again() {
    check(2, 2, &TINY, &NARROW);
}

#[test]
fn three_nodes_agree_again_after_one_is_corrupted() {
    check(3, 1, &TINY, &NARROW);
    if is_deep() {
        check(4, 1, &TINY, &TINY);
    }
}

#[test]
fn without_either_look_some_states_do_not_heal() {
    for healing in [Healing { audits: false, ..WHOLE }, Healing { resends: false, ..WHOLE }] {
        assert!(explore(2, 1, &NARROW, healing).is_err(), "everything heals");
    }
}
