//! Whether a network of the height algorithm has reached its goal: every component leader-oriented.
//!
//! Source: Tbarka 2019, section 3.4. As there, two nodes are linked when at least one direction between them is up.
//! Crashed nodes are not part of the network, nor are directions that still lead to them.

use std::collections::BTreeSet;
use std::fmt;

use common::election::height::HeightElection;
use common::types::NodeId;

use crate::graph::{Graph, UnitPoint};
use crate::index::{Direction, Edge, NodeIndex};
use crate::net::Net;

/// Why a network is not leader-oriented: the first condition that fails, with the nodes that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Condition 1: something is still in transit.
    InTransit { from: NodeId, to: NodeId },
    /// Condition 2: a node has a wrong view of a neighbour's height.
    WrongView {
        /// The node that is wrong.
        at: NodeId,
        /// The neighbour it is wrong about.
        about: NodeId,
    },
    /// Condition 3: the nodes of a component do not all follow the same leader.
    ManyLeaders {
        component: Vec<NodeId>,
        /// The leaders they follow.
        leaders: Vec<NodeId>,
    },
    /// Condition 3: the one leader of a component is not in it.
    LeaderAway {
        component: Vec<NodeId>,
        /// The leader they follow.
        leader: NodeId,
    },
    /// Condition 4: the leader is not the only node without a downhill link.
    WrongSinks {
        leader: NodeId,
        /// The nodes without a downhill link.
        sinks: Vec<NodeId>,
    },
}

impl Violation {
    /// The number of the condition in section 3.4.
    pub fn condition(&self) -> u8 {
        match self {
            Self::InTransit { .. } => 1,
            Self::WrongView { .. } => 2,
            Self::ManyLeaders { .. } | Self::LeaderAway { .. } => 3,
            Self::WrongSinks { .. } => 4,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "condition {}: ", self.condition())?;
        match self {
            Self::InTransit { from, to } => write!(f, "a message from {from} to {to} is still in transit"),
            Self::WrongView { at, about } => write!(f, "node {at} has a wrong view of the height of node {about}"),
            Self::ManyLeaders { component, leaders } => {
                write!(f, "the component of {} follows {}", listed(component), listed(leaders))
            }
            Self::LeaderAway { component, leader } => {
                write!(f, "the component of {} follows {leader}, which is not in it", listed(component))
            }
            Self::WrongSinks { leader, sinks } => {
                write!(f, "{leader} leads, but the nodes without a downhill link are {}", listed(sinks))
            }
        }
    }
}

impl std::error::Error for Violation {}

fn listed(nodes: &[NodeId]) -> String {
    let names: Vec<String> = nodes.iter().map(NodeId::to_string).collect();
    format!("{{{}}}", names.join(", "))
}

/// Checks that every component is leader-oriented.
///
/// Heights are unique and totally ordered, so links directed from the larger to the smaller form no cycle: of condition 4
/// only the unique sink remains to be checked.
pub fn check<const N: usize, const PEERS: usize>(net: &Net<HeightElection<N>, PEERS>) -> Result<(), Violation> {
    if let Some(channel) = net.pending().next() {
        return Err(Violation::InTransit { from: net.id(channel.from), to: net.id(channel.to) });
    }
    let links = channel_graph(net);
    for edge in links.edges() {
        for Direction { from: at, to: about } in edge.directions() {
            let actual = net.node(about).height();
            if net.node(at).neighbours().any(|view| view.id == actual.id && view != actual) {
                return Err(Violation::WrongView { at: net.id(at), about: net.id(about) });
            }
        }
    }
    let alive = |component: &Vec<NodeIndex>| component.iter().all(|&node| net.is_alive(node));
    links
        .components()
        .iter()
        .filter(|component| alive(component))
        .try_for_each(|component| oriented(net, &links, component))
}

/// Tbarka's `G_chan`, without crashed nodes' links: a crashed node is a component of its own.
fn channel_graph<const N: usize, const PEERS: usize>(net: &Net<HeightElection<N>, PEERS>) -> Graph {
    let both_alive = |&Edge { u, v }: &Edge| net.is_alive(u) && net.is_alive(v);
    let links = net.up_directions().map(Direction::edge).filter(both_alive);
    Graph::with(vec![UnitPoint::default(); net.len()], links)
}

