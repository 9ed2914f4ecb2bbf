//! The hierarchy on small networks, every interleaving: each end must be well-formed, and every run must end.
//!
//! Covered here, with one Update per channel (the latest), every delivery and every detection at any moment:
//!
//! | what happens | networks | radii | led by | rules |
//! |---|---|---|---|---|
//! | links come up, each end in its own time | all connected ones of 2 and 3 nodes | 1; 2; 1, 2 | nobody | both |
//! | one link goes down or comes up | all connected ones of 2 to 4 nodes | 1; 2; 1, 2 | each node | both |
//! | two links change, or one twice | all connected ones of 2 and 3 nodes | 1; 2; 1, 2 | each node | both |
//! | two links change, or one twice | all connected ones of 4 nodes but those with 4 links | 1 | node 1 | claiming |
//! | two links change, or one twice | those of 4 nodes with 5 or 6 links | 2 | node 1 | claiming |
//! | two links change, or one twice | that of 4 nodes with 6 links | 1, 2 | node 1 | claiming |
//! | a node loses its state and its links come back | all connected ones of 2 and 3 nodes | 1; 2; 1, 2 | node 1 | claiming |
//! | a node with 1 or 2 links does | all trees of 4 nodes | 1 | node 1 | claiming |
//! | a link is cut that parts a network of six from its leader | one | 2 | node 6 | claiming |
//!
//! Networks are labelled: the same shape counts once per way to give it ids. All nodes are equally fit, so ids rank.

mod explorer;

use self::explorer::{Found, Script, Setup, SmallNet, explore};
use common::election::height::HeightRules;
use common::types::NodeId;
use ideal::graph::{Graph, UnitPoint};
use ideal::index::{Edge, NodeIndex};

const RADII: [&[u8]; 3] = [&[1], &[2], &[1, 2]];
const BOTH_RULES: [HeightRules; 2] = [HeightRules::Claiming, HeightRules::Radio];
const EQUAL: [u8; 6] = [0; 6];

/// The node that leads where it does not matter who does.
const FIRST: NodeIndex = NodeIndex(0);

/// Every connected graph on `n` labelled nodes.
fn connected(n: usize) -> Vec<Graph> {
    let pairs: Vec<Edge> = Edge::all(n).collect();
    let of = |bits: u32| {
        let chosen = pairs.iter().enumerate().filter(|&(at, _)| bits >> at & 1 == 1).map(|(_, &pair)| pair);
        Graph::with(vec![UnitPoint::default(); n], chosen)
    };
    (0..1_u32 << pairs.len()).map(of).filter(Graph::is_connected).collect()
}

fn edge(ends: [usize; 2]) -> Edge {
    let [u, v] = ends.map(NodeIndex);
    Edge { u, v }
}

fn setup(radii: &[u8], nodes: usize, rules: HeightRules) -> Setup<'_> {
    Setup { radii, fitness: &EQUAL[..nodes], rules }
}

/// Searches of one kind; their totals are printed at the end.
struct Searches {
    name: &'static str,
    scenarios: usize,
    states: usize,
    terminal: usize,
}

impl Searches {
    fn new(name: &'static str) -> Self {
        Self { name, scenarios: 0, states: 0, terminal: 0 }
    }

    /// Searches everything, and fails the test if an end is wrong.
    fn search(&mut self, setup: &Setup<'_>, start: &SmallNet, script: &Script) -> Found {
        let found = explore(setup, start, script).unwrap_or_else(|error| {
            let links: Vec<_> = start.up_directions().collect();
            panic!("{setup:?}, links {links:?}, {script:?}: {error}")
        });
        self.scenarios += 1;
        self.states += found.states;
        self.terminal += found.terminal;
        found
    }
}

impl Drop for Searches {
    fn drop(&mut self) {
        let Self { name, scenarios, states, terminal } = self;
        println!("{name}: {scenarios} scenarios, {states} states, {terminal} of them ends");
    }
}

/// Every script of two changes of links, the second of which may undo the first.
fn two_changes(graph: &Graph) -> impl Iterator<Item = Script> {
    let nodes = graph.len();
    let both = Edge::all(nodes).flat_map(move |one| Edge::all(nodes).map(move |two| (one, two)));
    both.filter(|(one, two)| one <= two).map(|(one, two)| {
        let first = !graph.has(one.u, one.v);
        let second = if one == two { !first } else { !graph.has(two.u, two.v) };
        Script::default().change(one, first).change(two, second)
    })
}

#[test]
fn networks_form() {
    let mut searches = Searches::new("networks form");
    for rules in BOTH_RULES {
        for (radii, graph) in RADII
            .iter()
            .flat_map(|&radii| [2, 3].map(|n| (radii, n)))
            .flat_map(|(radii, n)| connected(n).into_iter().map(move |graph| (radii, graph)))
        {
            let setup = setup(radii, graph.len(), rules);
            let script = graph.edges().fold(Script::default(), |script, edge| script.change(edge, true));
            let found = searches.search(&setup, &setup.apart(), &script);
            assert!(found.terminal > 1, "several ends, by the order in which links come up");
        }
    }
}

