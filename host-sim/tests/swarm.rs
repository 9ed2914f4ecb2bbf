//! Strangers: every seed is a scenario that can be read and replayed, and what fails becomes small.

use std::path::Path;

use common::names::Algorithm;
use host_sim::cli::scenario_file::read;
use serde_json::Value;
use sim::scenario::report::shard::{Seeds, Shard};
use sim::scenario::run::drive::run;
use sim::swarm::bound::World;
use sim::swarm::draw::draw;
use sim::swarm::finding::{Fate, examine};
use sim::swarm::shrink::shrink;
use sim::swarm::stranger::Feature;
use sim::swarm::tally::Tally;

use crate::commands::ringleader;

#[test]
fn every_seed_is_a_scenario_and_all_features_are_drawn() {
    let mut drawn = std::collections::BTreeSet::new();
    for seed in 0..150 {
        let (stranger, world) = draw(seed);
        assert_eq!(stranger.text(), draw(seed).0.text(), "a seed is always the same stranger");
        let scenario = read("t.toml", &stranger.text()).unwrap();
        assert_eq!((scenario.seed, scenario.within_us), (seed, world.within_ms() * 1_000));
        drawn.extend(stranger.features);
    }
    // Hours and days are rare, because they take long.
    drawn.insert(Feature::Long);
    assert_eq!(drawn.len(), Feature::ALL.len(), "{drawn:?}");
}

#[test]
fn a_scenario_that_is_shown_runs_as_it_did_in_the_swarm() {
    let (stranger, world) = draw(11);
    let row = examine(&stranger, &world);
    let (_, shown, _) = ringleader(Path::new("."), &["swarm", "--show", "11"]);
    let outcome = run(&read("t.toml", &shown).unwrap(), 11);
    let worst = outcome.changes.iter().filter_map(|change| change.agreed_after_ms).max();
    assert_eq!((row.worst_ms, row.spontaneous), (worst, outcome.steadiness.spontaneous));
}

#[test]
fn bounds_grow_with_hops_with_audible_nodes_and_with_loss() {
    let world =
        World { nodes: 20, audible: 10, diameter: 4, components: 1, members: 0, loss: 0.0, is_firm: true, rooms: 0 };
    assert_eq!(world.within_ms(), 12_300);
    assert_eq!(World { diameter: 5, ..world }.within_ms(), 12_800);
    assert_eq!(World { audible: 110, ..world }.within_ms(), 15_300);
    assert_eq!(World { members: 8, ..world }.within_ms(), 14_300);
    assert_eq!(World { loss: 0.5, ..world }.within_ms(), 49_200);
    assert_eq!((World { rooms: 16, ..world }.forbids(), World { loss: 0.4, ..world }.forbids()), (None, None));
    assert!(World { rooms: 17, ..world }.forbids().unwrap().contains("17 others"));
    assert!(World { loss: 0.6, ..world }.forbids().unwrap().contains("full"));
}

#[test]
fn what_fails_becomes_small_and_still_fails_in_the_same_way() {
    // To shrink what holds is as good as to shrink what fails, and goes on until nothing is left.
    let held = (0..).map(draw).filter(|(stranger, _)| stranger.positions.len() > 4 && stranger.events.len() > 2);
    let (stranger, row) = held
        .map(|(stranger, world)| (examine(&stranger, &world), stranger))
        .find_map(|(row, stranger)| (row.fate == Fate::Held).then_some((stranger, row)))
        .unwrap();
    let (small, found) = shrink(&stranger, &row, |_| ());
    assert_eq!((small.positions.len(), small.events.len(), found.fate), (1, 0, Fate::Held), "{}", small.text());
    assert!(read("small.toml", &small.text()).is_ok());
    assert_eq!(shrink(&stranger, &row, |_| ()).0, small);
}

#[test]
fn classes_add_up() {
    let rows = (0..8).map(|seed| {
        let (stranger, world) = draw(seed);
        (seed, examine(&stranger, &world))
    });
    let tally = Tally::new(Seeds { from: 0, to: 8 }, Shard::WHOLE, rows.collect());
    assert_eq!((tally.classes[0].name.as_str(), tally.classes[0].runs), ("all", 8));
    assert_eq!(tally.classes[0].failures(), tally.failed.len() as u64);
    let is_algorithm = |name: &str| name.parse::<Algorithm>().is_ok();
    let by_algorithm: u64 =
        tally.classes.iter().filter(|class| is_algorithm(&class.name)).map(|class| class.runs).sum();
    assert_eq!(by_algorithm, 8);
}

#[test]
fn the_command_refuses_what_it_cannot_do_and_exits_as_sweeps_do() {
    for (arguments, says) in [
        (&["swarm"][..], "--seeds"),
        (&["swarm", "--seeds", "3..1"], "there are no seeds"),
        (&["swarm", "--seeds", "0..2", "--shard", "3/3"], "no seeds are left"),
        (&["swarm", "--seeds", "0..2", "--jobs", "0"], "--jobs"),
        (&["swarm", "--show", "1", "--json"], "cannot be used with"),
    ] {
        let (code, _, said) = ringleader(Path::new("."), arguments);
        assert_eq!(code, Some(1), "{arguments:?}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    let seeds = ["1/2", "2/2"].map(|shard| {
        let (_, json, _) = ringleader(Path::new("."), &["swarm", "--seeds", "4..8", "--shard", shard, "--json"]);
        let tally: Value = serde_json::from_str(&json).unwrap();
        tally["rows"].as_array().unwrap().iter().map(|row| row["seed"].as_u64().unwrap()).collect::<Vec<u64>>()
    });
    assert_eq!(seeds, [[4, 6], [5, 7]]);
}