fn oriented<const N: usize, const PEERS: usize>(
    net: &Net<HeightElection<N>, PEERS>,
    links: &Graph,
    component: &[NodeIndex],
) -> Result<(), Violation> {
    let ids = || component.iter().map(|&node| net.id(node)).collect::<Vec<_>>();
    let leaders: BTreeSet<NodeId> = component.iter().map(|&node| net.node(node).height().leader.lid).collect();
    let leaders: Vec<NodeId> = leaders.into_iter().collect();
    let &[leader] = leaders.as_slice() else { return Err(Violation::ManyLeaders { component: ids(), leaders }) };
    if !component.iter().any(|&node| net.id(node) == leader) {
        return Err(Violation::LeaderAway { component: ids(), leader });
    }
    let height = |node: NodeIndex| net.node(node).height();
    let mut way_down = BTreeSet::new();
    for Edge { u, v } in links.edges() {
        way_down.insert(if height(u) > height(v) { u } else { v });
    }
    let sinks: Vec<NodeId> =
        component.iter().filter(|node| !way_down.contains(node)).map(|&node| net.id(node)).collect();
    if sinks == [leader] { Ok(()) } else { Err(Violation::WrongSinks { leader, sinks }) }
}

#[cfg(test)]
mod tests {
    use common::election::height::{HeightElection, HeightOptions};
    use common::election::height_tuple::Height;
    use common::types::NodeId;

    use super::{Violation, check};
    use crate::index::NodeIndex;
    use crate::net::Net;

    type Node = HeightElection<4>;

    /// A line whose nodes have these heights and know their neighbours', except that node `wrong` sees others too high.
    fn line(heights: &[Height], wrong: Option<usize>) -> Net<Node, 4> {
        let mut net = Net::default();
        for (index, &height) in heights.iter().enumerate() {
            let mut node = Node::with_height(height, HeightOptions::default());
            for neighbour in [index.checked_sub(1), Some(index + 1)].into_iter().flatten() {
                if let Some(&(mut view)) = heights.get(neighbour) {
                    view.delta += i16::from(wrong == Some(index));
                    node = node.with_neighbour(view).unwrap();
                }
            }
            net.add(height.id, 0, node);
        }
        net.nodes().skip(1).for_each(|node| net.join(node.left(heights.len()), node));
        net
    }

    fn height(id: u16, leader: u16, distance: i16) -> Height {
        Height::initial(NodeId(id), NodeId(leader), distance)
    }

    #[test]
    fn an_initial_state_is_leader_oriented() {
        assert_eq!(check(&line(&[height(1, 2, 1), height(2, 2, 0), height(3, 2, 1)], None)), Ok(()));
        assert_eq!(check(&line(&[height(1, 1, 0)], None)), Ok(()), "alone");
    }

    #[test]
    fn every_condition_is_checked() {
        let good = [height(1, 1, 0), height(2, 1, 1), height(3, 1, 2)];
        let mut busy = line(&good, None);
        busy.cut(NodeIndex(0), NodeIndex(1));
        let condition = |net: &Net<Node, 4>| check(net).unwrap_err().condition();
        assert_eq!(check(&busy), Err(Violation::InTransit { from: NodeId(2), to: NodeId(3) }));
        assert_eq!(check(&line(&good, Some(2))), Err(Violation::WrongView { at: NodeId(3), about: NodeId(2) }));
        assert_eq!(condition(&line(&[height(1, 1, 0), height(2, 2, 0)], None)), 3);
        assert_eq!(condition(&line(&[height(1, 9, 1), height(2, 9, 2)], None)), 3);
        let two_sinks = line(&[height(1, 1, 0), height(2, 1, 3), height(3, 1, 2)], None);
        assert_eq!(
            check(&two_sinks),
            Err(Violation::WrongSinks { leader: NodeId(1), sinks: vec![NodeId(1), NodeId(3)] })
        );
        let leader_above = line(&[height(1, 1, 5), height(2, 1, 1)], None);
        assert_eq!(check(&leader_above), Err(Violation::WrongSinks { leader: NodeId(1), sinks: vec![NodeId(2)] }));
    }

    #[test]
    fn components_are_judged_apart_and_the_dead_not_at_all() {
        let mut parted = line(&[height(1, 1, 0), height(2, 1, 1), height(3, 1, 2)], None);
        parted.cut(NodeIndex(1), NodeIndex(2));
        assert_eq!(check(&parted), Ok(()), "node 3 leads itself");
        let mut crashed = line(&[height(1, 1, 0), height(2, 1, 1)], None);
        crashed.crash(NodeIndex(1));
        assert_eq!(check(&crashed), Ok(()));
        crashed.crash(NodeIndex(0));
        assert_eq!(check(&crashed), Ok(()), "nobody is left");
    }
}
