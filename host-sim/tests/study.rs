//! The study: hand-computed runs, and what must hold for every run.

use std::collections::BTreeMap;

use clap::Parser;
use common::causal_clock::ClockKind;
use common::election::height::HeightRules;
use common::rng::Rng;
use common::types::NodeId;
use host_sim::cli::study::Args;
use host_sim::lab::study::change::{Change, Flip, Plan, Schedule};
use host_sim::lab::study::runner::{self, Outcome, Setting};
use host_sim::lab::study::scene::Scene;
use host_sim::lab::study::stats::Group;
use host_sim::lab::study::{self, Request};
use ideal::graph::{Graph, Kind};
use ideal::index::{Direction, Edge, NodeIndex};

const CLOCKS: [ClockKind; 2] = [ClockKind::Lamport, ClockKind::Perfect];

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

fn request(line: &str) -> Request {
    Cli::parse_from(std::iter::once("study").chain(line.split_whitespace())).args.request()
}

fn measure(line: &str) -> anyhow::Result<Vec<Group>> {
    study::measure(&request(line), |_, _, _| ())
}

/// Ids in ascending order.
fn scene(kind: Kind, nodes: u16, leader: usize) -> Scene {
    let ids = (1..=nodes).map(NodeId).collect();
    Scene { graph: Graph::new(kind, usize::from(nodes), 0), ids, leader: NodeIndex(leader) }
}

fn flips(u: usize, v: usize, up: bool, moment: u64) -> [Flip; 2] {
    let edge = Edge { u: NodeIndex(u), v: NodeIndex(v) };
    edge.directions().map(|direction| Flip { moment, direction, up })
}

fn run(scene: &Scene, flips: &[Flip], clock: ClockKind, schedule: Schedule) -> Outcome {
    let setting = Setting { clock, rules: HeightRules::Radio, schedule, rng: Rng::new(3) };
    runner::run(scene, &Plan::new(Vec::new(), flips.to_vec()), setting).unwrap()
}

#[test]
fn a_line_of_four_that_loses_its_end_costs_what_was_computed_by_hand() {
    // Node 2 searches (rounds 1 and 2), node 4 reflects (3 and 4), node 2 elects itself in round 4 and announces (5, 6);
    // the last echo of that arrives in round 7. The leader, cut off, elects itself at once.
    let expected = Outcome {
        messages: 10,
        rounds: Some(7),
        elected: Some(4),
        agreed: Some(6),
        elections: 2,
        alone: 1,
        unnecessary: 0,
        turns: 3,
    };
    let line = scene(Kind::Line, 4, 0);
    let cut = flips(0, 1, false, 0);
    for clock in CLOCKS {
        assert_eq!(run(&line, &cut, clock, Schedule::Synchronous), expected);
        let untimed = Outcome { rounds: None, elected: None, agreed: None, ..expected };
        assert_eq!(run(&line, &cut, clock, Schedule::Random), untimed);
    }
}

#[test]
fn longer_lines_and_rings_cost_what_the_reference_vectors_say() {
    let cost = |kind, nodes| {
        let outcome = run(&scene(kind, nodes, 0), &flips(0, 1, false, 0), ClockKind::Lamport, Schedule::Synchronous);
        (outcome.messages, outcome.elections)
    };
    assert_eq!([3, 4, 9, 12].map(|nodes| cost(Kind::Line, nodes)), [(4, 2), (10, 2), (40, 2), (58, 2)]);
    assert_eq!([5, 8].map(|nodes| cost(Kind::Ring, nodes)), [(3, 0), (5, 0)]);
}

#[test]
fn an_election_is_unnecessary_when_the_leader_is_back_before_it() {
    // The middle of three loses its leader and searches. The echo of the search arrives in round 2; when the link has
    // come back in round 1, that is just before the middle hears over it.
    let line = scene(Kind::Line, 3, 2);
    let counts = |back: u64, clock: ClockKind| {
        let changes = [flips(1, 2, false, 0), flips(1, 2, true, back)].concat();
        let outcome = run(&line, &changes, clock, Schedule::Synchronous);
        (outcome.elections, outcome.alone, outcome.unnecessary)
    };
    for clock in CLOCKS {
        assert_eq!(counts(1, clock), (2, 1, 1), "{clock:?}");
        assert_eq!(counts(2, clock), (2, 1, 0), "{clock:?}");
    }
}

#[test]
fn every_small_run_ends_leader_oriented() {
    let graphs = "--graph line --graph ring --graph star --graph grid --graph clique --graph tree --graph rgg";
    for rules in ["radio", "published"] {
        let groups = measure(&format!("{graphs} --sizes 4,9 --seeds 12 --rules {rules}")).unwrap();
        assert_eq!(groups.len(), Kind::ALL.len() * 2 * Change::ALL.len() * 4);
        assert!(groups.iter().all(|group| group.samples.len() == 12));
    }
}

#[test]
fn a_lost_leader_is_replaced_once_in_every_part() {
    for group in measure("--sizes 6,20 --seeds 15 --change leader-lost").unwrap() {
        for sample in &group.samples {
            assert_eq!(sample.outcome.elections, sample.parts as u64, "{:?}", group.case);
            assert_eq!(sample.outcome.unnecessary, 0, "{:?}", group.case);
        }
    }
}

