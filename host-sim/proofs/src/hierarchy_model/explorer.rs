//! Every interleaving of deliveries with a few events: a search over all reachable states.
//!
//! A state is recognised by its hash. Every event moves a clock forward or, if the receiver has no channel to the sender,
//! only removes a message (`State::progress`). So no state occurs twice in a run, and a search that finishes shows that
//! every run ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};

use common::causal_clock::ClockKind;
use common::election::height::HeightRules;
use common::election::hierarchy::{Hierarchy, HierarchyOptions, Radii, Standing};
use common::protocol::Signal;
use common::types::NodeId;
use ideal::graph::Graph;
use ideal::index::{Direction, Edge, NodeIndex};
use ideal::net::{Delay, Net, Queueing};
use ideal::well_formed;

use crate::support::fold::Fold;

/// Links a node may have here.
pub const LINKS: usize = 4;

pub type SmallNet = Net<Hierarchy<LINKS>, LINKS>;

/// How the nodes are set up. Node `i` has the id `i + 1`.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    pub radii: &'a [u8],
    pub fitness: &'a [u8],
    pub rules: HeightRules,
}

impl Setup<'_> {
    fn node(&self, node: NodeIndex) -> Hierarchy<LINKS> {
        let radii = Radii::new(self.radii).expect("valid radii");
        let options =
            HierarchyOptions { radii, fitness: self.fitness[node], clock: ClockKind::Lamport, rules: self.rules };
        Hierarchy::new(id(node), options)
    }

    /// Nodes without links.
    pub fn apart(&self) -> SmallNet {
        let mut net = SmallNet::new(Delay::Round).with_queueing(Queueing::Latest);
        for node in NodeIndex::first(self.fitness.len()) {
            net.add(id(node), 0, self.node(node));
        }
        net
    }

    /// The network of a graph at rest, led by one of its nodes.
    pub fn settled(&self, graph: &Graph, leader: NodeIndex) -> SmallNet {
        let mut net = self.apart();
        graph.edges().for_each(|Edge { u, v }| net.connect(u, v));
        while net.step_round() {}
        if net.node(leader).height().leader.lid != id(leader) {
            net.signal(leader, Signal::Elect);
            while net.step_round() {}
        }
        well_formed::check(&net).expect("a network at rest to begin with");
        net
    }
}

fn id(node: NodeIndex) -> NodeId {
    NodeId(u16::try_from(node.0 + 1).expect("few nodes"))
}

/// Something that happens from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Up(Direction),
    Down(Direction),
    /// The node loses its state and restarts at once.
    Crash(NodeIndex),
}

/// One step of a run, as a failure shows it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Deliver(Direction),
    Outside(Event),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Up(Direction { from, to }) => write!(f, "Up({from}, {to})"),
            Self::Down(Direction { from, to }) => write!(f, "Down({from}, {to})"),
            Self::Crash(node) => write!(f, "Crash({node})"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deliver(Direction { from, to }) => write!(f, "Deliver({from}, {to})"),
            Self::Outside(event) => event.fmt(f),
        }
    }
}

/// An event of a script, counted from 0.
#[derive(Clone, Copy, Debug)]
struct EventIndex(usize);

#[derive(Clone, Debug)]
struct Entry {
    event: Event,
    /// Those that must come before it.
    after: Vec<EventIndex>,
}

/// Events, and in which order they may come.
#[derive(Clone, Debug, Default)]
pub struct Script(Vec<Entry>);

impl Script {
    fn push(&mut self, event: Event, after: &[EventIndex]) -> EventIndex {
        self.0.push(Entry { event, after: after.to_vec() });
        EventIndex(self.0.len() - 1)
    }

    /// Both ends detect a change of a link, each at its own time, but changes of one direction in order.
    pub fn change(mut self, edge: Edge, up: bool) -> Self {
        for direction in edge.directions() {
            let event = if up { Event::Up(direction) } else { Event::Down(direction) };
            let same = |entry: &Entry| [Event::Up(direction), Event::Down(direction)].contains(&entry.event);
            let after: Vec<EventIndex> = self.0.iter().rposition(same).map(EventIndex).into_iter().collect();
            self.push(event, &after);
        }
        self
    }

