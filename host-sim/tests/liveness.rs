//! Agreement must come in time, and come back in time.

use host_sim::cli::scenario_file::find;
use host_sim::lab::many_seeds::run_seeds;
use sim::scenario::input::plan::{Scenario, Steady};
use sim::scenario::input::read::read;
use sim::scenario::report::outcome::{Outcome, Verdict};
use sim::scenario::run::drive::run;

#[test]
fn what_comes_late_fails_at_its_deadline_and_names_who_follows_whom() {
    let impossible = Scenario { within_us: 200_000, ..find("partition-merge").unwrap() };
    let outcome = run(&impossible, 7);
    assert_eq!(outcome.verdict, Verdict::Liveness);
    let failure = outcome.failure.unwrap();
    // The start, the wall and its end are all left alone for that long, and the first of them counts.
    assert_eq!(failure.at_ms, 200);
    assert!(!failure.nodes.is_empty() && failure.nodes.len() < 16, "{:?}", failure.nodes);
    for part in ["within 200 ms after the last change (start): node", " follows ", "; they agreed after "] {
        assert!(failure.what.contains(part), "{}", failure.what);
    }
    let row = run_seeds(&impossible, [7], 1, |_| ()).remove(&7).unwrap();
    assert_eq!((row.verdict, row.failure.as_ref().map(|failure| failure.at_ms)), (Verdict::Liveness, Some(200)));
    assert!(row.failure.unwrap().line().starts_with("at 0.200 s, nodes "));
}

/// Three nodes in a line. The first and the last hear each other too faintly for a link, and the one between is off from
/// 20 s to 22 s and from 40 s on.
const RELAY: &str = "name = \"t\"\nduration = \"60 s\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"34 m\"\n[radio]\nmodel = \"plain\"\n[[fault]]\nkind = \"crash\"\nnodes = [2]\nat = \"20 s\"\nfor = \"2 s\"\n[[fault]]\nkind = \"crash\"\nnodes = [2]\nat = \"40 s\"\n[expect]\nagreement_within = \"10 s\"\n";

#[test]
fn nobody_agrees_over_a_path_that_is_too_faint() {
    let relay = read("t.toml", RELAY).unwrap();
    for seed in 0..5 {
        let outcome = run(&relay, seed);
        assert_eq!((outcome.verdict, outcome.relapses), (Verdict::Ok, 0), "{:?}", outcome.failure);
        let death = outcome.changes.last().unwrap();
        assert_eq!((death.at_ms, outcome.components), (40_000, 2));
        assert!(death.agreed_after_ms.is_some_and(|after| after > 500), "it takes that long to notice: {death:?}");
    }
}

#[test]
fn a_node_without_a_link_that_goes_by_what_it_hears_faintly_is_held() {
    // Node 2 dies for good. Node 1 hears node 3 too faintly for a link and has no other, but hears that the leader is well.
    let text = RELAY.replace("nodes = 3", "nodes = 4").replace("34 m", "20.4 m");
    for seed in 0..5 {
        let outcome = run(&read("t.toml", &text).unwrap(), seed);
        assert_eq!((outcome.verdict, outcome.components), (Verdict::Ok, 2), "{:?}", outcome.failure);
    }
}

#[test]
fn every_change_that_is_left_alone_for_long_enough_must_be_agreed_in_time() {
    // No death can be noticed so soon. The first one is forgotten by 40 s, and was late all the same.
    let hasty = Scenario { within_us: 300_000, ..read("t.toml", RELAY).unwrap() };
    let started = Scenario { duration_us: 10_000_000, faults: Vec::new(), ..hasty.clone() };
    let seed = (0..50).find(|&seed| run(&started, seed).verdict == Verdict::Ok).expect("some start fast enough");
    let failure = run(&hasty, seed).failure.unwrap();
    assert_eq!(failure.at_ms, 20_300, "{failure:?}");
    // Its return overtakes the death that it ends, so the death itself need not be agreed on in three seconds.
    let patient = Scenario { within_us: 3_000_000, ..hasty };
    assert!(run(&patient, seed).failure.is_none_or(|failure| failure.at_ms > 23_000));
}

#[test]
fn steadiness_is_told_of_every_run() {
    let outcome = run(&find("ring16").unwrap(), 7);
    let all = outcome.steadiness;
    assert!(all.leader_changes >= 15, "its leader fails: {all:?}");
    assert_eq!(all.spontaneous, 0, "{all:?}");
    assert!(all.quiet_node_ms > 0 && all.quiet_node_ms < all.node_ms && all.node_ms <= 16 * outcome.ran_ms, "{all:?}");
    // Links break down and come back all the time, and nobody calls that a change.
    let restless = (0..5).map(|seed| in_bursts("5 s", "5 s", "60 s", seed)).find(|outcome| outcome.relapses > 0);
    assert!(restless.is_some_and(|outcome| outcome.steadiness.spontaneous > 0));
}

