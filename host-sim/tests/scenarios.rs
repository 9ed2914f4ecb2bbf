//! The built-in scenarios hold, runs repeat, and bad scenario files are explained.

use host_sim::scenario::catalogue::{BUILT_IN, find};
use host_sim::scenario::drive::run;
use host_sim::scenario::outcome::Verdict;
use host_sim::scenario::plan::Scenario;
use host_sim::scenario::read::read;
use host_sim::scenario::run::failure_text;
use host_sim::scenario::sweep::sweep;

#[test]
fn every_scenario_holds() {
    for (name, _) in BUILT_IN {
        let scenario = find(name).unwrap();
        assert_eq!(scenario.name, name);
        assert!(!scenario.summary.is_empty());
        for seed in 1..=3 {
            let outcome = run(&scenario, seed);
            assert_eq!(outcome.verdict, Verdict::Ok, "{}", failure_text(&outcome, name));
            assert!(outcome.received > 0 && outcome.nodes.len() == scenario.topology.nodes());
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run_with_any_number_of_jobs() {
    let scenario = find("crash-storm").unwrap();
    let seeds = [4, 5, 6];
    let (alone, together) = (sweep(&scenario, &seeds, 1, |_| ()), sweep(&scenario, &seeds, 3, |_| ()));
    assert_eq!(alone, together);
    assert_ne!(alone[&4].digest, alone[&5].digest);
}

#[test]
fn a_wall_makes_two_leaders_and_its_fall_one() {
    let outcome = run(&find("partition-merge").unwrap(), 2);
    let during: Vec<usize> = (outcome.reigns.iter())
        .filter(|reign| (8_000..20_000).contains(&reign.at_ms))
        .map(|reign| reign.leaders.len())
        .collect();
    assert_eq!(during.last(), Some(&2), "{during:?}");
    assert_eq!(outcome.reigns.last().map(|reign| reign.leaders.len()), Some(1));
    assert_eq!(outcome.changes.len(), 3);
    assert!(outcome.changes.iter().all(|change| change.agreed_after_ms.is_some()), "{:?}", outcome.changes);
}

#[test]
fn what_takes_too_long_fails_and_says_how_to_see_it_again() {
    let impossible = Scenario { within_us: 1_000, ..find("mesh25").unwrap() };
    let outcome = run(&impossible, 7);
    assert_eq!(outcome.verdict, Verdict::Liveness);
    let text = failure_text(&outcome, "mesh25");
    assert!(text.contains("seed 7") && text.contains("last events"), "{text}");
    assert!(text.contains("replay: ringleader run mesh25 --seed 7\n"), "{text}");
}

const GOOD: &str = r#"name = "t"
duration = "30 s"
[topology]
kind = "grid"
nodes = 4
spacing = "10 m"
[radio]
model = "plain"
[[fault]]
kind = "crash"
nodes = [2]
at = "5 s"
[expect]
agreement_within = "10 s"
"#;

#[test]
fn units_may_be_in_the_key() {
    let in_keys =
        GOOD.replace("spacing = \"10 m\"", "spacing_cm = 1000").replace("duration = \"30 s\"", "duration_ms = 30e3");
    assert_eq!(read("t", &in_keys), read("t", GOOD));
    assert!(read("t", GOOD).is_ok());
}

#[test]
fn bad_files_are_explained() {
    for (good, bad, line, says) in [
        ("kind = \"grid\"", "knid = \"grid\"", 4, "unknown key `knid` in [topology]; did you mean `kind`?"),
        ("[expect]", "[expects]", 13, "unknown key `expects`; did you mean `expect`?"),
        ("\"10 m\"", "\"10 s\"", 6, "`spacing` has the wrong unit \"s\" (it may be m, cm, km); write \"20 m\""),
        ("\"10 m\"", "10", 6, "`spacing` needs a unit: write spacing = \"20 m\", or spacing_m = a number"),
        ("\"10 m\"", "\"-10 m\"", 6, "`spacing` must be more than nothing"),
        ("\"plain\"", "\"plane\"", 8, "`model` cannot be \"plane\"; did you mean \"plain\"?"),
        ("nodes = 4", "nodes = 0", 5, "`nodes` must be a whole number from 1 to 1000"),
        ("nodes = [2]", "nodes = [9]", 11, "`nodes` must be a whole number from 1 to 4"),
        ("\"30 s\"", "\"12 s\"", 2, "`duration` is too short"),
        ("name = \"t\"", "name = t", 1, "not TOML"),
        ("at = \"5 s\"", "", 9, "[fault] needs the key `at` or `every`"),
        ("spacing = \"10 m\"", "spacing = \"10 m\"\nspacing_m = 3", 6, "`spacing` is given twice"),
        ("model = \"plain\"", "channel = 27", 8, "`channel` must be a whole number from 11 to 26"),
        ("model = \"plain\"", "model = \"disc\"", 7, "[radio] needs the key `reach`"),
    ] {
        let text = GOOD.replacen(good, bad, 1);
        assert_ne!(text, GOOD);
        let problem = read("bad.toml", &text).unwrap_err();
        let shown = problem.to_string();
        assert!(
            shown.starts_with(&format!("bad.toml:{line}: ")) && shown.contains(says),
            "{shown}\nwanted {line}: {says}"
        );
    }
}

#[test]
fn unknown_scenarios_are_explained() {
    assert!(find("mesh52").unwrap_err().to_string().contains("did you mean \"mesh25\"?"));
    assert!(find("nowhere.toml").unwrap_err().to_string().contains("cannot read"));
    assert!(find("something").unwrap_err().to_string().contains("ringleader scenarios"));
}