    /// A node loses its state; it and its neighbours get their links back, each at its own time.
    pub fn crash(mut self, node: NodeIndex, graph: &Graph) -> Self {
        let crash = self.push(Event::Crash(node), &[]);
        for peer in graph.nodes().filter(|&peer| graph.has(node, peer)) {
            let there = Direction { from: node, to: peer };
            self.push(Event::Up(there), &[crash]);
            let down = self.push(Event::Down(there.back()), &[crash]);
            self.push(Event::Up(there.back()), &[down]);
        }
        self
    }
}

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub states: usize,
    pub terminal: usize,
    /// The final structures, with the number of end states that have each.
    pub structures: BTreeMap<Structure, usize>,
}

/// What each node has ended with.
pub type Structure = Vec<Ended>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ended {
    pub leader: NodeId,
    /// By level; none if nobody captured it.
    pub captures: Vec<Option<Capture>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capture {
    pub head: NodeId,
    distance: u8,
    parent: NodeId,
}

/// Searches everything; the error is the first end state that is not well-formed, with the path to it.
pub fn explore(setup: &Setup<'_>, start: &SmallNet, script: &Script) -> Result<Found, String> {
    let mut found = Found::default();
    let mut seen = BTreeSet::new();
    let mut path = Vec::new();
    let first = State { net: start.clone(), done: 0, depth: 0 };
    seen.insert(first.fingerprint());
    let mut stack = vec![(first, None)];
    while let Some((state, step)) = stack.pop() {
        found.states += 1;
        path.truncate(state.depth.saturating_sub(1));
        path.extend(step);
        let before = state.progress();
        let next = state.successors(setup, script);
        if next.is_empty() {
            found.terminal += 1;
            well_formed::check(&state.net).map_err(|violation| format!("{violation}; after {}", told(&path)))?;
            *found.structures.entry(structure(&state.net)).or_default() += 1;
        }
        for (state, step) in next {
            assert!(state.progress() > before, "{step:?} made no progress");
            if seen.insert(state.fingerprint()) {
                stack.push((state, Some(step)));
            }
        }
    }
    Ok(found)
}

fn told(path: &[Step]) -> String {
    path.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn structure(net: &SmallNet) -> Structure {
    let capture = |Standing { head, distance, parent, .. }: Standing| Capture { head, distance, parent };
    let of = |node: NodeIndex| {
        let levels = usize::from(net.node(node).radii().levels());
        let captures = (0..levels).map(|level| net.node(node).standing(level).map(capture)).collect();
        Ended { leader: net.node(node).height().leader.lid, captures }
    };
    net.nodes().map(of).collect()
}

struct State {
    net: SmallNet,
    /// Which events of the script have happened.
    done: u32,
    depth: usize,
}

impl State {
    /// Rises with every event: more of the script has happened, clocks have moved, or fewer messages are in flight.
    fn progress(&self) -> (u32, u64, Reverse<usize>) {
        let clocks = self.net.nodes().map(|node| u64::from(self.net.node(node).time())).sum();
        (self.done.count_ones(), clocks, Reverse(self.net.pending().count()))
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = Fold::default();
        self.net.hash(&mut hasher);
        self.done.hash(&mut hasher);
        hasher.finish()
    }

    /// Every state that one event leads to.
    fn successors(&self, setup: &Setup<'_>, script: &Script) -> Vec<(Self, Step)> {
        let mut reached = Vec::new();
        for channel in self.net.pending() {
            let mut net = self.net.clone();
            net.deliver(channel);
            let step = Step::Deliver(channel.direction());
            reached.push((Self { net, done: self.done, depth: self.depth + 1 }, step));
        }
        for (at, Entry { event, after }) in script.0.iter().enumerate() {
            let is_done = |event: EventIndex| self.done >> event.0 & 1 == 1;
            if is_done(EventIndex(at)) || !after.iter().all(|&earlier| is_done(earlier)) {
                continue;
            }
            let mut net = self.net.clone();
            match *event {
                Event::Up(Direction { from, to }) => net.link_up(from, to),
                Event::Down(Direction { from, to }) => net.link_down(from, to),
                Event::Crash(node) => {
                    net.crash(node);
                    net.restart(node, 0, setup.node(node));
                }
            }
            reached.push((Self { net, done: self.done | 1 << at, depth: self.depth + 1 }, Step::Outside(*event)));
        }
        reached
    }
}
