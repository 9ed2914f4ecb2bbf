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

const RADII: [&[u8]; 3] = [&[1], &[2], &[1, 2]];
const BOTH_RULES: [HeightRules; 2] = [HeightRules::Claiming, HeightRules::Radio];
const EQUAL: [u8; 6] = [0; 6];

/// Every pair of `n` nodes.
fn pairs(n: usize) -> Vec<(usize, usize)> {
    (0..n).flat_map(|v| (0..v).map(move |u| (u, v))).collect()
}

/// Every connected graph on `n` labelled nodes.
fn connected(n: usize) -> Vec<Graph> {
    let pairs = pairs(n);
    let of = |bits: u32| {
        let chosen = pairs.iter().enumerate().filter(|&(at, _)| bits >> at & 1 == 1).map(|(_, &pair)| pair);
        Graph::with(vec![UnitPoint::default(); n], chosen)
    };
    (0..1_u32 << pairs.len()).map(of).filter(Graph::is_connected).collect()
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
    let pairs = pairs(graph.len());
    let both = pairs.clone().into_iter().flat_map(move |one| pairs.clone().into_iter().map(move |two| (one, two)));
    both.filter(|(one, two)| one <= two).map(|(one, two)| {
        let first = !graph.has(one.0, one.1);
        let second = if one == two { !first } else { !graph.has(two.0, two.1) };
        Script::default().change(one.0, one.1, first).change(two.0, two.1, second)
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
            let script = graph.edges().fold(Script::default(), |script, (u, v)| script.change(u, v, true));
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
                for leader in 0..graph.len() {
                    for (u, v) in pairs(graph.len()) {
                        searches.search(
                            &setup,
                            &setup.settled(&graph, leader),
                            &Script::default().change(u, v, !graph.has(u, v)),
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
                for leader in 0..graph.len() {
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
            searches.search(&setup, &setup.settled(&graph, 0), &script);
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
            for node in 0..graph.len() {
                searches.search(&setup, &setup.settled(&graph, 0), &Script::default().crash(node, &graph));
            }
        }
    }
}

#[test]
fn a_node_of_four_loses_its_state() {
    let mut searches = Searches::new("a node of four loses its state");
    let setup = setup(&[1], 4, HeightRules::Claiming);
    for graph in connected(4).into_iter().filter(|graph| graph.edges().count() == 3) {
        for node in 0..4 {
            if (0..4).filter(|&peer| graph.has(node, peer)).count() <= 2 {
                searches.search(&setup, &setup.settled(&graph, 0), &Script::default().crash(node, &graph));
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
        [(0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)].into_iter(),
    );
    let setup = setup(&[2], 6, HeightRules::Claiming);
    let cut = Script::default().change(4, 5, false);
    let whole = searches.search(&setup, &setup.settled(&graph, 5), &cut);
    graph.remove(0, 2);
    let thinner = searches.search(&setup, &setup.settled(&graph, 5), &cut);
    for (found, states, terminal) in [(&whole, 295_716, 419), (&thinner, 6_060, 22)] {
        assert_eq!((found.states, found.terminal), (states, terminal));
        let [structure] = found.structures.keys().collect::<Vec<_>>()[..] else {
            panic!("{} structures", found.structures.len())
        };
        let leaders: Vec<NodeId> = structure.iter().map(|(leader, _)| *leader).collect();
        assert_eq!(leaders, [5, 5, 5, 5, 5, 6].map(NodeId), "the node that detected the cut leads the rest");
        let heads: Vec<_> = structure.iter().map(|(_, places)| places[0].map(|(head, ..)| head)).collect();
        assert_eq!(heads, [1, 1, 1, 1, 5, 6].map(|head| Some(NodeId(head))));
    }
}

#[test]
fn a_wrong_end_is_found_and_told() {
    let graph = Graph::with(vec![UnitPoint::default(); 2], [(0, 1)].into_iter());
    let (honest, other) = (setup(&[1], 2, HeightRules::Claiming), setup(&[2, 1], 2, HeightRules::Claiming));
    let start = honest.settled(&graph, 0);
    // A node that restarts with other radii than the rest can never agree with it.
    let error = explore(&other, &start, &Script::default().crash(0, &graph)).unwrap_err();
    assert!(error.contains("condition (") && error.contains("Crash(0)"), "{error}");
}
