//! A leader is lost, and succeeded, and may come back: every order of deliveries, of who gives up its link to the leader when, and
//! of who elects itself then.
//!
//! A neighbour of the leader that has lost its link holds it back from its election (`node/succession.rs`): its *seat*. Vouching,
//! objections and concurrence, ranks and waits decide when it gives the seat up, and whether it elects itself then. Here that is
//! any moment and either way, with one rule that the core does keep: only who still follows the lost leader, and has heard another
//! neighbour, elects itself. So whatever they decide, rightly or wrongly, is one of these runs.
//!
//! The leader may be dead, or unheard by some of its neighbours, and come back at any moment, with its memory or after a restart.
//! Each of those neighbours then has a new link to it, which comes up at either end at any time. Who has not given up its seat
//! says again what it last said, as [`Signal::Resend`] does; to its election the link was never down.
//!
//! A leader that steps down has lost nothing: its neighbours elect themselves while it goes on leading.
//!
//! After each step: a node keeps its pair of leader and time, or takes a better one, and that is its own, made now, which nobody
//! anywhere has heard of, or the one that the message told of. So nobody follows a pair that nobody made, and no pair has two
//! leaders. And wherever nothing is under way and no seat is held, the network is leader-oriented.

use common::causal_clock::ClockKind;
use common::election::height::HeightElection;
use common::election::height_tuple::{Height, LeaderPair};
use common::protocol::{Protocol, Signal};
use ideal::graph::Graph;
use ideal::index::{Direction, NodeIndex};
use ideal::net::Channel;

use super::canon::fingerprint;
use super::space::{NODES, Network, Nodes, Picture, deliveries};
use super::starts::{graphs, shapes, starts};
use super::{is_deep, radio};
use crate::interleavings::walk::{Seen, Space, Walk};
use crate::support::oriented::fault;

/// What has become of one end of a link between the leader and a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum End {
    /// Nothing.
    Up,
    /// It is down, and the election does not know.
    Held,
    Down,
    /// A new link is up.
    Back,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Deliver(Direction),
    /// A node gives up its seat.
    GiveUp(NodeIndex),
    /// And elects itself.
    Succeed(NodeIndex),
    /// The leader's own end of the link to this node goes down.
    LetGo(NodeIndex),
    /// The leader restarts.
    Restart,
    /// The leader's end of a new link to this node comes up.
    Greet(NodeIndex),
    /// The other end of it does.
    Meet(NodeIndex),
    /// A neighbour of a leader that steps down elects itself.
    TakeOver(NodeIndex),
}

#[derive(Clone, Debug)]
struct State {
    net: Network,
    /// Of each node's link to the leader: its own end and the leader's.
    ends: [(End, End); NODES],
    /// How many may still elect themselves.
    elections: u8,
    /// Whether the leader may still restart.
    may_restart: bool,
    fault: Option<String>,
}

/// What befalls the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It dies, for good.
    Dies,
    /// It dies and boots again, at any moment or never.
    Restarts,
    /// Some do not hear it for a while, or for good.
    IsUnheard,
    StepsDown,
}

#[derive(Clone, Copy, Debug)]
struct Seats {
    leader: NodeIndex,
    fate: Fate,
}

impl Seats {
    /// The neighbours of the leader whose link has been lost or is about to be.
    fn seats(state: &State) -> impl Iterator<Item = NodeIndex> {
        state.net.nodes().filter(|&node| state.ends[node.0] != (End::Up, End::Up))
    }

    fn may_return(&self, state: &State) -> bool {
        match self.fate {
            Fate::Dies | Fate::StepsDown => false,
            Fate::Restarts => !state.may_restart,
            Fate::IsUnheard => true,
        }
    }

    /// Whether a node may elect itself in place of the leader.
    fn is_vacant(&self, state: &State, node: NodeIndex) -> bool {
        let leader = state.net.id(self.leader);
        let own = state.net.node(node);
        state.elections > 0 && own.leader() == Some(leader) && own.neighbours().any(|other| other.id != leader)
    }

