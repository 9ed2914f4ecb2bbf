//! The golden vectors match, every expected field is really compared, and a malformed file is refused with the position of
//! the error.

use common::rng::Rng;
use host_sim::lab::conform::{Report, replay_text};
use serde_json::{Value, json};

const FILES: [(&str, &str); 4] = [
    ("hs", include_str!("golden/hs.json")),
    ("hs_extremes", include_str!("golden/hs_extremes.json")),
    ("height", include_str!("golden/height.json")),
    ("frlle", include_str!("golden/frlle.json")),
];

/// Fields that are input, not expectation; changing them need not make a mismatch.
const INPUTS: [&str; 17] = [
    "format",
    "name",
    "note",
    "uids",
    "worst_uids",
    "best_uids",
    "nodes",
    "edges",
    "leaders",
    "initial_heights",
    "event",
    "mode",
    "ring",
    "lc",
    "failed",
    "detect",
    "responses",
];

const HIERARCHY: [(&str, &str); 18] = [
    ("01", include_str!("golden/hierarchy/01_pair_k1.json")),
    ("03 burst", include_str!("golden/hierarchy/03_peer_network2_burst.json")),
    ("03 dfs", include_str!("golden/hierarchy/03_peer_network2_dfs.json")),
    ("03 uniform", include_str!("golden/hierarchy/03_peer_network2_uniform.json")),
    ("04", include_str!("golden/hierarchy/04_line8_k2.json")),
    ("06", include_str!("golden/hierarchy/06_grid9_k1_fitness.json")),
    ("07", include_str!("golden/hierarchy/07_star_leaf_leader.json")),
    ("09", include_str!("golden/hierarchy/09_head_crash.json")),
    ("10", include_str!("golden/hierarchy/10_oneway_flap.json")),
    ("12", include_str!("golden/hierarchy/12_three_levels_line13.json")),
    ("13", include_str!("golden/hierarchy/13_three_levels_grid16.json")),
    ("20", include_str!("golden/hierarchy/20_rgg11_k1.json")),
    ("21", include_str!("golden/hierarchy/21_rgg6_k2.json")),
    ("23", include_str!("golden/hierarchy/23_rgg6_k5.json")),
    ("24", include_str!("golden/hierarchy/24_rgg13_k1_2.json")),
    ("26", include_str!("golden/hierarchy/26_rgg7_k1_2_4.json")),
    ("27", include_str!("golden/hierarchy/27_rgg11_k15.json")),
    ("structures", include_str!("golden/hierarchy/structure_cases.json")),
];

fn replay(text: &str) -> Report {
    replay_text(text).unwrap_or_else(|error| panic!("{error:#}"))
}

fn refusal(value: &Value) -> String {
    format!("{:#}", replay_text(&value.to_string()).expect_err("this file is malformed"))
}

