//! The space of runs: a network of heights, and what can happen to it next.

use common::causal_clock::ClockKind;
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The oldest message of a channel arrives.
    Deliver { from: u8, to: u8 },
    /// A channel goes down if it is up, and up if it is down.
    Flip { from: u8, to: u8 },
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

/// Channels as bits: `up[u]` those to which `u` can send, `full[u]` those with a message in flight to `u`.
struct Picture {
    nodes: usize,
    up: [u8; NODES],
    full: [u8; NODES],
}

impl Picture {
    fn of(net: &Network) -> Self {
        let mut picture = Self { nodes: net.len(), up: [0; NODES], full: [0; NODES] };
        net.up_directions().for_each(|(from, to)| picture.up[from] |= 1 << to);
        net.pending().for_each(|channel| picture.full[channel.to] |= 1 << channel.from);
        picture
    }

    fn is_up(&self, from: usize, to: usize) -> bool {
        self.up[from] >> to & 1 == 1
    }

    fn disagrees(&self, u: usize, v: usize) -> bool {
        self.is_up(u, v) != self.is_up(v, u)
    }

    /// Links whose two directions differ.
    fn disagreements(&self) -> u8 {
        let pairs = (0..self.nodes).flat_map(|v| (0..v).map(move |u| (u, v)));
        pairs.map(|(u, v)| u8::from(self.disagrees(u, v))).sum()
    }

    /// Whether the events now possible at `x`, all of them deliveries, are independent of everything that can happen
    /// elsewhere before one of them does, so that trying only them loses no final state and no endless run. That holds if no
    /// link of `x` can change any more and every neighbour that may still send to `x` already has a message in flight to it:
    /// channels are FIFO, so what it sends now arrives later.
    fn stands_alone(&self, x: usize) -> bool {
        if self.full[x] == 0 || (0..self.nodes).any(|y| self.disagrees(x, y)) {
            return false;
        }
        let mut may_act = 0_u8;
        for y in (0..self.nodes).filter(|&y| y != x) {
            if self.full[y] != 0 || (0..self.nodes).any(|z| self.disagrees(y, z)) {
                may_act |= 1 << y;
            }
        }
        for _ in 0..self.nodes {
            let reached = (0..self.nodes).filter(|y| may_act >> y & 1 == 1).map(|y| self.up[y]);
            may_act |= reached.fold(0, |reached, up| reached | up) & !(1 << x);
        }
        (0..self.nodes).all(|y| y == x || may_act >> y & 1 == 0 || !self.is_up(y, x) || self.full[x] >> y & 1 == 1)
    }
}

impl Space for Heights {
    type State = State;
    type Action = Action;

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.clear();
        let picture = Picture::of(&state.net);
        let free = state.left >= picture.disagreements() + 2;
        if !free && self.search == Search::Reduced {
            let alone = (0..picture.nodes).filter(|&x| picture.stands_alone(x));
            if let Some(x) = alone.min_by_key(|&x| picture.full[x].count_ones()) {
                deliveries(&picture, x, actions);
                return;
            }
        }
        (0..picture.nodes).for_each(|x| deliveries(&picture, x, actions));
        for u in 0..picture.nodes {
            for v in (0..picture.nodes).filter(|&v| v != u) {
                if free || picture.disagrees(u, v) {
                    actions.push(Action::Flip { from: byte(u), to: byte(v) });
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
            Action::Deliver { from, to } => {
                let channel = Channel { from: from.into(), to: to.into(), lane: 0 };
                assert!(net.deliver(channel), "nothing to deliver");
            }
            Action::Flip { from, to } => {
                let (from, to) = (from.into(), to.into());
                if net.is_up(from, to) {
                    net.link_down(from, to);
                } else {
                    net.link_up(from, to);
                }
                state.left -= 1;
                state.settle();
            }
        }
        state.net.reset_counts();
    }

    fn key(&self, state: &State) -> u64 {
        fingerprint(&state.net, self.clock)
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
        let mut state = Self { net, left };
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

fn deliveries(picture: &Picture, to: usize, actions: &mut Vec<Action>) {
    let senders = (0..picture.nodes).filter(|&from| picture.full[to] >> from & 1 == 1);
    actions.extend(senders.map(|from| Action::Deliver { from: byte(from), to: byte(to) }));
}

fn byte(node: usize) -> u8 {
    u8::try_from(node).expect("few nodes")
}
