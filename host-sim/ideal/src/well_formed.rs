//! Whether a network of the hierarchy has reached its goal.
//!
//! Per component, with nothing in flight: (v) linked nodes have heard each other's present state; (a) there is one leader,
//! agreed and present; (b) every node has a level-1 head within the radius, along parents with the same head; (c) a head is
//! its own head, and the leader heads every level; (d) following the lowest neighbour leads to the leader; (e) the
//! structure is the one that its definition gives ([`crate::structure`]).

use std::collections::BTreeMap;
use std::fmt;

use common::election::hierarchy::{Hierarchy, Standing};
use common::types::NodeId;

use crate::graph::{Graph, UnitPoint};
use crate::index::{Direction, Edge, NodeIndex};
use crate::net::Net;
use crate::structure::{Expected, Ground};

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The condition: `q` for a message in flight, otherwise `v` or `a` to `e`.
    pub condition: char,
    /// The node that shows it.
    pub node: NodeId,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "condition ({}) fails at node {}: {}", self.condition, self.node, self.what)
    }
}

/// The links that are up both ways between live nodes.
pub fn link_graph<const N: usize, const PEERS: usize>(net: &Net<Hierarchy<N>, PEERS>) -> Graph {
    let is_up_both_ways =
        |direction: &Direction| direction.from < direction.to && net.is_up(direction.to, direction.from);
    let are_alive = |&Edge { u, v }: &Edge| net.is_alive(u) && net.is_alive(v);
    let links = net.up_directions().filter(is_up_both_ways).map(Direction::edge).filter(are_alive);
    Graph::with(vec![UnitPoint::default(); net.len()], links)
}

/// Checks every component of live nodes.
pub fn check<const N: usize, const PEERS: usize>(net: &Net<Hierarchy<N>, PEERS>) -> Result<(), Violation> {
    let graph = link_graph(net);
    if let Some(channel) = net.pending().next() {
        let what = format!("an Update from {} is in flight", net.id(channel.from));
        return Err(Violation { condition: 'q', node: net.id(channel.to), what });
    }
    let ids: Vec<NodeId> = net.nodes().map(|node| net.id(node)).collect();
    views_are_true(net, &graph)?;
    for component in graph.components().into_iter().filter(|component| net.is_alive(component[0])) {
        let leader = one_leader(net, &component)?;
        for &node in &component {
            heads_in_reach(net, node)?;
            way_down(net, node, leader, component.len())?;
        }
    }
    let fitness: Vec<u8> = net.nodes().map(|node| net.node(node).fitness()).collect();
    let leads: Vec<bool> = net.nodes().map(|node| net.node(node).height().leader.lid == ids[node]).collect();
    let ground = Ground { graph: &graph, ids: &ids, fitness: &fitness, leads: &leads };
    let radii: Vec<u8> = net.node(NodeIndex(0)).radii().iter().collect();
    for (node, levels) in net.nodes().zip(ground.structure(&radii)) {
        if !net.is_alive(node) {
            continue;
        }
        for (level, expected) in levels.into_iter().enumerate() {
            let got = net.node(node).standing(level);
            if !same(expected, got, &ids) {
                let what = format!("level {}: {expected:?} by definition, {got:?} in fact", level + 1);
                return Err(Violation { condition: 'e', node: ids[node], what });
            }
        }
    }
    Ok(())
}

fn same(expected: Option<Expected>, got: Option<Standing>, ids: &[NodeId]) -> bool {
    match (expected, got) {
        (None, None) => true,
        (Some(e), Some(g)) => {
            ids[e.head] == g.head && e.distance == usize::from(g.distance) && ids[e.parent] == g.parent
        }
        _ => false,
    }
}

