//! The first half: HS on a ring that loses its leader.

use std::collections::BTreeMap;

use common::election::circle::RingConfig;
use common::election::hs::Hs;
use common::notice::Event;
use common::protocol::{Protocol, Signal};
use common::rng::Rng;
use common::time::Duration;
use common::types::{NodeId, RingPlace};
use ideal::graph::{Graph, Kind};
use ideal::index::NodeIndex;
use ideal::net::{Net, ROUND};
use ideal::ring;
use ideal::shuffle::shuffled_ids;

use super::picture::draw;
use super::{Request, Scene, Stage};
use crate::output::counted;

type RingNet = Net<Hs, 4>;

pub(super) fn play(request: Request, stage: &mut Stage) {
    let count = usize::from(request.nodes);
    let ids = shuffled_ids(request.nodes, &mut Rng::stream(request.seed, 0x4153));
    let mut net = RingNet::default();
    for at in NodeIndex::first(count) {
        let config = RingConfig { place: ring::place(&ids, at), patience: Duration::ZERO };
        net.add(ids[at], request.seed, Hs::new(ids[at], config));
    }
    ring::join(&mut net);

    stage.say(format!("1. A ring of {count} boards elects with HS: candidates probe 1, 2, 4, ... hops both ways.\n"));
    net.start_all();
    elect(&mut net, stage, "a fresh ring elects (HS)");

    let leader = net.nodes().find(|&at| net.node(at).leader() == Some(net.id(at))).unwrap_or_default();
    let (left, right) = (leader.left(count), leader.right(count));
    stage.say(format!(
        "2. Node {} dies. Its neighbours {} and {} close the ring and begin a new election.\n",
        ids[leader], ids[left], ids[right]
    ));
    net.crash(leader);
    net.cut(left, leader);
    net.cut(right, leader);
    net.connect(left, right);
    net.reset_counts();
    // The neighbours learn of the gap first; the other nodes learn of the new election from their probes.
    net.signal(left, Signal::Ring(RingPlace { right: ids[right], ..ring::place(&ids, left) }));
    net.signal(right, Signal::Ring(RingPlace { left: ids[left], ..ring::place(&ids, right) }));
    elect(&mut net, stage, "the ring's leader dies (HS)");
}

/// Runs an election to its end and describes its phases.
fn elect(net: &mut RingNet, stage: &mut Stage, title: &str) {
    let start = net.now();
    let mut winners: BTreeMap<u8, Vec<NodeId>> = BTreeMap::new();
    while net.step_round_watched(|net, node| {
        for event in &net.last_step().events {
            if let Event::PhaseWon(phase) = event {
                winners.entry(*phase).or_default().push(net.id(node));
            }
        }
    }) {}
    let alive: Vec<NodeIndex> = net.nodes().filter(|&at| net.is_alive(at)).collect();
    for (phase, survivors) in &winners {
        let names: Vec<String> = survivors.iter().map(ToString::to_string).collect();
        let hops = 1_u32 << phase;
        stage.say(format!("  phase {phase}: greatest within {}: {}", counted(hops, "hop"), names.join(", ")));
    }
    let leader = alive.first().and_then(|&at| net.node(at).leader());
    stage.say(format!(
        "  a probe of node {} went all the way around: it announces itself\n",
        leader.unwrap_or_default()
    ));
    let mut graph = Graph::new(Kind::Ring, net.len(), 0);
    for dead in net.nodes().filter(|&at| !net.is_alive(at)) {
        let (left, right) = (dead.left(net.len()), dead.right(net.len()));
        graph.remove(left, dead);
        graph.remove(dead, right);
        graph.insert(left, right);
    }
    stage.say(draw(&graph, |at| match (net.is_alive(at), net.node(at).leader() == Some(net.id(at))) {
        (false, _) => "x".to_owned(),
        (true, true) => format!("[{}]", net.id(at)),
        (true, false) => net.id(at).to_string(),
    }));
    let mut leaders: Vec<u16> = alive.iter().filter_map(|&at| net.node(at).leader()).map(|id| id.0).collect();
    leaders.dedup();
    let rounds = net.now().since(start).as_micros() / ROUND.as_micros();
    stage.close(Scene { title: title.to_owned(), messages: net.counts().total(), rounds, leaders });
}
