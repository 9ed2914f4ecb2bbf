//! The cost tables: every printed value that holds, every one that does not, and the machine-readable output.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use common::election::Algorithm;
use host_sim::lab::table::{Case, Row, SIZES, measure_all};
use serde_json::Value;

/// A cost in terms of the number of nodes.
type Cost = fn(u64) -> u64;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| measure_all(|_| ()).expect("every election ends"));

/// One value of a row for each of the ten sizes, in order.
fn over_sizes(algorithm: Algorithm, case: Case, what: fn(&Row) -> u64) -> Vec<u64> {
    let mine = ROWS.iter().filter(|row| row.algorithm == algorithm && row.case == case);
    let (sizes, values): (Vec<u16>, Vec<u64>) = mine.map(|row| (row.n, what(row))).unzip();
    assert_eq!(sizes, SIZES);
    values
}

fn at_sizes(formula: Cost) -> Vec<u64> {
    SIZES.iter().map(|&n| formula(n.into())).collect()
}

fn messages(row: &Row) -> u64 {
    row.measured_messages
}

fn steps(row: &Row) -> u64 {
    row.measured_steps
}

#[test]
fn hs_costs_its_exact_worst_and_best() {
    let worst = over_sizes(Algorithm::Hs, Case::Worst, messages);
    assert_eq!(worst, [162, 408, 612, 984, 1206, 1476, 2062, 2304, 2596, 2896]);
    let best = over_sizes(Algorithm::Hs, Case::Best, messages);
    assert_eq!(best, at_sizes(|n| 4 * (n.next_power_of_two() - 1) + 3 * n));
    for case in Case::ALL {
        let rounds = over_sizes(Algorithm::Hs, case, steps);
        assert_eq!(rounds, at_sizes(|n| 2 * n.next_power_of_two() - 2 + 2 * n));
    }
}

#[test]
fn what_the_tables_print_for_ring_lcr_timer_based_and_bully_holds() {
    let formulas: [(Algorithm, Case, Cost, Cost); 8] = [
        (Algorithm::Ring, Case::Best, |n| 2 * n, |n| 2 * n),
        (Algorithm::Ring, Case::Worst, |n| 2 * n * n, |n| 2 * n),
        (Algorithm::Lcr, Case::Best, |n| 2 * n, |n| 2 * n),
        (Algorithm::Lcr, Case::Worst, |n| n * (n + 3) / 2, |n| 3 * n - 1),
        (Algorithm::TimerBased, Case::Best, |n| n, |n| n),
        (Algorithm::TimerBased, Case::Worst, |n| n * (n + 1) / 2, |n| n),
        (Algorithm::Bully, Case::Best, |n| n, |_| 3),
        (Algorithm::Bully, Case::Worst, |n| n * n + n - 1, |_| 5),
    ];
    for (algorithm, case, expected_messages, expected_steps) in formulas {
        assert_eq!(over_sizes(algorithm, case, messages), at_sizes(expected_messages), "{algorithm:?} {case:?}");
        assert_eq!(over_sizes(algorithm, case, steps), at_sizes(expected_steps), "{algorithm:?} {case:?}");
    }
}

#[test]
fn the_readings_of_what_the_tables_do_not_define_cost_what_they_must() {
    assert_eq!(over_sizes(Algorithm::ModifiedBully, Case::Best, messages), at_sizes(|n| n));
    assert_eq!(over_sizes(Algorithm::ModifiedBully, Case::Best, steps), at_sizes(|_| 3));
    assert_eq!(over_sizes(Algorithm::ModifiedBully, Case::Worst, messages), at_sizes(|n| n * n + 2 * n - 2));
    assert_eq!(over_sizes(Algorithm::ModifiedBully, Case::Worst, steps), at_sizes(|_| 4));
    for case in Case::ALL {
        assert_eq!(over_sizes(Algorithm::Abraham, case, messages), at_sizes(|n| n * n + n));
    }
    assert_eq!(over_sizes(Algorithm::Abraham, Case::Best, steps), at_sizes(|n| 2 * n));
    assert_eq!(over_sizes(Algorithm::Abraham, Case::Worst, steps), at_sizes(|n| 3 * n - 1));
}