#[test]
fn every_shown_vector_matches() {
    for (name, text) in FILES {
        let report = replay(text);
        assert!(report.cases.len() >= 26, "{name} has only {} cases", report.cases.len());
        let wrong: Vec<_> = report.cases.iter().filter(|case| case.mismatch.is_some()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}

#[test]
fn every_shown_vector_of_the_hierarchy_matches() {
    for (name, text) in HIERARCHY {
        let report = replay(text);
        let wrong: Vec<_> = report.cases.iter().filter(|case| case.mismatch.is_some()).collect();
        assert!(!report.cases.is_empty() && wrong.is_empty(), "{name}: {wrong:?}");
    }
}

#[test]
fn there_are_as_many_vectors_as_the_results_say() {
    let cases: usize = FILES.iter().chain(&HIERARCHY).map(|(_, text)| replay(text).cases.len()).sum();
    let results = include_str!("../../docs/results.md");
    assert!(results.contains(&format!("| {cases} cases, no mismatch |")), "{cases}");
}

#[test]
fn a_step_that_is_not_quiescent_is_taken_as_given() {
    // The link goes down at one end, which is alone now, sends nothing, and leads itself. Nothing is in flight, and still the
    // other end has yet to notice.
    let state = |id: u16, clock: u32, neighbours: &[u16]| {
        json!({ "id": id, "clock": clock, "height": [0, 0, 0, 0, 0, id], "leader": id, "next_hop": id,
            "neighbours": neighbours, "fitness": 0, "levels": [{ "head": id, "head_fitness": 0, "dist": 0, "parent": id }] })
    };
    let step = |quiescent: bool, height: i64| {
        let mut alone = state(1, 2, &[]);
        alone["height"] = json!([0, 0, 0, 0, height, 1]);
        json!({ "name": "one-ended", "queue": "latest", "K": [2], "nodes": [{ "id": 1, "fitness": 0 }, { "id": 2, "fitness": 0 }],
            "steps": [{ "events": [["up", 1, 2], ["down", 1, 2]], "quiescent": quiescent,
                "expect": { "sent": 1, "delivered": 0, "nodes": [alone, state(2, 0, &[])], "components": [] } }] })
    };
    let verdict = |case: &Value| replay(&case.to_string()).cases.remove(0).mismatch;
    assert_eq!(verdict(&step(false, -2)), None);
    assert_eq!(verdict(&step(true, -2)).map(|mismatch| mismatch.field), Some("components".to_owned()));
    assert!(verdict(&step(false, -9)).is_some(), "what the nodes know is compared all the same");
}

#[test]
fn a_change_of_any_expected_value_of_the_hierarchy_is_noticed() {
    let mut rng = Rng::new(2);
    for (name, text) in HIERARCHY {
        let golden: Value = serde_json::from_str(text).unwrap();
        let mut paths = Vec::new();
        expectations(&golden, "", &mut paths);
        // Components are compared only where no message is in flight; K is an input; a node is named by its id.
        let expected = |path: &String| {
            path.contains("/expect/")
                && !path.ends_with("/id")
                && (!path.contains("/components/") || text.matches("\"quiescent\": false").count() == 0)
        };
        paths.retain(expected);
        for _ in 0..25 {
            let path = &paths[rng.below(u32::try_from(paths.len()).unwrap()) as usize];
            let mut changed = golden.clone();
            let field = changed.pointer_mut(path).unwrap();
            *field = if field.is_null() {
                json!({ "head": 1, "head_fitness": 0, "dist": 0, "parent": 1 })
            } else {
                altered(field)
            };
            match replay_text(&changed.to_string()) {
                Ok(report) => assert_eq!(report.mismatches(), 1, "{name}{path} went unnoticed"),
                // A number that no longer fits its field is refused, which counts as noticed.
                Err(error) => assert!(format!("{error:#}").contains("expected u8"), "{name}{path}: {error:#}"),
            }
        }
    }
}

/// The paths of all expected values below `value`.
fn expectations(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                // A scenario's own clock is its kind, a step's is a time.
                let is_clock_kind = name == "clock" && field.is_string();
                let is_input = INPUTS.contains(&name.as_str()) && !path.contains("/expect");
                if !is_input && !is_clock_kind && name != "n" {
                    expectations(field, &format!("{path}/{name}"), found);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                expectations(item, &format!("{path}/{at}"), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

/// The paths of everything below `value`, inputs included.
fn paths_in(value: &Value, path: &str, found: &mut Vec<String>) {
    let mut below = |name: &str, inner: &Value| {
        let path = format!("{path}/{name}");
        paths_in(inner, &path, found);
        found.push(path);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| below(name, field)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| below(&at.to_string(), item)),
        _ => {}
    }
}

/// Whatever a file contains, it is replayed or refused; a panic would fail this test.
#[test]
fn nonsense_anywhere_is_replayed_or_refused_with_its_place() {
    let nonsense = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(17),
        json!(65_535),
        json!(65_536),
        json!(u64::MAX),
        json!(1.5),
        json!(""),
        json!("deliver"),
        json!([]),
        json!([1]),
        json!([[1, 2], [2, 1]]),
        json!({}),
    ];
    let mut rng = Rng::new(3);
    let mut pick = |count: usize| rng.below(u32::try_from(count).unwrap()) as usize;
    let mut refused = 0;
    for (name, text) in FILES.into_iter().chain(HIERARCHY) {
        let golden: Value = serde_json::from_str(text).unwrap();
        let mut paths = Vec::new();
        paths_in(&golden, "", &mut paths);
        for _ in 0..20 {
            let path = &paths[pick(paths.len())];
            let mut changed = golden.clone();
            *changed.pointer_mut(path).unwrap() = nonsense[pick(nonsense.len())].clone();
            if let Err(error) = replay_text(&changed.to_string()) {
                let message = format!("{error:#}");
                let field = path.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap();
                let is_placed = message.contains(field) || message.contains('[') || message.contains("format");
                assert!(is_placed, "{name}{path}: {message}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "only {refused} were refused");
}

fn altered(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => json!(!flag),
        Value::Number(number) => json!(number.as_i64().expect("golden files hold integers") + 1),
        Value::String(_) => json!("something else"),
        _ => json!(true),
    }
}

#[test]
fn a_change_of_any_expected_value_is_noticed() {
    let mut rng = Rng::new(1);
    for (name, text) in FILES {
        let golden: Value = serde_json::from_str(text).unwrap();
        let (list, cases) =
            golden.as_object().unwrap().iter().find(|(_, field)| field.is_array()).expect("a list of cases");
        for (at, case) in cases.as_array().unwrap().iter().enumerate() {
            let mut paths = Vec::new();
            expectations(case, "", &mut paths);
            for _ in 0..12 {
                let path = &paths[rng.below(u32::try_from(paths.len()).unwrap()) as usize];
                let mut changed = case.clone();
                let field = changed.pointer_mut(path).unwrap();
                *field = altered(field);
                let file = json!({ "format": golden["format"], list.as_str(): [changed] });
                match replay_text(&file.to_string()) {
                    Ok(report) => assert_eq!(report.mismatches(), 1, "{name}[{at}]{path} went unnoticed"),
                    Err(error) => panic!("{name}[{at}]{path}: {error:#}"),
                }
            }
        }
    }
}

#[test]
fn a_mismatch_says_where_and_what() {
    let (_, text) = FILES[2];
    let mut golden: Value = serde_json::from_str(text).unwrap();
    golden["scenarios"][0]["steps"][3]["clock"] = json!(99);
    let report = replay(&golden.to_string());
    let mismatch = report.cases[0].mismatch.as_ref().unwrap();
    assert_eq!((mismatch.step, mismatch.field.as_str(), mismatch.expected.as_str()), (Some(4), "clock", "99"));
    assert_eq!(report.mismatches(), 1);
}

#[test]
fn a_malformed_file_names_the_place() {
    let wrong = replay_text("{\"format\": \"hs-golden-1\", \"cases\": [").unwrap_err();
    assert!(format!("{wrong:#}").contains("line 1 column"), "{wrong:#}");
    assert!(refusal(&json!({ "cases": [] })).contains("format"));
    assert!(refusal(&json!({ "format": "hs-golden-9" })).contains("hs-golden-9"));
    let case = |uids: Value| {
        json!({ "format": "hs-golden-1", "cases": [{ "name": "x", "uids": uids, "leader": 1, "phases": [],
            "election_messages": 0, "announce_messages": 0, "total_messages": 0, "rounds_election": 0, "rounds_total": 0 }] })
    };
    assert!(refusal(&case(json!([1, "two"]))).contains("cases[0].uids[1]"));
    assert!(refusal(&case(json!([3, 4, 3]))).contains("cases[0].uids: [2]: uid 3"));
    assert!(refusal(&case(json!([]))).contains("cases[0].uids"));
    let mut missing = case(json!([1]));
    missing["cases"][0].as_object_mut().unwrap().remove("leader");
    let message = refusal(&missing);
    assert!(message.contains("cases[0]") && message.contains("leader"), "{message}");
}

#[test]
fn impossible_events_are_refused_with_their_step() {
    let (_, text) = FILES[2];
    let golden: Value = serde_json::from_str(text).unwrap();
    let with_event = |event: Value| {
        let mut changed = golden.clone();
        changed["scenarios"][0]["steps"][0]["event"] = event;
        refusal(&changed)
    };
    for (event, complaint) in [
        (json!(["deliver", 1, 2]), "holds no message"),
        (json!(["up", 7, 8]), "is already up"),
        (json!(["down", 1, 8]), "is already down"),
        (json!(["down", 1, 77]), "no node 77"),
    ] {
        let message = with_event(event);
        assert!(message.contains("steps[0].event") && message.contains(complaint), "{message}");
    }
    assert!(with_event(json!(["sideways", 1, 2])).contains("scenarios[0].steps[0].event"));
}

#[test]
fn nonsense_frlle_rings_are_refused() {
    let (_, text) = FILES[3];
    let golden: Value = serde_json::from_str(text).unwrap();
    let with = |field: &str, value: Value| {
        let mut changed = golden.clone();
        changed["scenarios"][1][field] = value;
        refusal(&changed)
    };
    assert!(with("detect", json!([[0, 555]])).contains("scenarios[1].detect[0]: node 555"));
    assert!(with("lc", json!([1, 2])).contains("scenarios[1].lc"));
    assert!(with("ring", json!([1])).contains("scenarios[1].ring"));
    assert!(with("mode", json!("both")).contains("scenarios[1].mode"));
}
