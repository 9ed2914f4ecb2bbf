//! Heights: every order of deliveries and channel events, on every graph of up to four nodes.
//!
//! What happens to channels is Tbarka's model (2019, sections 2.2 and 2.3): each direction of a link goes down and comes
//! up by itself, at any moment, and only its sender is informed. So a change of a link is two *channel events* any time
//! apart, and a direction may also flap unseen by the other end. All runs with up to a given number of channel events are
//! explored; a run is judged wherever no message is in flight and the two directions of every link agree. Three changed
//! links are six events.
//!
//! The walk also shows that every run ends: an endless run would return to an earlier state, apart from absolute times,
//! and the walk reports that.
//!
//! | nodes | events | graphs and ids | clock, rules | states |
//! |---|---|---|---|---|
//! | 2 | 10 | all | both, both | 5 thousand |
//! | 3 | 5 | all | Lamport, for radio | 61 thousand |
//! | 3 | 4 | all | perfect, for radio; both, as published | 119 thousand |
//! | 4 | 3 | all | Lamport, for radio | 34 thousand |
//! | 4 | 4 | all shapes but those of four links, one assignment of ids each | Lamport, for radio | see its output |
//! | 4 | 2 | all | both, both | 140 thousand |
//!
//! *Succession.* A node that takes a leader for lost, by its own questions, by concurrence or wrongly, loses a link to it and may
//! elect itself; vouching and objections decide whether and when, and to the heights that is any time. A link that is not told
//! of yet is a channel event that comes later. So the walk lets any two nodes elect themselves at any moment.
//!
//! | nodes | events | successors | graphs and ids | states |
//! |---|---|---|---|---|
//! | 4 | 0 | 2 | shapes of up to three links, one assignment of ids each | 80 thousand |
//!
//! [`seats`] ties elections to the loss of a leader, which may come back; [`corrupted`] begins where memories went wrong.
//!
//! `RINGLEADER_DEEP=1` explores one more event on three nodes, two more for the others of them, and one more on four: some
//! sixty million states.

mod canon;
mod corrupted;
mod judge;
mod seats;
mod space;
mod starts;

use common::causal_clock::ClockKind;
use common::election::height::{HeightOptions, HeightRules};
use ideal::graph::Graph;
use ideal::index::NodeIndex;

use crate::interleavings::walk::{Seen, Walk};
use space::{Heights, Search, State};
use starts::{graphs, shapes, starts};

const BOTH_RULES: [HeightRules; 2] = [HeightRules::Radio, HeightRules::Published];
const BOTH_CLOCKS: [ClockKind; 2] = [ClockKind::Lamport, ClockKind::Perfect];

/// Explores everything that up to this many events can lead to on these graphs.
fn explore(graphs: impl Iterator<Item = Graph>, events: u8, options: HeightOptions) -> Seen {
    explore_successions(graphs, events, 0, options)
}

/// The same, where up to so many nodes succeed a leader besides.
fn explore_successions(graphs: impl Iterator<Item = Graph>, events: u8, elections: u8, options: HeightOptions) -> Seen {
    let HeightOptions { clock, .. } = options;
    // With a perfect clock the order of any two events matters.
    let search = if clock == ClockKind::Lamport { Search::Reduced } else { Search::Full };
    let mut walk = Walk::new(Heights { clock, search });
    for graph in graphs {
        for (at, net) in starts(&graph, options).into_iter().enumerate() {
            let leaders: Vec<_> = net.nodes().map(|node| net.node(node).height().leader.lid.0).collect();
            if let Err(run) = walk.explore(State::with_elections(net, events, elections)) {
                let links: Vec<_> = graph.edges().collect();
                panic!("links {links:?}, start {at}, leaders {leaders:?}, {options:?}: {run}");
            }
        }
    }
    let seen = walk.seen();
    println!(
        "{events} events, {elections} elections, {options:?}: {} states, {} events, {} ends",
        seen.states,
        seen.events,
        seen.ends.len()
    );
    assert!(!seen.ends.is_empty(), "no run has ended");
    seen
}

fn is_deep() -> bool {
    std::env::var_os("RINGLEADER_DEEP").is_some()
}

fn radio(clock: ClockKind) -> HeightOptions {
    HeightOptions { clock, rules: HeightRules::Radio }
}

fn all_options() -> impl Iterator<Item = HeightOptions> {
    BOTH_RULES.into_iter().flat_map(|rules| BOTH_CLOCKS.map(|clock| HeightOptions { clock, rules }))
}

#[test]
fn two_nodes_and_ten_events() {
    for options in all_options() {
        explore(graphs(2), 10, options);
    }
}

/// This many events, or `deeper` if requested.
fn events(usual: u8, deeper: u8) -> u8 {
    if is_deep() { deeper } else { usual }
}

/// The lines whose middle node has this index, and so this rank among the ids.
fn lines_around(middle: NodeIndex) -> impl Iterator<Item = Graph> {
    graphs(3).filter(move |graph| graph.edges().count() == 2 && graph.edges().all(|edge| edge.touches(middle)))
}

#[test]
fn three_nodes_unless_they_form_a_line() {
    explore(graphs(3).filter(|graph| graph.edges().count() != 2), events(5, 6), radio(ClockKind::Lamport));
}

#[test]
fn three_nodes_in_a_line() {
    for middle in NodeIndex::first(3) {
        explore(lines_around(middle), events(5, 6), radio(ClockKind::Lamport));
    }
}

#[test]
fn three_nodes_by_perfect_clocks() {
    explore(graphs(3), events(4, 6), radio(ClockKind::Perfect));
}

#[test]
fn three_nodes_under_the_published_rules() {
    for clock in BOTH_CLOCKS {
        explore(graphs(3), events(4, 6), HeightOptions { clock, rules: HeightRules::Published });
    }
}

#[test]
fn four_nodes_by_either_clock_and_rules() {
    for options in all_options() {
        explore(graphs(4), 2, options);
    }
}

/// Shapes with four links, a ring or a triangle with a fourth node, take about as long as all others together.
#[test]
fn four_nodes_in_four_links() {
    explore(graphs(4).filter(|graph| graph.edges().count() == 4), events(3, 4), radio(ClockKind::Lamport));
}

#[test]
fn four_nodes_unless_in_four_links() {
    explore(graphs(4).filter(|graph| graph.edges().count() != 4), events(3, 4), radio(ClockKind::Lamport));
}

#[test]
fn four_nodes_and_four_events_in_every_shape_unless_in_four_links() {
    explore(shapes(4).filter(|graph| graph.edges().count() != 4), 4, radio(ClockKind::Lamport));
}

#[test]
fn four_nodes_and_two_successors() {
    let sparse = || shapes(4).filter(|graph| graph.edges().count() <= 3);
    explore_successions(sparse(), 0, 2, radio(ClockKind::Lamport));
    if is_deep() {
        explore_successions(sparse(), 0, 3, radio(ClockKind::Lamport));
    }
}
