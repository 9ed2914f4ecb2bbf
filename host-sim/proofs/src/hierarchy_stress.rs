//! The hierarchy on the ideal network: random runs of every kind of fault, a few hundred each.

use ideal::hierarchy::{DEGREE, measure_bars};
use ideal::stress::hierarchy::{End, Faults, Plan, play, stress};

const SEED: u64 = 20;
const RUNS: u64 = 300;

/// Plays runs of one kind, which are every ninth.
fn all_end_well(faults: Faults) {
    let turn = Faults::ALL.iter().position(|&kind| kind == faults).expect("a kind") as u64;
    for round in 0..RUNS {
        let plan = Plan::draw(SEED, round * Faults::ALL.len() as u64 + turn);
        assert_eq!(plan.faults, faults);
        let played = play(&plan);
        assert_eq!(played.end, End::WellFormed, "{plan}; replay: {}", plan.replay());
    }
}

#[test]
fn networks_form() {
    all_end_well(Faults::Forming);
}

#[test]
fn links_go_down_and_up() {
    all_end_well(Faults::Links);
}

#[test]
fn one_end_notices_or_both_in_their_own_time() {
    all_end_well(Faults::OneSided);
}

#[test]
fn networks_fall_apart_and_merge() {
    all_end_well(Faults::Partitions);
}

#[test]
fn nodes_lose_their_state() {
    all_end_well(Faults::Crashes);
}

#[test]
fn nodes_become_more_or_less_fit() {
    all_end_well(Faults::Fitness);
}

#[test]
fn everything_goes_wrong() {
    all_end_well(Faults::Mixed);
}

#[test]
fn updates_are_lost_and_sent_again() {
    all_end_well(Faults::Loss);
}

#[test]
fn corrupted_records_recover() {
    all_end_well(Faults::Corruption);
}

#[test]
fn a_run_depends_on_the_seed_and_its_number_alone() {
    let results = |seed| {
        let summary = stress(seed, 40, 30, |_| ());
        (summary.delivered, summary.longest.steps, summary.kinds)
    };
    assert_eq!(results(7), results(7));
    let both = stress(7, 40, 30, |_| ()).delivered;
    let (one, two) = (stress(7, 40, 10, |_| ()).delivered, stress(7, 50, 20, |_| ()).delivered);
    assert_eq!(both, one + two, "the same runs, wherever the first one was");
    assert_ne!(results(7), results(8));
}

#[test]
fn most_link_changes_move_no_node() {
    let bars = measure_bars(1, DEGREE, 100).unwrap();
    let links = bars.row.links;
    assert!(links.changes + bars.row.restarts.changes == 5_000 && links.changes > 4_300, "{links:?}");
    assert!(links.still_percent() > 88.0 && links.mean() < 0.3, "{links:?}");
    assert!(links.moved > 0, "a measure that cannot move measures nothing");
}