#[test]
fn frlle_sends_what_is_printed_and_takes_half_as_long_again() {
    assert_eq!(over_sizes(Algorithm::Frlle, Case::Best, messages), [4; 10]);
    assert_eq!(over_sizes(Algorithm::Frlle, Case::Best, steps), [2; 10]);
    assert_eq!(over_sizes(Algorithm::Frlle, Case::Worst, messages), at_sizes(|n| (n * n + 14 * n - 8) / 4));
    assert_eq!(over_sizes(Algorithm::Frlle, Case::Worst, steps), at_sizes(|n| 3 * n / 2));
    let ten = ROWS.iter().find(|row| row.algorithm == Algorithm::Frlle && row.case == Case::Worst && row.n == 10);
    let reason = &ten.expect("a row for N = 10").reason;
    assert!(
        reason.contains("58 messages are not the maximum") && reason.contains("62 are sent when all but"),
        "{reason}"
    );
}

#[test]
fn a_row_is_equal_exactly_when_its_numbers_are_and_explained_when_not() {
    for row in ROWS.iter() {
        assert_eq!(row.messages_equal, row.measured_messages == row.formula_messages, "{row:?}");
        assert_eq!(row.steps_equal, row.measured_steps == row.formula_steps, "{row:?}");
        assert_eq!(row.reason.contains("Messages: "), !row.messages_equal, "{row:?}");
        assert_eq!(row.reason.contains("Steps: "), !row.steps_equal, "{row:?}");
    }
}

fn ringleader(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ringleader")).args(args).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn json_has_one_object_for_each_algorithm_case_and_size() {
    let json: Value = serde_json::from_str(&ringleader(&["table", "--json"])).expect("JSON");
    let objects = json.as_array().expect("an array");
    assert_eq!(objects.len(), 8 * 2 * 10);
    let key = |object: &Value| (object["algorithm"].to_string(), object["case"].to_string(), object["n"].as_u64());
    let keys: BTreeSet<_> = objects.iter().map(key).collect();
    assert_eq!(keys.len(), objects.len(), "no combination twice");
    for object in objects {
        assert!(Algorithm::ALL.iter().any(|algorithm| object["algorithm"] == algorithm.title()), "{object}");
        assert!(object["case"] == "best" || object["case"] == "worst", "{object}");
        for number in ["n", "measured_messages", "formula_messages", "measured_steps", "formula_steps"] {
            assert!(object[number].as_u64().is_some_and(|value| value > 0), "{number} of {object}");
        }
        for flag in ["messages_equal", "steps_equal"] {
            assert!(object[flag].is_boolean(), "{flag} of {object}");
        }
        for text in ["scenario_messages", "scenario_steps"] {
            assert!(object[text].as_str().is_some_and(|text| !text.is_empty()), "{text} of {object}");
        }
        assert!(object["reason"].is_string(), "{object}");
    }
}

#[test]
fn the_text_names_the_crossover_and_is_what_the_results_show() {
    let text = ringleader(&["table"]);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("HS costs more up to N = 103. By their own formulas"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 140), "{text}");
    let results = std::fs::read_to_string(docs().join("results/tables.md")).expect("the results");
    assert!(results.contains(&text), "docs/results/tables.md is out of date: paste what `ringleader table` prints");
}

#[test]
fn the_figures_name_every_algorithm_and_are_those_of_the_results() {
    let dir = std::env::temp_dir().join(format!("ringleader-table-{}", std::process::id()));
    ringleader(&["table", "--json", "--svg", &dir.display().to_string()]);
    for figure in ["fig-3-4a.svg", "fig-3-4b.svg", "fig-3-5a.svg", "fig-3-5b.svg"] {
        let svg = std::fs::read_to_string(dir.join(figure)).expect("a figure");
        let missing = ROWS.iter().find(|row| !svg.contains(row.algorithm.title()));
        assert!(missing.is_none(), "{missing:?} in {figure}");
        let shown = std::fs::read_to_string(docs().join("figures").join(figure)).expect("a figure");
        assert!(svg == shown, "{figure} is out of date: run `ringleader table --svg docs/figures`");
    }
    std::fs::remove_dir_all(&dir).expect("the directory is ours");
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}
