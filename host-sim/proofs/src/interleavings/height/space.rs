//! The space of runs: a network of heights, and what can happen to it next.

use common::causal_clock::ClockKind;
use common::protocol::Signal;
use ideal::index::{Direction, Edge, NodeIndex};
use ideal::net::{Channel, ROUND};

use super::canon::fingerprint;
use crate::interleavings::walk::Space;
use crate::support::oriented::{HeightNet, fault};

pub const NODES: usize = 4;

pub type Network = HeightNet<NODES>;

/// A network, and how many channel events may still come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub net: Network,
    pub left: u8,
    /// How many nodes may still elect themselves because they take a leader for lost.
    pub elections: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The oldest message of a channel arrives.
    Deliver(Direction),
    /// A channel goes down if it is up, and up if it is down.
    Flip(Direction),
    /// A node succeeds a leader that it takes for lost, rightly or not.
    Succeed(NodeIndex),
}

/// Which of the possible actions to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    Full,
    /// Only one order of events at different nodes if their order cannot matter.
    Reduced,
}

/// What is explored: up to a number of channel events, each direction on its own and at any moment, as long as the
/// two directions of every link can still agree in the end.
#[derive(Clone, Copy, Debug)]
pub struct Heights {
    pub clock: ClockKind,
    pub search: Search,
}

/// Nodes as bits.
pub type Nodes = u8;

/// Channels as bits: for each node those to which it can send, and those with a message in flight to it.
pub struct Picture {
    nodes: usize,
    up: [Nodes; NODES],
    pub full: [Nodes; NODES],
}

pub fn holds(nodes: Nodes, node: NodeIndex) -> bool {
    nodes >> node.0 & 1 == 1
}

impl Picture {
    pub fn of(net: &Network) -> Self {
        let mut picture = Self { nodes: net.len(), up: [0; NODES], full: [0; NODES] };
        net.up_directions().for_each(|Direction { from, to }| picture.up[from] |= 1 << to.0);
        net.pending().for_each(|channel| picture.full[channel.to] |= 1 << channel.from.0);
        picture
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeIndex> + Clone + use<> {
        NodeIndex::first(self.nodes)
    }

    fn is_up(&self, from: NodeIndex, to: NodeIndex) -> bool {
        holds(self.up[from], to)
    }

    fn disagrees(&self, u: NodeIndex, v: NodeIndex) -> bool {
        self.is_up(u, v) != self.is_up(v, u)
    }

    /// Links whose two directions differ.
    fn disagreements(&self) -> u8 {
        Edge::all(self.nodes).map(|Edge { u, v }| u8::from(self.disagrees(u, v))).sum()
    }

    /// Nodes with a link that is to change: its two directions differ.
    fn changing(&self) -> Nodes {
        let changes = |x: NodeIndex| self.nodes().any(|y| self.disagrees(x, y));
        self.nodes().filter(|&x| changes(x)).fold(0, |changing, x| changing | 1 << x.0)
    }

    /// Whether the events now possible at `x`, all of them deliveries, are independent of everything that can happen
    /// elsewhere before one of them does, so that trying only them loses no final state and no endless run. That holds if no
    /// link of `x` can change any more and every neighbour that may still send to `x` already has a message in flight to it:
    /// channels are FIFO, so what it sends now arrives later. Besides those to whom something is under way, the `changing`
    /// nodes may act of their own accord.
    pub fn stands_alone(&self, x: NodeIndex, changing: Nodes) -> bool {
        if self.full[x] == 0 || holds(changing, x) {
            return false;
        }
        let mut may_act = changing;
        for y in self.nodes().filter(|&y| y != x && self.full[y] != 0) {
            may_act |= 1 << y.0;
        }
        for _ in 0..self.nodes {
            let reached = self.nodes().filter(|&y| holds(may_act, y)).map(|y| self.up[y]);
            may_act |= reached.fold(0, |reached, up| reached | up) & !(1 << x.0);
        }
        self.nodes().all(|y| y == x || !holds(may_act, y) || !self.is_up(y, x) || holds(self.full[x], y))
    }
}

impl Space for Heights {
    type State = State;
    type Action = Action;

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.clear();
        let picture = Picture::of(&state.net);
        let free = state.left >= picture.disagreements() + 2;
        if !free && state.elections == 0 && self.search == Search::Reduced {
            let changing = picture.changing();
            let alone = picture.nodes().filter(|&x| picture.stands_alone(x, changing));
            if let Some(x) = alone.min_by_key(|&x| picture.full[x].count_ones()) {
                deliveries(&picture, x, actions);
                return;
            }
        }
        picture.nodes().for_each(|x| deliveries(&picture, x, actions));
        if state.elections > 0 {
            actions.extend(picture.nodes().map(Action::Succeed));
        }
        for from in picture.nodes() {
            for to in picture.nodes().filter(|&to| to != from) {
                if free || picture.disagrees(from, to) {
                    actions.push(Action::Flip(Direction { from, to }));
                }
            }
        }
    }

    fn apply(&self, state: &mut State, action: Action) {
        let net = &mut state.net;
        if self.clock == ClockKind::Perfect {
            net.set_now(net.now() + ROUND);
        }
        match action {
            Action::Deliver(Direction { from, to }) => {
                assert!(net.deliver(Channel { from, to, lane: 0 }), "nothing to deliver");
            }
            Action::Flip(Direction { from, to }) => {
                if net.is_up(from, to) {
                    net.link_down(from, to);
                } else {
                    net.link_up(from, to);
                }
                state.left -= 1;
                state.settle();
            }
            Action::Succeed(node) => {
                net.signal(node, Signal::Elect);
                state.elections -= 1;
            }
        }
        state.net.reset_counts();
    }

    fn key(&self, state: &State) -> u64 {
        // Odd, so that no two counts give the same.
        fingerprint(&state.net, self.clock) ^ u64::from(state.elections).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn left(&self, state: &State) -> u8 {
        state.left
    }

    fn end(&self, state: &State) -> Option<Result<(), String>> {
        let is_end = state.net.is_quiet() && Picture::of(&state.net).disagreements() == 0;
        is_end.then(|| fault(&state.net).map_or(Ok(()), Err))
    }
}

impl State {
    /// A network to which up to this many channel events may still happen.
    pub fn new(net: Network, left: u8) -> Self {
        Self::with_elections(net, left, 0)
    }

    /// The same, where so many nodes may elect themselves besides.
    pub fn with_elections(net: Network, left: u8, elections: u8) -> Self {
        let mut state = Self { net, left, elections };
        state.settle();
        state
    }

    /// Drops events that could only leave the ends of a link in disagreement.
    fn settle(&mut self) {
        let open = Picture::of(&self.net).disagreements();
        if self.left < open + 2 {
            self.left = open;
        }
    }
}

pub fn deliveries(picture: &Picture, to: NodeIndex, actions: &mut Vec<Action>) {
    let senders = picture.nodes().filter(|&from| holds(picture.full[to], from));
    actions.extend(senders.map(|from| Action::Deliver(Direction { from, to })));
}