#[test]
fn restlessness_is_told_at_the_change_that_was_too_many() {
    let steady = Some(Steady { from_us: 5_000_000, changes_max: 1 });
    let failure = run(&Scenario { steady, ..find("ring16").unwrap() }, 7).failure.unwrap();
    // The leader fails after 10 s.
    assert!((10_000..20_000).contains(&failure.at_ms), "{failure:?}");
}

/// Three nodes in a line whose links fade for such times.
fn in_bursts(good: &str, bad: &str, within: &str, seed: u64) -> Outcome {
    let text = format!(
        "name = \"t\"\nduration = \"120 s\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"10 m\"\n[radio]\nmodel = \"plain\"\n[radio.bursts]\ngood = \"{good}\"\nbad = \"{bad}\"\nloss = \"80 dB\"\n[expect]\nagreement_within = \"{within}\"\n"
    );
    run(&read("t.toml", &text).unwrap(), seed)
}

#[test]
fn an_agreement_that_is_lost_and_does_not_come_back_fails() {
    // Fades shorter than the bound follow each other so closely that no agreement lasts.
    let lost = (0..20)
        .map(|seed| in_bursts("5 s", "5 s", "20 s", seed))
        .find_map(|outcome| outcome.failure.filter(|failure| failure.what.contains("lost their agreement")));
    let failure = lost.expect("one of twenty");
    assert!(failure.what.contains("without a change and had none again within 20000 ms: "), "{failure:?}");
    assert!(failure.at_ms > 20_000 && !failure.nodes.is_empty(), "{failure:?}");
}

#[test]
fn links_that_are_down_for_longer_than_the_bound_are_no_links() {
    let outcomes: Vec<Outcome> = (0..10).map(|seed| in_bursts("20 s", "600 s", "15 s", seed)).collect();
    for outcome in &outcomes {
        let told: Vec<&str> = outcome.changes.iter().map(|change| change.what.as_str()).collect();
        assert!(told.iter().any(|what| what.starts_with("link") && what.ends_with("down for long")), "{told:?}");
        assert_eq!(outcome.verdict, Verdict::Ok, "{:?}", outcome.failure);
    }
    assert!(outcomes.iter().any(|outcome| outcome.components == 3), "every node is alone in the end");
}

#[test]
fn links_that_go_down_later_make_no_failure_undone() {
    let is_link = |what: &str| what.starts_with("link");
    let failed_before_a_link = |outcome: &Outcome| {
        let failed_ms = outcome.failure.as_ref().map(|failure| failure.at_ms);
        failed_ms.is_some_and(|at| outcome.changes.iter().any(|change| is_link(&change.what) && change.at_ms > at))
    };
    assert!((0..30).map(|seed| in_bursts("8 s", "8 s", "20 s", seed)).any(|outcome| failed_before_a_link(&outcome)));
}

#[test]
fn keeping_a_link_that_has_become_faint_is_right() {
    let text = "name = \"t\"\nduration = \"40 s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"5 m\"\n[radio]\nmodel = \"plain\"\n[[fault]]\nkind = \"wall\"\nstart = [2, -9]\nend = [2, 9]\nloss = \"35 dB\"\nat = \"8 s\"\n";
    let outcome = run(&read("t.toml", text).unwrap(), 1);
    assert_eq!(outcome.verdict, Verdict::Ok, "{:?}", outcome.failure);
    assert_eq!(outcome.components, 2, "no node would use such a link");
}

#[test]
fn who_was_cut_off_alone_joins_the_others_and_unseats_nobody() {
    let text = "name = \"t\"\nduration = \"90 s\"\n[topology]\nkind = \"grid\"\nnodes = 6\nspacing = \"12 m\"\n[radio]\nmodel = \"plain\"\n\
                [[fault]]\nkind = \"partition\"\nnodes = [6]\nat = \"20 s\"\nfor = \"30 s\"\n\
                [expect]\nagreement_within = \"11 s\"\n";
    let scenario = read("t.toml", text).unwrap();
    for seed in 0..5 {
        let outcome = run(&scenario, seed);
        assert_eq!(outcome.verdict, Verdict::Ok, "seed {seed}: {:?}", outcome.failure);
        let after: Vec<_> = outcome.follows.iter().filter(|follow| follow.at_ms > 50_000).collect();
        assert!(after.iter().any(|follow| follow.node == 6), "seed {seed}: it follows the others");
        assert!(after.iter().all(|follow| follow.node == 6), "seed {seed}: {after:?}");
    }
}