    /// What the ends of a node's link may do next.
    fn at_seat(&self, state: &State, node: NodeIndex, actions: &mut Vec<Action>) {
        let (own, leaders) = state.ends[node.0];
        if own == End::Held {
            actions.push(Action::GiveUp(node));
            if self.is_vacant(state, node) {
                actions.push(Action::Succeed(node));
            }
        }
        if leaders == End::Up && own != End::Up {
            actions.push(Action::LetGo(node));
        }
        if self.may_return(state) && leaders != End::Up {
            if leaders == End::Down {
                actions.push(Action::Greet(node));
            }
            if own != End::Back {
                actions.push(Action::Meet(node));
            }
        }
    }

    /// Whether both ends of a link know how it is.
    fn is_settled((own, leaders): (End, End)) -> bool {
        matches!((own, leaders), (End::Up, End::Up) | (End::Down, End::Down) | (End::Back, End::Back))
    }

    /// Drops what is on links that are down: no message of one session is delivered in another.
    fn drop_lost(&self, state: &mut State) {
        for node in Self::seats(state).collect::<Vec<_>>() {
            let (own, leaders) = state.ends[node.0];
            for (from, to, sender) in [(node, self.leader, own), (self.leader, node, leaders)] {
                if sender != End::Back {
                    while state.net.lose(Channel { from, to, lane: 0 }) {}
                }
            }
        }
    }

    /// What of it may be delivered: on a new link, only once the receiver's end is up.
    fn is_blocked(&self, state: &State, Direction { from, to }: Direction) -> bool {
        let ends = |node: NodeIndex| state.ends[node.0];
        if from == self.leader {
            ends(to).0 == End::Held || (ends(to).1 == End::Back && ends(to).0 != End::Back)
        } else {
            to == self.leader && ends(from).0 == End::Back && ends(from).1 != End::Back
        }
    }

    /// Nodes that may do something besides taking what is delivered.
    fn changing(&self, state: &State, seats: &[Action]) -> Nodes {
        let mut changing: Nodes = 0;
        for action in seats {
            changing |= match action {
                Action::Restart => 1 << self.leader.0,
                Action::TakeOver(node) | Action::GiveUp(node) | Action::Succeed(node) => 1 << node.0,
                Action::LetGo(node) | Action::Greet(node) | Action::Meet(node) => 1 << node.0 | 1 << self.leader.0,
                Action::Deliver(_) => 0,
            };
        }
        // A link that has yet to come up counts as well: something may come over it.
        for node in Self::seats(state).filter(|node| !Self::is_settled(state.ends[node.0])) {
            changing |= 1 << node.0 | 1 << self.leader.0;
        }
        changing
    }

    fn act(&self, state: &mut State, action: Action) {
        let leader = self.leader;
        let net = &mut state.net;
        match action {
            Action::Deliver(Direction { from, to }) => {
                net.deliver(Channel { from, to, lane: 0 });
            }
            Action::GiveUp(node) => {
                net.link_down(node, leader);
                state.ends[node.0].0 = End::Down;
            }
            Action::Succeed(node) => {
                net.signal(node, Signal::Elect);
                net.link_down(node, leader);
                state.ends[node.0].0 = End::Down;
                state.elections -= 1;
            }
            Action::TakeOver(node) => {
                net.signal(node, Signal::Elect);
                state.elections -= 1;
            }
            Action::LetGo(node) => {
                net.link_down(leader, node);
                state.ends[node.0].1 = End::Down;
            }
            Action::Restart => {
                let options = radio(ClockKind::Lamport);
                let born = HeightElection::with_height(Height::elected(net.id(leader), 0), options);
                net.restart(leader, 0, born);
                net.start(leader);
                state.may_restart = false;
            }
            Action::Greet(node) => {
                net.link_up(leader, node);
                state.ends[node.0].1 = End::Back;
            }
            Action::Meet(node) => {
                if state.ends[node.0].0 == End::Held {
                    net.signal(node, Signal::Resend);
                } else {
                    net.link_up(node, leader);
                }
                state.ends[node.0].0 = End::Back;
            }
        }
        net.reset_counts();
    }

