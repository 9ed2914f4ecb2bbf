//! The height algorithm's initial states (Tbarka 2019, section 3.3) and required final states (section 3.4).

use common::election::height::{HeightElection, HeightOptions};
use common::election::height_tuple::Height;
use common::types::NodeId;
use ideal::graph::Graph;
use ideal::index::{Direction, Edge, NodeIndex};
use ideal::net::Net;
use ideal::oriented;

pub type HeightNet<const N: usize> = Net<HeightElection<N>, N>;

/// The graph's network as in section 3.3: each component follows one of its nodes, distances and views are exact.
/// Node `i` has the id `i + 1`; `leaders` has the leader of each.
pub fn initial<const N: usize>(graph: &Graph, leaders: &[NodeIndex], options: HeightOptions) -> HeightNet<N> {
    let height = |node: NodeIndex| {
        let hops = graph.distances(leaders[node])[node].expect("a leader in its own component");
        Height::initial(id(node), id(leaders[node]), i16::try_from(hops).expect("a short way"))
    };
    let mut net = Net::default();
    for node in graph.nodes() {
        let mut state = HeightElection::with_height(height(node), options);
        for neighbour in graph.nodes().filter(|&neighbour| graph.has(node, neighbour)) {
            state = state.with_neighbour(height(neighbour)).expect("room for all links");
        }
        net.add(id(node), 0, state);
    }
    graph.edges().for_each(|Edge { u, v }| net.join(u, v));
    net
}

/// The id of a node. Ids start at one because zero means *nobody* in a reference level.
pub fn id(node: NodeIndex) -> NodeId {
    NodeId(u16::try_from(node.0 + 1).expect("few nodes"))
}

/// What is wrong with a network at rest; none if every component is leader-oriented and the directions of each link
/// agree.
pub fn fault<const N: usize>(net: &HeightNet<N>) -> Option<String> {
    let one_sided = net.up_directions().find(|&Direction { from, to }| !net.is_up(to, from));
    if let Some(Direction { from, to }) = one_sided {
        return Some(format!("nodes {} and {} disagree about their link", net.id(from), net.id(to)));
    }
    oriented::check(net).err().map(|violation| violation.to_string())
}