#[test]
fn three_waves_replace_the_leader_of_a_line_or_ring() {
    let groups = measure("--graph line --graph ring --sizes 6,11,30 --seeds 15 --change leader-lost").unwrap();
    for Group { case, samples } in groups.iter().filter(|group| group.case.schedule == Schedule::Synchronous) {
        // The two searches of a ring meet in the middle of what is left; if that is a link and not a node, the ids
        // decide on which side of it.
        let odd_ring = case.graph == Kind::Ring && !case.nodes.is_multiple_of(2);
        for sample in samples {
            let Outcome { messages, rounds, agreed, .. } = sample.outcome;
            let waves = 3 * sample.diameter as u64;
            let late = agreed.unwrap() - waves;
            assert!(late <= u64::from(odd_ring), "{late} rounds late: {case:?}");
            assert_eq!(rounds, Some(waves + late + 1), "{case:?}");
            if case.graph == Kind::Ring {
                let expected = 7 * case.nodes as u64 - 17;
                assert_eq!(messages.abs_diff(expected), u64::from(odd_ring), "{case:?}");
            }
        }
    }
}

#[test]
fn both_clocks_need_the_same_elections_when_a_line_loses_its_leader() {
    let groups = measure("--graph line --sizes 5,13 --seeds 20 --change leader-lost").unwrap();
    let necessary = |clock: ClockKind| -> Vec<u64> {
        let side = groups.iter().filter(|group| group.case.clock == clock).flat_map(|group| &group.samples);
        side.map(|sample| sample.outcome.elections - sample.outcome.unnecessary).collect()
    };
    assert_eq!(necessary(ClockKind::Lamport).len(), 80);
    assert_eq!(necessary(ClockKind::Lamport), necessary(ClockKind::Perfect));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let json = |line: &str| study::json(&measure(line).unwrap()).unwrap();
    let first = json("--sizes 7,12 --seeds 3 --graph grid --graph rgg");
    assert_eq!(first, json("--sizes 7,12 --seeds 3 --graph grid --graph rgg"));
    assert_ne!(first, json("--sizes 7,12 --seeds 3 --graph grid --graph rgg --seed 77"));
    let cells: Vec<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(&first).unwrap();
    assert_eq!(cells.len(), 2 * 2 * Change::ALL.len() * 4);
    let named = ["graph", "change", "clock", "schedule"].map(|key| cells[0][key].as_str().unwrap());
    assert_eq!(named, ["grid", "leader-lost", "lamport", "synchronous"]);
    assert_eq!(["nodes", "runs"].map(|key| cells[0][key].as_u64()), [Some(7), Some(3)]);
    assert!(cells[0]["rounds"]["mean"].as_f64() > Some(0.0) && cells[0]["messages"]["max"].as_u64() > Some(0));
}

#[test]
fn any_run_can_be_replayed_alone() {
    let outcomes = |line: &str| -> Vec<Vec<Outcome>> {
        let groups: Vec<Group> = measure(line).unwrap();
        groups.iter().map(|group| group.samples.iter().map(|sample| sample.outcome).collect()).collect()
    };
    let all = outcomes("--sizes 8,16 --seeds 5 --seed 40 --graph tree --graph rgg --change flap --change churn");
    let alone = outcomes("--sizes 16 --seeds 1 --seed 43 --graph rgg --change churn");
    let last_case: Vec<Vec<Outcome>> = all[all.len() - 4..].iter().map(|runs| vec![runs[3]]).collect();
    assert_eq!(alone, last_case);
}

#[test]
fn both_ends_of_every_link_see_its_changes_in_turn_and_agree_in_the_end() {
    for seed in 0..60 {
        let scene = Scene::random(Kind::Rgg, 14, seed).unwrap();
        for change in Change::ALL {
            let plans = Schedule::ALL.map(|schedule| change.plan(&scene, schedule, seed));
            for plan in &plans {
                let mut up: BTreeMap<Direction, bool> =
                    scene.graph.edges().flat_map(|edge| edge.directions().map(|direction| (direction, true))).collect();
                for flip in plan.before.iter().chain(&plan.flips) {
                    let before = up.insert(flip.direction, flip.up);
                    assert_eq!(before, Some(!flip.up), "{change:?} of seed {seed}");
                }
                assert!(
                    up.iter().all(|(direction, state)| up[&direction.back()] == *state),
                    "{change:?} of seed {seed}"
                );
            }
            assert!(!plans[0].flips.is_empty());
            assert_eq!(plans[0].outcome(&scene.graph), plans[1].outcome(&scene.graph), "{change:?} of seed {seed}");
        }
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let refused = |line: &str| measure(line).unwrap_err().to_string();
    assert!(refused("--sizes 3").contains("from 4 to 1000"));
    assert!(refused("--seeds 0").contains("at least 1"));
    assert!(refused("--sizes 200 --graph star --seeds 1").contains("199 links"));
}