    /// What is wrong with the step that has led from one network to another.
    fn judge(&self, before: &Network, after: &Network, action: Action) -> Option<String> {
        for node in after.nodes() {
            let [old, new] = [before, after].map(|net| net.node(node).height().leader);
            let is_born = matches!(action, Action::Restart) && node == self.leader;
            if new == old || is_born {
                continue;
            }
            if new > old {
                return Some(format!("node {node:?} went from {old:?} to the worse {new:?}"));
            }
            let told = match action {
                Action::Deliver(Direction { from, to }) if to == node => told(before, from, to),
                _ => None,
            };
            let is_made = new.lid == after.id(node) && !is_heard_of(before, new);
            if !is_made && told != Some(new) {
                return Some(format!("node {node:?} follows {new:?}, which nobody told it of"));
            }
        }
        None
    }
}

/// The pair that the next message of a channel tells of.
fn told(net: &Network, from: NodeIndex, to: NodeIndex) -> Option<LeaderPair> {
    net.under_way().find(|(channel, _)| (channel.from, channel.to) == (from, to)).map(|(_, msg)| msg.leader)
}

/// Whether anybody has or is about to be told a pair.
fn is_heard_of(net: &Network, pair: LeaderPair) -> bool {
    let has = |node: NodeIndex| {
        let state = net.node(node);
        state.height().leader == pair || state.neighbours().any(|height| height.leader == pair)
    };
    net.nodes().any(has) || net.under_way().any(|(_, msg)| msg.leader == pair)
}

impl Space for Seats {
    type State = State;
    type Action = Action;

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.clear();
        if state.fault.is_some() {
            return;
        }
        for node in Self::seats(state) {
            self.at_seat(state, node, actions);
        }
        if state.may_restart {
            actions.push(Action::Restart);
        }
        if self.fate == Fate::StepsDown {
            let others = state.net.nodes().filter(|&node| node != self.leader && self.is_vacant(state, node));
            actions.extend(others.filter(|&node| state.net.is_up(node, self.leader)).map(Action::TakeOver));
        }
        let picture = Picture::of(&state.net);
        let changing = self.changing(state, actions);
        let alone = picture.nodes().filter(|&x| picture.stands_alone(x, changing));
        let mut next = Vec::new();
        if let Some(x) = alone.min_by_key(|&x| picture.full[x].count_ones()) {
            actions.clear();
            deliveries(&picture, x, &mut next);
        } else {
            picture.nodes().for_each(|x| deliveries(&picture, x, &mut next));
        }
        let is_open = |next: &super::space::Action| match next {
            super::space::Action::Deliver(direction) => Some(*direction).filter(|&to| !self.is_blocked(state, to)),
            _ => None,
        };
        actions.extend(next.iter().filter_map(is_open).map(Action::Deliver));
    }

    fn apply(&self, state: &mut State, action: Action) {
        let before = state.net.clone();
        self.act(state, action);
        self.drop_lost(state);
        state.fault = self.judge(&before, &state.net, action);
    }

    fn key(&self, state: &State) -> u64 {
        let ends = state
            .ends
            .iter()
            .fold(u64::from(state.may_restart), |all, &(own, leaders)| all << 4 | (own as u64) << 2 | leaders as u64);
        fingerprint(&state.net, ClockKind::Lamport) ^ (ends << 1 | 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn left(&self, state: &State) -> u8 {
        state.elections
    }

    fn end(&self, state: &State) -> Option<Result<(), String>> {
        if let Some(fault) = &state.fault {
            return Some(Err(fault.clone()));
        }
        let is_end = state.net.is_quiet() && state.ends.iter().all(|&ends| Self::is_settled(ends));
        is_end.then(|| fault(&state.net).map_or(Ok(()), Err))
    }
}

/// The walk for one network: from each set of neighbours that the leader is lost to.
fn explore(graph: &Graph, start: &Network, elections: u8, space: Seats) -> Result<Seen, String> {
    let Seats { leader, fate } = space;
    let neighbours: Vec<NodeIndex> = graph.nodes().filter(|&node| graph.has(leader, node)).collect();
    let all = (1_usize << neighbours.len()) - 1;
    let sets = match fate {
        Fate::IsUnheard => 1..=all,
        Fate::Dies | Fate::Restarts => all..=all,
        Fate::StepsDown => 0..=0,
    };
    let mut walk = Walk::new(space);
    for set in sets {
        let may_restart = fate == Fate::Restarts;
        let mut state =
            State { net: start.clone(), ends: [(End::Up, End::Up); NODES], elections, may_restart, fault: None };
        for (_, &node) in neighbours.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1) {
            state.ends[node.0].0 = End::Held;
            if fate != Fate::IsUnheard {
                // It says nothing more, whatever it may think of that.
                state.net.link_down(leader, node);
                state.ends[node.0].1 = End::Down;
            }
        }
        space.drop_lost(&mut state);
        let links: Vec<_> = graph.edges().collect();
        walk.explore(state).map_err(|run| format!("links {links:?}, {space:?}, set {set:b}: {run}"))?;
    }
    Ok(walk.seen())
}

