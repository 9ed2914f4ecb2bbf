//! `bench core`: its drivers count what the core does, and its fits find the law.

use common::election::circle::RingConfig;
use common::election::hs::Hs;
use common::protocol::Protocol;
use common::rng::Rng;
use common::time::Duration;
use common::types::NodeId;
use host_sim::draw::chart::Datum;
use host_sim::lab::bench::growth::SCENARIOS;
use host_sim::lab::fit::{Fit, Law, exponent};
use ideal::big_ring::{BigRing, PhaseCount, Tally, random_uids};
use ideal::candidates::{Carry, candidates};
use ideal::index::NodeIndex;
use ideal::net::Net;
use ideal::ring;

/// Runs the large ring's driver and checks that all nodes follow the largest uid.
fn elect(uids: &[u32]) -> Tally {
    let mut ring = BigRing::new(uids);
    let tally = ring.elect(&mut |_| {});
    assert_eq!(ring.leader(), uids.iter().max().copied(), "{} nodes", uids.len());
    tally
}

/// The same ring in the ideal network.
fn elect_in_net(uids: &[u32]) -> Tally {
    let ids: Vec<NodeId> = uids.iter().map(|&uid| NodeId(u16::try_from(uid).unwrap())).collect();
    let mut net = Net::<Hs, 2>::default();
    for at in NodeIndex::first(ids.len()) {
        let (id, place) = (ids[at], ring::place(&ids, at));
        net.add(id, 0, Hs::new(id, RingConfig { place, patience: Duration::ZERO }));
    }
    ring::join(&mut net);
    net.start_all();
    net.run_rounds(10_000).expect("an election on an ideal ring ends");
    assert!(net.nodes().all(|node| net.node(node).leader() == ids.iter().max().copied()));
    let count =
        |phase| PhaseCount { out: net.counts().in_phase("out", phase), back: net.counts().in_phase("back", phase) };
    let phases = (0..=u8::MAX).map(count).take_while(|count| *count != PhaseCount::default()).collect();
    let tally = Tally { phases, announcements: net.counts().of("leader") };
    assert_eq!(tally.total(), net.counts().total());
    tally
}

/// The messages of HS by its rules alone, without running anything. A probe of `hops` dies at the first larger uid within
/// its reach and comes back otherwise; a node whose probes both come back tries twice as far. The largest uid meets its
/// own probes after a whole round.
fn by_the_rule(uids: &[u32]) -> Tally {
    let nodes = uids.len();
    let largest = uids.iter().max();
    let mut phases = Vec::new();
    for (at, uid) in uids.iter().enumerate() {
        let reach = |step: usize| (1..nodes).find(|hops| uids[(at + hops * step) % nodes] > *uid).unwrap_or(nodes);
        let ways = [reach(1), reach(nodes - 1)];
        for phase in 0.. {
            if phases.len() == phase {
                phases.push(PhaseCount::default());
            }
            let hops = 1 << phase;
            for way in ways {
                phases[phase].out += way.min(hops) as u64;
                phases[phase].back += if way > hops { hops as u64 } else { 0 };
            }
            if ways.into_iter().any(|way| way <= hops) {
                break;
            }
        }
    }
    Tally { phases, announcements: largest.map_or(0, |_| nodes as u64) }
}

fn tally(phases: &[(u64, u64)], announcements: u64) -> Tally {
    Tally { phases: phases.iter().map(|&(out, back)| PhaseCount { out, back }).collect(), announcements }
}

#[test]
fn the_large_ring_counts_what_the_ideal_network_counts() {
    for nodes in (2..=40).chain([64, 65, 99, 128, 150, 200]) {
        let uids = random_uids(nodes, u64::from(nodes));
        assert_eq!(elect(&uids), elect_in_net(&uids), "{nodes} nodes");
    }
}

