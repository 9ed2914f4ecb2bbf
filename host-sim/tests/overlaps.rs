//! Overlapping faults: each stays in effect until its own end.

use sim::scenario::input::read::read;
use sim::scenario::report::outcome::Outcome;
use sim::scenario::run::drive::run;

/// A grid of nine with these faults, each the body of a table.
fn outcome_of(faults: &[&str]) -> Outcome {
    let mut text = String::from(
        "name = \"t\"\nduration = \"45 s\"\n[topology]\nkind = \"grid\"\nnodes = 9\nspacing = \"12 m\"\n[radio]\nmodel = \"plain\"\n",
    );
    for fault in faults {
        text.extend(["[[fault]]\n", fault, "\n"]);
    }
    run(&read("t.toml", &text).unwrap(), 1)
}

/// When changes with this text happened, in milliseconds.
fn times(outcome: &Outcome, what: &str) -> Vec<u64> {
    outcome.changes.iter().filter(|change| change.what.contains(what)).map(|change| change.at_ms).collect()
}

#[test]
fn clocks_drift_until_the_last_drift_is_over_and_then_run_as_they_did() {
    let drift = |at: u32, lasts: u32| {
        format!("kind = \"drift\"\nnodes = [1]\ndrift = \"10000 ppm\"\nat = \"{at} s\"\nfor = \"{lasts} s\"")
    };
    let overlapping = outcome_of(&[&drift(1, 3), &drift(2, 3)]);
    assert_eq!(times(&overlapping, "a drift ends; another one of node 1 goes on"), [4_000]);
    assert_eq!(times(&overlapping, "clocks run as before"), [5_000]);
    assert_eq!(overlapping.digest, outcome_of(&[&drift(1, 4)]).digest, "together they are one drift of four seconds");
}

#[test]
fn every_corruption_has_its_share() {
    let corrupted = |faults: &[&str]| outcome_of(faults).nodes.iter().map(|node| node.corrupted).sum::<u64>();
    let long = "kind = \"corrupt\"\nshare = \"30 %\"\nat = \"5 s\"\nfor = \"10 s\"";
    let short = "kind = \"corrupt\"\nshare = \"1 %\"\nat = \"6 s\"\nfor = \"1 s\"";
    let (alone, both) = (corrupted(&[long]), corrupted(&[long, short]));
    assert!(alone > 100 && both * 10 > alone * 8, "{alone} alone, {both} with another one in between");
    let changes = outcome_of(&[long, short]);
    assert_eq!(times(&changes, "30.7 % of the frames are corrupted"), [6_000]);
    assert_eq!(times(&changes, "30 % of the frames are corrupted"), [5_000, 7_000]);
    assert_eq!(times(&changes, "no longer corrupted"), [15_000]);
}

/// Every interval from a change with one text to the next with another is at least this long.
fn stays(outcome: &Outcome, comes: &str, goes: &str, least_ms: u64) {
    let (from, to) = (times(outcome, comes), times(outcome, goes));
    assert!(!from.is_empty() && from.len() == to.len(), "{:?}", outcome.changes);
    assert!(from.iter().zip(&to).all(|(from, to)| to - from >= least_ms), "{from:?} {to:?}");
    assert!(from.iter().zip(&to).any(|(from, to)| to - from > least_ms), "none overlapped: {from:?} {to:?}");
}

#[test]
fn noise_goes_on_until_its_last_strike_is_over() {
    let jam = "kind = \"jam\"\nplace = [12, 12]\nevery = \"2 s\"\nfrom = \"4 s\"\nuntil = \"14 s\"\nfor = \"3 s\"";
    stays(&outcome_of(&[jam]), "noise of", "the noise ends", 3_000);
}