/// (v): both ends of every link know each other's height and records, and no node knows any other.
pub fn views_are_true<const N: usize, const PEERS: usize>(
    net: &Net<Hierarchy<N>, PEERS>,
    graph: &Graph,
) -> Result<(), Violation> {
    let mut linked = vec![BTreeMap::new(); net.len()];
    for Edge { u, v } in graph.edges() {
        linked[u].insert(net.id(v), net.node(v));
        linked[v].insert(net.id(u), net.node(u));
    }
    for (node, mut unheard) in net.nodes().zip(linked).filter(|&(node, _)| net.is_alive(node)) {
        let fail = |what| Err(Violation { condition: 'v', node: net.id(node), what });
        let state = net.node(node);
        for (height, (id, records)) in state.neighbours().zip(state.neighbour_records()) {
            match unheard.remove(&id) {
                Some(peer) if peer.height() == height && peer.records() == records => {}
                Some(_) => return fail(format!("has an outdated height or outdated records of {id}")),
                None => return fail(format!("takes {id} for a neighbour")),
            }
        }
        if let Some(id) = unheard.into_keys().chain(state.forming()).next() {
            return fail(format!("has not heard {id}"));
        }
    }
    Ok(())
}

/// (a), and that the leader heads every level, from (c).
fn one_leader<const N: usize, const PEERS: usize>(
    net: &Net<Hierarchy<N>, PEERS>,
    component: &[NodeIndex],
) -> Result<NodeIndex, Violation> {
    let pair = net.node(component[0]).height().leader;
    for &node in component {
        let other = net.node(node).height().leader;
        if other != pair {
            let what = format!("follows {} where {} follows {}", other.lid, net.id(component[0]), pair.lid);
            return Err(Violation { condition: 'a', node: net.id(node), what });
        }
    }
    let Some(&leader) = component.iter().find(|&&node| net.id(node) == pair.lid) else {
        let what = format!("the leader {} is not in its component", pair.lid);
        return Err(Violation { condition: 'a', node: net.id(component[0]), what });
    };
    for level in 0..usize::from(net.node(leader).radii().levels()) {
        if net.node(leader).standing(level).is_none_or(|standing| standing.head != pair.lid) {
            let what = format!("the leader does not head level {}", level + 1);
            return Err(Violation { condition: 'c', node: pair.lid, what });
        }
    }
    Ok(leader)
}

/// (b), and that a head is its own, from (c).
fn heads_in_reach<const N: usize, const PEERS: usize>(
    net: &Net<Hierarchy<N>, PEERS>,
    node: NodeIndex,
) -> Result<(), Violation> {
    for (level, radius) in net.node(node).radii().iter().enumerate() {
        let fail = |condition, what: &str| {
            Err(Violation { condition, node: net.id(node), what: format!("level {}: {what}", level + 1) })
        };
        let Some(standing) = net.node(node).standing(level) else {
            if level == 0 {
                return fail('b', "no head");
            }
            continue;
        };
        if standing.distance > radius {
            return fail('b', "its head is out of reach");
        }
        let parent = net.index_of(standing.parent).and_then(|parent| net.node(parent).standing(level));
        if standing.distance == 0 && standing.head != net.id(node) {
            return fail('c', "no path to its head");
        }
        if standing.distance > 0
            && parent.is_none_or(|p| p.head != standing.head || p.distance + 1 != standing.distance)
        {
            return fail('b', "its parent has another head or distance");
        }
    }
    Ok(())
}

/// (d)
fn way_down<const N: usize, const PEERS: usize>(
    net: &Net<Hierarchy<N>, PEERS>,
    node: NodeIndex,
    leader: NodeIndex,
    longest: usize,
) -> Result<(), Violation> {
    let mut at = node;
    for _ in 0..longest {
        if at == leader {
            return Ok(());
        }
        let Some(lower) = net.node(at).next_hop().and_then(|id| net.index_of(id)) else { break };
        at = lower;
    }
    if at == leader {
        return Ok(());
    }
    let what = format!("the downhill path ends at {} instead of {}", net.id(at), net.id(leader));
    Err(Violation { condition: 'd', node: net.id(node), what })
}