#[test]
fn one_link_changes() {
    let mut searches = Searches::new("one link changes");
    for rules in BOTH_RULES {
        for radii in RADII {
            for graph in (2..=4).flat_map(connected) {
                let setup = setup(radii, graph.len(), rules);
                for leader in graph.nodes() {
                    for edge in Edge::all(graph.len()) {
                        searches.search(
                            &setup,
                            &setup.settled(&graph, leader),
                            &Script::default().change(edge, !graph.has(edge.u, edge.v)),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn two_links_change_among_three_nodes() {
    let mut searches = Searches::new("two links change among three nodes");
    for rules in BOTH_RULES {
        for radii in RADII {
            for graph in (2..=3).flat_map(connected) {
                let setup = setup(radii, graph.len(), rules);
                for leader in graph.nodes() {
                    for script in two_changes(&graph) {
                        searches.search(&setup, &setup.settled(&graph, leader), &script);
                    }
                }
            }
        }
    }
}

/// Two changes in all networks of four nodes with these numbers of links.
fn two_links_change_among_four(radii: &[u8], links: &[usize], searches: &mut Searches) {
    let setup = setup(radii, 4, HeightRules::Claiming);
    for graph in connected(4).into_iter().filter(|graph| links.contains(&graph.edges().count())) {
        for script in two_changes(&graph) {
            searches.search(&setup, &setup.settled(&graph, FIRST), &script);
        }
    }
}

#[test]
fn two_links_change_among_four_nodes_with_a_radius_of_one() {
    two_links_change_among_four(&[1], &[3, 5, 6], &mut Searches::new("two links change among four nodes, K = 1"));
}

#[test]
fn two_links_change_among_four_well_linked_nodes() {
    let mut searches = Searches::new("two links change among four nodes, K = 2 and K = (1, 2)");
    two_links_change_among_four(&[2], &[5, 6], &mut searches);
    two_links_change_among_four(&[1, 2], &[6], &mut searches);
}

#[test]
fn a_node_of_three_loses_its_state() {
    let mut searches = Searches::new("a node of three loses its state");
    for radii in RADII {
        for graph in (2..=3).flat_map(connected) {
            let setup = setup(radii, graph.len(), HeightRules::Claiming);
            for node in graph.nodes() {
                searches.search(&setup, &setup.settled(&graph, FIRST), &Script::default().crash(node, &graph));
            }
        }
    }
}

#[test]
fn a_node_of_four_loses_its_state() {
    let mut searches = Searches::new("a node of four loses its state");
    let setup = setup(&[1], 4, HeightRules::Claiming);
    for graph in connected(4).into_iter().filter(|graph| graph.edges().count() == 3) {
        for node in graph.nodes() {
            if graph.nodes().filter(|&peer| graph.has(node, peer)).count() <= 2 {
                searches.search(&setup, &setup.settled(&graph, FIRST), &Script::default().crash(node, &graph));
            }
        }
    }
}

/// Six nodes, led by the last, which has one link: the network in which a published attempt at such a hierarchy gets
/// stuck when that link is cut. Here the remaining five end in one structure, whatever the order.
#[test]
fn a_leader_is_cut_off() {
    let mut searches = Searches::new("a leader is cut off");
    let mut graph = Graph::with(
        vec![UnitPoint::default(); 6],
        [[0, 1], [0, 2], [1, 2], [1, 3], [2, 4], [3, 4], [4, 5]].into_iter().map(edge),
    );
    let setup = setup(&[2], 6, HeightRules::Claiming);
    let (last, cut) = (NodeIndex(5), Script::default().change(edge([4, 5]), false));
    let whole = searches.search(&setup, &setup.settled(&graph, last), &cut);
    graph.remove(NodeIndex(0), NodeIndex(2));
    let thinner = searches.search(&setup, &setup.settled(&graph, last), &cut);
    for (found, states, terminal) in [(&whole, 295_716, 419), (&thinner, 6_060, 22)] {
        assert_eq!((found.states, found.terminal), (states, terminal));
        let [structure] = found.structures.keys().collect::<Vec<_>>()[..] else {
            panic!("{} structures", found.structures.len())
        };
        let leaders: Vec<NodeId> = structure.iter().map(|ended| ended.leader).collect();
        assert_eq!(leaders, [5, 5, 5, 5, 5, 6].map(NodeId), "the node that detected the cut leads the rest");
        let heads: Vec<_> = structure.iter().map(|ended| ended.captures[0].map(|capture| capture.head)).collect();
        assert_eq!(heads, [1, 1, 1, 1, 5, 6].map(|head| Some(NodeId(head))));
    }
}

#[test]
fn a_wrong_end_is_found_and_told() {
    let graph = Graph::with(vec![UnitPoint::default(); 2], [edge([0, 1])].into_iter());
    let (honest, other) = (setup(&[1], 2, HeightRules::Claiming), setup(&[2, 1], 2, HeightRules::Claiming));
    let start = honest.settled(&graph, FIRST);
    // A node that restarts with other radii than the rest can never agree with it.
    let error = explore(&other, &start, &Script::default().crash(FIRST, &graph)).unwrap_err();
    assert!(error.contains("condition (") && error.contains("Crash(0)"), "{error}");
}
