//! Readings are collected as promised in scenarios, and what is promised is checked.

use host_sim::cli::scenario_file::find;
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read;
use sim::scenario::report::outcome::Verdict;
use sim::scenario::run::drive::run;

use crate::reader::refused;

const COLLECTING: &str = r#"name = "t"
duration = "120 s"
[topology]
kind = "grid"
nodes = 9
spacing = "20 m"
[radio]
model = "usual"
loss = "10 %"
[collect]
every = "10 s"
sample = "2 s"
quantities = ["die-temperature", "humidity"]
"#;

/// Nothing is missing but what was stored too late.
fn holds(scenario: &Scenario, seed: u64) -> sim::scenario::report::collected::Collected {
    let outcome = run(scenario, seed);
    assert_eq!(outcome.verdict, Verdict::Ok, "{}, seed {seed}: {:?}", scenario.name, outcome.failure);
    let collected = outcome.collect.expect("it collects");
    assert_eq!((collected.lost, collected.duplicates), (0, 0));
    let sum = collected.committed + collected.declared + collected.pending + collected.destroyed;
    assert_eq!(collected.stored, sum, "{collected:?}");
    collected
}

#[test]
fn all_readings_are_logged_and_the_bill_is_itemised() {
    let collected = holds(&read("t.toml", COLLECTING).unwrap(), 1);
    assert!(collected.stored > 400 && collected.pending < 50, "{collected:?}");
    assert!(collected.latency_ms.p50.is_some_and(|ms| ms <= 50), "{collected:?}");
    assert!(collected.frames > 0 && collected.airtime_ppm > 0 && collected.tx_nah > 0, "{collected:?}");
    let some = read(
        "t.toml",
        &COLLECTING.replace("[\"die", "[\"supply\", \"die").replace("[collect]", "[collect]\nfrom = [2, 3]"),
    );
    assert!((80..130).contains(&holds(&some.unwrap(), 1).stored), "two of nine measure");
    let late = read("t.toml", &COLLECTING.replace("[collect]", "[collect]\nfrom = \"60 s\"")).unwrap();
    assert!((180..300).contains(&holds(&late, 1).stored), "half of the time");
}

/// Forty nodes that all hear each other. At a fixed pace they filled the channel with frames that nobody could answer.
#[test]
fn a_crowded_room_does_not_talk_itself_deaf() {
    let room = "name = \"room\"\nduration = \"130 s\"\n[topology]\nkind = \"grid\"\nnodes = 40\nspacing = \"3 m\"\n\
                [radio]\nmodel = \"usual\"\nloss = \"20 %\"\n[collect]\nevery = \"5 s\"\nsample = \"1 s\"\n\
                [[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat = \"30 s\"\nfor = \"40 s\"\n\
                [expect]\nagreement_within = \"30 s\"\n";
    let collected = holds(&read("room.toml", room).unwrap(), 2);
    assert!(collected.missed * 100 < collected.frames * 60, "{collected:?}");
    assert!(collected.pending * 20 < collected.stored, "{collected:?}");
}

#[test]
fn readings_survive_what_scenarios_do_to_nodes() {
    let faults = [
        "[[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat = \"30 s\"\nfor = \"20 s\"\n",
        "[[fault]]\nkind = \"restart\"\nwho = \"random\"\nevery = \"7 s\"\nfrom = \"10 s\"\nuntil = \"60 s\"\n",
        "[[fault]]\nkind = \"crash\"\nnodes = [4]\nat = \"30 s\"\nfor = \"10 s\"\nflash = \"erased\"\n",
        "[[fault]]\nkind = \"partition\"\nnodes = [1, 2, 3]\nat = \"20 s\"\nfor = \"25 s\"\n",
        "[[fault]]\nkind = \"corrupt-state\"\nwho = \"leader\"\nat = \"40 s\"\n",
    ];
    for kind in ["hierarchy", "height", "hs", "frlle"] {
        for fault in faults {
            let text = COLLECTING.replace("[collect]", &format!("[protocol]\nkind = \"{kind}\"\n[collect]"));
            let scenario = read("t.toml", &(text + fault + "[expect]\nagreement_within = \"30 s\"\n"))
                .unwrap_or_else(|problem| panic!("{fault}: {problem}"));
            for seed in 0..2 {
                holds(&scenario, seed);
            }
        }
    }
}

#[test]
fn a_full_store_declares_what_it_overwrote() {
    let text = COLLECTING.replace("every = \"10 s\"", "every = \"2 s\"\nstore = 33").replace("120 s", "240 s");
    let cut = "[[fault]]\nkind = \"partition\"\nnodes = [9]\nat = \"10 s\"\nfor = \"150 s\"\n[expect]\nagreement_within = \"20 s\"\n";
    let collected = holds(&read("t.toml", &(text + cut)).unwrap(), 3);
    assert!(collected.declared > 20 && collected.committed > 900, "{collected:?}");
}

#[test]
fn shipped_scenarios_keep_the_promise() {
    for name in ["collect16", "collect36"] {
        let collected = holds(&find(name).unwrap(), 7);
        assert!(collected.quiet_latency_ms.p50.is_some_and(|ms| ms <= 50), "{name}: {collected:?}");
    }
}

#[test]
fn collections_are_refused_with_their_line() {
    refused(
        COLLECTING,
        &[
            ("every = \"10 s\"", "every = \"10 m\"", 11, "`every`"),
            ("sample = \"2 s\"", "sample = \"20 s\"", 12, "must not be longer than `every`"),
            ("\"humidity\"", "\"humidty\"", 13, "a list of words out of"),
            ("\"humidity\"", "\"die-temperature\"", 13, "none twice"),
            ("sample", "samples", 12, "did you mean `sample`?"),
            ("[collect]", "[collect]\nfrom = [10]", 11, "from 1 to 9"),
            ("[collect]", "[collect]\nfrom = [2, 2]", 11, "none twice"),
            ("[collect]", "[collect]\nstore = 5", 11, "from 33"),
            ("nodes = 9", "nodes = 65", 10, "up to 64 nodes"),
            ("[collect]", "[protocol]\nkind = \"soft-state\"\n[collect]", 12, "has no links to collect over"),
            ("[collect]", "[[node]]\nid = 2\nkind = \"board\"\n[collect]", 13, "node 2 is a board"),
        ],
    );
}

#[test]
fn a_pc_at_any_node_is_shown_the_readings_of_all() {
    let text = "name = \"r\"\nduration = \"240 s\"\n[topology]\nkind = \"grid\"\nnodes = 12\nspacing = \"20 m\"\n\
        [radio]\nmodel = \"usual\"\nloss = \"10 %\"\n[collect]\nevery = \"10 s\"\nreader = 12\n\
        [[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat = \"120 s\"\n[expect]\nagreement_within = \"15 s\"\n";
    for seed in 0..3 {
        let outcome = run(&read("r", text).unwrap(), seed);
        assert_eq!(outcome.verdict, Verdict::Ok, "{:?}", outcome.failure);
        let collected = outcome.collect.unwrap();
        assert_eq!((collected.lost, collected.duplicates), (0, 0), "{collected:?}");
        // A block of three readings every ten seconds, of eleven other nodes, of which one dies.
        let blocks = collected.committed / 3 * 11 / 12;
        assert!(collected.shown * 100 > blocks * 85, "{} of {blocks} blocks, {collected:?}", collected.shown);
    }
    let refused = read("r", &text.replace("reader = 12", "reader = 12\nfrom = [1, 2]")).unwrap_err().to_string();
    assert!(refused.contains("node 12 has none"), "{refused}");
}
