//! Where runs begin: every graph of a few nodes, every choice of a leader per component, every assignment of ids.

use common::election::height::HeightOptions;
use ideal::graph::{Graph, UnitPoint};
use ideal::index::{Edge, NodeIndex};

use super::space::Network;
use crate::interleavings::arrange::permutations;
use crate::support::oriented::initial;

/// Every labelled graph: the order of ids matters to the algorithm, so relabelling one gives another.
pub fn graphs(nodes: usize) -> impl Iterator<Item = Graph> {
    let pairs: Vec<Edge> = Edge::all(nodes).collect();
    (0..1_u32 << pairs.len()).map(move |bits| {
        let chosen = pairs.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, &pair)| pair);
        Graph::with(vec![UnitPoint::default(); nodes], chosen)
    })
}

/// One labelled graph of each shape.
pub fn shapes(nodes: usize) -> impl Iterator<Item = Graph> {
    let relabellings = permutations(nodes);
    graphs(nodes).filter(move |graph| {
        let edges: Vec<_> = graph.edges().collect();
        relabellings.iter().all(|to| {
            let relabel = |&Edge { u, v }: &Edge| Edge::between(NodeIndex(to[u]), NodeIndex(to[v]));
            let mut relabelled: Vec<Edge> = edges.iter().map(relabel).collect();
            relabelled.sort_unstable();
            edges <= relabelled
        })
    })
}

/// The graph's initial states, one for each choice of leaders.
pub fn starts(graph: &Graph, options: HeightOptions) -> Vec<Network> {
    let mut choices = vec![vec![NodeIndex::default(); graph.len()]];
    for component in graph.components() {
        let choose = |leaders: &Vec<NodeIndex>, leader| {
            let mut leaders = leaders.clone();
            for &node in &component {
                leaders[node] = leader;
            }
            leaders
        };
        choices = choices
            .iter()
            .flat_map(|leaders| component.iter().map(|&leader| choose(leaders, leader)).collect::<Vec<_>>())
            .collect();
    }
    choices.iter().map(|leaders| initial(graph, leaders, options)).collect()
}

#[test]
fn there_are_as_many_as_there_should_be() {
    let options = HeightOptions::default();
    let count = |nodes| graphs(nodes).map(|graph| starts(&graph, options).len()).sum::<usize>();
    // Sets of connected graphs with one marked node each: on three nodes a triangle or path 12, a link and a node 6.
    assert_eq!((count(2), count(3), count(4)), (3, 19, 225));
    assert_eq!((shapes(3).count(), shapes(4).count()), (4, 11));
}
