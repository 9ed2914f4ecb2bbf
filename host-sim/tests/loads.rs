//! Load and failure rates as a scenario's data: who is elected by them, and when they call for another election.

use common::names::Algorithm;
use host_sim::cli::scenario_file::find;
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read;
use sim::scenario::report::outcome::{Outcome, Verdict};
use sim::scenario::run::drive::run;

use crate::reader::refused;

/// Whom every node followed, one after the other, without the times in between.
fn unanimous(outcome: &Outcome) -> Vec<u16> {
    let mut leaders: Vec<u16> = outcome
        .reigns
        .iter()
        .filter(|reign| reign.leaders.len() == 1 && reign.leaders[0].followers == outcome.nodes.len())
        .map(|reign| reign.leaders[0].leader)
        .collect();
    leaders.dedup();
    leaders
}

#[test]
fn the_least_load_and_failure_rate_lead() {
    let scenario = find("frlle-load").unwrap();
    for seed in 0..3 {
        let outcome = run(&scenario, seed);
        assert_eq!(outcome.verdict, Verdict::Ok, "{:?}", outcome.failure);
        // Nobody has measured anything at first, so the largest id leads once the ring has formed. Node 5 steps back while it knows
        // nothing of itself.
        let leaders = unanimous(&outcome);
        assert!(leaders.ends_with(&[8, 3, 5, 3, 5]) && leaders.len() <= 6, "seed {seed}: {leaders:?}");
    }
}

#[test]
fn small_changes_of_load_call_for_no_election() {
    let scenario = find("frlle-load").unwrap();
    let mut loads = scenario.loads.clone();
    loads[3].failure = common::coefficient::Share::new(1_500);
    let calm = Scenario { loads, faults: Vec::new(), leader: None, ..scenario };
    let outcome = run(&calm, 1);
    assert_eq!((outcome.verdict, unanimous(&outcome)), (Verdict::Ok, vec![8, 3]), "{:?}", outcome.failure);
}

#[test]
fn the_wrong_leader_at_the_end_is_a_failure() {
    let scenario = Scenario { leader: Some(sim::air::index::NodeIndex(0)), ..find("frlle-load").unwrap() };
    let outcome = run(&scenario, 1);
    assert_eq!(outcome.verdict, Verdict::Liveness);
    assert_eq!(outcome.failure.unwrap().what, "node 1 should lead, not node 5");
}

const LOADED: &str = r#"name = "t"
duration = "90 s"
[topology]
kind = "line"
nodes = 3
spacing = "10 m"
[protocol]
kind = "frlle"
[[load]]
nodes = [2]
cpu = "40 %"
failure_percent = 3
[expect]
agreement_within = "10 s"
leader = 3
"#;

#[test]
fn loads_are_refused_with_their_line() {
    refused(
        LOADED,
        &[
            ("nodes = [2]", "nodes = [4]", 10, "from 1 to 3"),
            ("nodes = [2]", "", 9, "needs the key `nodes` or `who`"),
            ("\"40 %\"", "\"140 %\"", 11, "`cpu`"),
            ("cpu", "cpus", 11, "did you mean `cpu`?"),
            ("leader = 3", "leader = 4", 15, "from 1 to 3"),
            ("\"frlle\"", "\"hs\"", 9, "only kind = \"frlle\" and \"hierarchy\" rank nodes by it"),
            ("\"90 s\"", "\"50 s\"", 2, "is too short"),
            ("[[load]]", "[[node]]\nid = 2\nkind = \"board\"\n[[load]]", 13, "which is a board"),
        ],
    );
    let hierarchy = LOADED.replace("frlle", Algorithm::Hierarchy.name());
    assert!(read("t.toml", &hierarchy).is_ok());
}
