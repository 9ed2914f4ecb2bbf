//! Every algorithm that has a name elects a leader among whole nodes on the simulated air.

use common::names::Algorithm;
use host_sim::scenario::drive::run;
use host_sim::scenario::outcome::Verdict;
use host_sim::scenario::read::read;
use host_sim::scenario::run::failure_text;

#[test]
fn every_algorithm_agrees_on_the_air_and_again_without_its_leader() {
    for algorithm in Algorithm::ALL {
        let text = format!(
            "name = \"{algorithm}\"\nduration = \"60 s\"\n\
             [topology]\nkind = \"ring\"\nnodes = 5\nspacing = \"8 m\"\n\
             [protocol]\nkind = \"{algorithm}\"\n\
             [[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat = \"20 s\"\n\
             [expect]\nagreement_within = \"15 s\"\n"
        );
        let scenario = read("all.toml", &text).unwrap_or_else(|problem| panic!("{problem}"));
        for seed in 1..=5 {
            let outcome = run(&scenario, seed);
            assert_eq!(outcome.verdict, Verdict::Ok, "{algorithm}: {}", failure_text(&outcome, "all.toml"));
            let leaders = outcome.reigns.last().map(|reign| reign.leaders.len());
            assert_eq!(leaders, Some(1), "{algorithm}, seed {seed}");
            assert!(outcome.reigns.len() >= 2, "{algorithm}, seed {seed}: the crash changed nothing");
        }
    }
}