#[test]
fn the_large_ring_counts_by_the_rule_across_its_stretches() {
    for nodes in [2, 3, 100, 4_095, 4_096, 4_097, 20_000] {
        let uids = random_uids(nodes, 7);
        assert_eq!(elect(&uids), by_the_rule(&uids), "{nodes} nodes");
    }
}

#[test]
fn known_rings_cost_what_is_known() {
    let six = [6, 1, 5, 2, 4, 3];
    let expected = tally(&[(12, 6), (12, 6), (8, 8), (12, 0)], 6);
    assert_eq!((by_the_rule(&six), elect(&six)), (expected.clone(), expected.clone()));
    assert_eq!(expected.total(), 70);

    let seven = [17, 48, 61, 9, 2, 67, 69];
    let expected = tally(&[(14, 7), (8, 8), (14, 8), (14, 0)], 7);
    assert_eq!((by_the_rule(&seven), elect(&seven)), (expected.clone(), expected.clone()));
    assert_eq!(expected.total(), 80);
}

#[test]
fn a_node_alone_leads_without_a_message() {
    assert_eq!(elect(&[7]), Tally::default());
}

#[test]
fn uids_need_not_be_small_or_dense() {
    let mut rng = Rng::new(3);
    let uids: Vec<u32> = (0..500).map(|place| (rng.next_u32() & 0xFFFF_FC00) | place).collect();
    assert_eq!(elect(&uids), by_the_rule(&uids));
}

#[test]
fn random_uids_name_every_node_once_and_follow_their_seed() {
    let mut uids = random_uids(1_000, 5);
    assert_eq!(uids, random_uids(1_000, 5));
    assert_ne!(uids, random_uids(1_000, 6));
    uids.sort_unstable();
    assert!(uids.into_iter().eq(0..1_000));
}

/// Counts that follow a law apart from small deviations.
fn points(law: impl Fn(f64) -> f64) -> Vec<Datum> {
    let mut rng = Rng::new(11);
    let mut near = |x| Datum { x, y: law(x) * (1.0 + f64::from(rng.below(20)) / 1_000.0) };
    (4..16).map(|log| near(f64::from(1 << log))).collect()
}

#[test]
fn the_law_behind_counts_is_found() {
    for law in Law::ALL {
        let [best, second, _] = Fit::ranked(&points(|n| 3.0 * law.at(n)));
        assert_eq!(best.law, law);
        assert!((2.99..3.08).contains(&best.factor), "{best:?}");
        assert!(best.r_squared > 0.999 && best.deviation < 0.03, "{best:?}");
        assert!(second.r_squared < best.r_squared && second.deviation > 0.1, "{second:?}");
    }
}

#[test]
fn exponents_of_power_laws_are_found() {
    for power in [0.5, 1.0, 1.5, 2.0, 3.0] {
        let found = exponent(&points(|n| 0.7 * n.powf(power)));
        assert!((found - power).abs() < 0.01, "{power}: {found}");
    }
}

#[test]
fn growth_is_counted_exactly_where_a_formula_is_known() {
    let count = |name, start, nodes| {
        let scenario = SCENARIOS.iter().find(|s| s.name == name && s.scenario.starts_with(start)).unwrap();
        scenario.count(nodes, 1).unwrap()
    };
    for n in [4_u32, 9, 16, 50] {
        assert_eq!(count("LCR", "all start, descending", n), u64::from(n * (n + 3) / 2), "LCR of {n}");
        assert_eq!(count("Ring", "all detect", n), u64::from(2 * n * n), "Ring of {n}");
        assert_eq!(count("Bully", "all detect", n), u64::from(n * n + n - 1), "Bully of {n}");
    }
}

#[test]
fn encoding_changes_the_time_but_not_the_election() {
    for candidate in candidates(1) {
        let messages = |carry| candidate.once(carry).unwrap().messages;
        assert!(messages(Carry::Decoded) > 100, "{}", candidate.name);
        assert_eq!(messages(Carry::Decoded), messages(Carry::Encoded), "{}", candidate.name);
    }
}