#[test]
fn an_attacker_stays_and_sends_until_its_last_strike_is_over() {
    let attack = |when: &str| format!("kind = \"attack\"\nplace = [12, 12]\nframes = [\"length\"]\n{when}");
    let again = attack("every = \"2 s\"\nfrom = \"4 s\"\nuntil = \"14 s\"\nfor = \"3 s\"");
    let outcome = outcome_of(&[&again]);
    stays(&outcome, "an attacker", "the attacker leaves", 3_000);
    let about_ms: u64 =
        times(&outcome, "the attacker leaves").iter().sum::<u64>() - times(&outcome, "an attacker").iter().sum::<u64>();
    // One frame in 50 ms on average, and all nine hear most of them.
    let malformed: u64 = outcome.nodes.iter().map(|node| node.malformed).sum();
    assert!(malformed > about_ms / 50 * 9 / 2, "{malformed} in {about_ms} ms");
}

#[test]
fn walls_and_partitions_stand_until_their_own_end() {
    let partition =
        |at: u32, lasts: u32| format!("kind = \"partition\"\nnodes = [1, 2, 3]\nat = \"{at} s\"\nfor = \"{lasts} s\"");
    let wall = |at: u32, lasts: u32| {
        format!("kind = \"wall\"\nstart = [-50, 6]\nend = [50, 6]\nat = \"{at} s\"\nfor = \"{lasts} s\"")
    };
    for (long, short) in
        [(partition(5, 20), partition(7, 1)), (wall(5, 20), wall(7, 1)), (wall(5, 20), partition(7, 1))]
    {
        let outcome = outcome_of(&[&long, &short]);
        let leaders_at =
            |ms: u64| outcome.reigns.iter().rfind(|reign| reign.at_ms <= ms).map(|reign| reign.leaders.len());
        assert_eq!((leaders_at(24_000), leaders_at(44_000)), (Some(2), Some(1)), "{long}\n{:?}", outcome.reigns);
    }
}

#[test]
fn a_node_is_off_while_anything_keeps_it_off() {
    let crash = |at: u32, more: &str| format!("kind = \"crash\"\nnodes = [2]\nat = \"{at} s\"\n{more}");
    let longer = outcome_of(&[&crash(5, "for = \"3 s\"\nflash = \"erased\""), &crash(6, "for = \"10 s\"")]);
    assert_eq!(
        (times(&longer, "node 2 off"), times(&longer, "node 2 on again, flash erased")),
        (vec![5_000], vec![16_000])
    );
    let shorter = outcome_of(&[&crash(5, "for = \"10 s\""), &crash(6, "for = \"3 s\"")]);
    assert_eq!(times(&shorter, "node 2 on again"), [15_000]);
    let for_good = outcome_of(&[&crash(5, "for = \"3 s\""), &crash(6, "")]);
    assert_eq!(times(&for_good, "on again"), Vec::<u64>::new());
    let restart = "kind = \"restart\"\nnodes = [2]\nat = \"10 s\"";
    let restarted = outcome_of(&[&crash(5, "for = \"10 s\""), restart]);
    assert_eq!(times(&restarted, "node 2 on again"), [10_000], "a restart gives power back whatever cut it");
}

#[test]
fn a_restart_of_a_node_that_is_on_is_a_reset() {
    let outcome = outcome_of(&["kind = \"restart\"\nnodes = [2]\nat = \"10 s\"\nflash = \"torn\""]);
    assert_eq!(times(&outcome, "node 2 on again, its write torn"), [10_000]);
    assert_eq!(times(&outcome, "node 2 has stored its epoch"), [11_000]);
    assert!(outcome.follows.iter().any(|follow| (follow.at_ms, follow.node, follow.leader) == (10_000, 2, None)));
}

#[test]
fn an_attacker_sends_nothing_after_it_has_left() {
    let attack =
        "kind = \"attack\"\nplace = [5, 5]\nframes = [\"length\"]\ninterval = \"10 s\"\nat = \"5 s\"\nfor = \"1 ms\"";
    let outcome = outcome_of(&[attack; 10]);
    assert_eq!(outcome.nodes.iter().map(|node| node.malformed).sum::<u64>(), 0);
}