/// Explores networks of these graphs, led by each of their nodes.
fn explore_all(graphs: impl Iterator<Item = Graph>, elections: u8, fate: Fate) -> Result<(), String> {
    let (mut states, mut ends) = (0, 0);
    for graph in graphs.filter(|graph| graph.components().len() == 1) {
        for net in starts(&graph, radio(ClockKind::Lamport)) {
            let lid = net.node(NodeIndex(0)).height().leader.lid;
            let leader = net.index_of(lid).expect("one of them leads");
            let seen = explore(&graph, &net, elections, Seats { leader, fate })?;
            states += seen.states;
            ends += seen.ends.len();
        }
    }
    assert!(ends > 0, "no run has ended");
    println!("{elections} elections, {fate:?}: {states} states, {ends} ends");
    Ok(())
}

fn check(graphs: impl Iterator<Item = Graph>, elections: u8, fate: Fate) {
    explore_all(graphs, elections, fate).unwrap_or_else(|fault| panic!("{fault}"));
}

/// Graphs of four nodes of each shape, with up to so many links.
fn sparse(links: usize) -> impl Iterator<Item = Graph> {
    shapes(4).filter(move |graph| graph.edges().count() <= links)
}

#[test]
fn three_nodes_end_as_one_whatever_befalls_their_leader() {
    for fate in [Fate::Dies, Fate::Restarts, Fate::StepsDown] {
        check(graphs(3), 2, fate);
    }
    check(shapes(3), 1, Fate::IsUnheard);
    if is_deep() {
        check(graphs(3), 2, Fate::IsUnheard);
    }
}

#[test]
fn three_successors_of_a_dead_leader_end_as_one() {
    check(sparse(5), 3, Fate::Dies);
    check(sparse(6), if is_deep() { 3 } else { 2 }, Fate::Dies);
}

#[test]
fn successors_of_a_leader_that_steps_down_end_as_one() {
    check(sparse(4), 2, Fate::StepsDown);
    if is_deep() {
        check(sparse(6), 3, Fate::StepsDown);
    }
}

#[test]
fn four_nodes_end_as_one_where_their_leader_comes_back_in_the_middle() {
    for fate in [Fate::Restarts, Fate::IsUnheard] {
        check(sparse(3), if is_deep() { 2 } else { 1 }, fate);
    }
}
