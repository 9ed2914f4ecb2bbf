//! Memories that go wrong: whatever a node finds in its memory, the network agrees again within the swarm's bound.

use sim::scenario::input::read::read;
use sim::scenario::report::outcome::Verdict;
use sim::scenario::run::drive::run;

/// Two nodes that restart, so that memories are of other lives, and whose memories then go wrong again and again.
fn text(algorithm: &str) -> String {
    let mut text = format!(
        "name = \"t\"\nduration = \"200 s\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"12 m\"\n[radio]\nmodel = \"plain\"\n\
         [protocol]\nkind = \"{algorithm}\"\n[expect]\nagreement_within = \"11 s\"\n\
         [[fault]]\nkind = \"crash\"\nnodes = [1, 2]\nat = \"70 s\"\nfor = \"3 s\"\n"
    );
    for at in [30, 50, 90, 110, 130, 150, 170] {
        text.extend(["[[fault]]\nkind = \"corrupt-state\"\nwho = \"random\"\n", &format!("at = \"{at} s\"\n")]);
    }
    text
}

#[test]
fn a_network_heals_from_what_its_nodes_knew_at_other_times() {
    for algorithm in ["hierarchy", "height"] {
        let scenario = read("t.toml", &text(algorithm)).unwrap();
        for seed in 0..12 {
            let outcome = run(&scenario, seed);
            assert_eq!(outcome.verdict, Verdict::Ok, "{algorithm}, seed {seed}: {:?}", outcome.failure);
            assert_eq!(outcome.steadiness.spontaneous, 0, "{algorithm}, seed {seed}: each change has its cause");
        }
    }
}
