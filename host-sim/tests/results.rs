//! The summaries in README.md, docs/results.md and docs/results are made again here, as far as they are counts and quick to
//! make: what is printed there is what the code does.

use std::path::Path;
use std::process::Command;

use common::causal_clock::ClockKind;
use common::layout::{LAYOUT, NODE, Row as Layout};
use host_sim::lab::bench::air_bench::{Model, measure as measure_air};
use host_sim::lab::bench::elections::{Row, cases};
use host_sim::lab::study::change::{Change, Schedule};
use host_sim::lab::study::stats::Group;
use host_sim::lab::study::{Request, Rules, measure};
use host_sim::lab::table::measure_all;
use sim::scenario::report::shard::Seeds;

const README: &str = "README.md";
const RESULTS: &str = "docs/results.md";
const AIR: &str = "docs/results/air.md";
const CORE: &str = "docs/results/core.md";
const FAILOVER: &str = "docs/results/failover.md";

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).expect("a page of the project")
}

/// The words of a row of a table, without the grid and without the commas in large numbers.
fn words(row: &str) -> Vec<String> {
    let digits = |at: usize| row[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let plain = row.char_indices().filter(|&(at, c)| c != '|' && !(c == ',' && digits(at))).map(|(_, c)| c);
    plain.collect::<String>().split_whitespace().map(str::to_owned).collect()
}

/// The rows below the heading of a section, without heads and rules of tables, cell by cell.
fn rows(page: &str, section: &str) -> Vec<Vec<String>> {
    let (_, below) = page.split_once(&format!("## {section}\n")).expect("a section");
    let lines: Vec<&str> = below.lines().take_while(|line| !line.starts_with('#')).collect();
    let is_rule = |line: &str| line.starts_with("|---");
    let body = lines.windows(2).filter(|pair| pair[0].starts_with('|') && !is_rule(pair[0]) && !is_rule(pair[1]));
    body.map(|pair| pair[0].trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// A row must begin with these words in the page of this name, whatever its columns' widths.
fn must_stand(name: &str, row: &str, command: &str) {
    let wanted = words(row);
    let stands = page(name).lines().any(|line| words(line).starts_with(&wanted));
    assert!(stands, "{name} is out of date: it has no row\n  {row}\nas `{command}` prints it");
}

#[test]
fn the_bytes_of_states_and_messages_are_as_printed() {
    for Layout { name, state, encoded_max, message, engine } in LAYOUT {
        must_stand(CORE, &format!("{name} {state} {encoded_max} {message} {engine}"), "ringleader bench core");
    }
}

#[test]
fn the_rows_that_are_not_as_biswas_et_al_print_them_are_listed_and_no_others() {
    let rows = measure_all(|_| ()).expect("every election ends");
    let differ: Vec<_> = rows.iter().filter(|row| row.n == 100 && !(row.messages_equal && row.steps_equal)).collect();
    for row in &differ {
        let costs = format!(
            "{} {} {} / {} {} / {}",
            row.algorithm.title(),
            row.case.name(),
            row.measured_messages,
            row.formula_messages,
            row.measured_steps,
            row.formula_steps
        );
        must_stand(RESULTS, &costs, "ringleader table");
    }
    let page = page(RESULTS);
    let listed = page.lines().skip_while(|line| !line.starts_with("| algorithm | case |")).skip(2);
    assert_eq!(
        listed.take_while(|line| line.starts_with('|')).count(),
        differ.len(),
        "a row of {RESULTS} is as printed now"
    );
}

#[test]
fn the_air_hands_out_as_many_frames_as_are_printed() {
    let air = measure_air(100, 60, 20.0, Model::Usual, Model::Usual.noise_dbm(), 1);
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    let a_reception = |count: u64| count as f64 / air.received as f64;
    let ratios = format!("{:.2} {:.2}", a_reception(air.arrivals), a_reception(air.in_range));
    let page = page(AIR);
    let row = page.lines().map(words).find(|row| row.starts_with(&words("100 × 60"))).expect("a row of 100 nodes");
    // Between these counts stand times, which depend on the machine.
    let counts = [&row[3..4], &row[6..8]].concat().join(" ");
    assert_eq!(
        counts,
        format!("{} {ratios}", air.received),
        "{AIR} is out of date; `ringleader bench air` prints this"
    );
}

#[test]
fn the_cost_of_a_lost_leader_is_as_printed() {
    let request = Request {
        seeds: 50,
        sizes: vec![100],
        graph: Vec::new(),
        change: vec![Change::LeaderLost],
        seed: 1,
        rules: Rules::Published,
    };
    let groups = measure(&request, |_, _, _| ()).expect("every run ends");
    let cells = groups.iter().map(Group::cell);
    let shown: Vec<_> = cells
        .filter(|cell| cell.case.clock == ClockKind::Lamport && cell.case.schedule == Schedule::Synchronous)
        .collect();
    assert_eq!(shown.len(), 5, "five kinds of graph");
    for cell in shown {
        let (rounds, agreed) = (cell.rounds.expect("synchronous"), cell.agreed.expect("synchronous"));
        let row = format!(
            "{} {:.0} {:.1} {:.1} ({}) {:.1} ({}) {:.2}",
            cell.case.graph.name(),
            cell.links.mean,
            cell.diameter.mean,
            cell.messages.mean,
            cell.messages.max,
            rounds.mean,
            rounds.max,
            agreed.mean / (3.0 * cell.diameter.mean)
        );
        must_stand(RESULTS, &row, "ringleader study --sizes 100 --change leader-lost --seeds 50");
    }
}

#[test]
fn elections_on_small_rings_take_what_is_printed() {
    let small = cases().expect("the cases are scenarios").into_iter().filter(|case| case.name.starts_with("ring8,"));
    let rows: Vec<Row> = small.map(|case| Row::measure(&case, Seeds { from: 0, to: 50 }, 2)).collect();
    assert_eq!(rows.len(), 3, "no loss, 10 and 20 %");
    for row in rows {
        must_stand(FAILOVER, &row.line(), "ringleader bench elections --seeds 50 --only ring8");
    }
}

#[test]
fn the_readme_shows_what_the_demo_shows() {
    let output = Command::new(env!("CARGO_BIN_EXE_ringleader")).output().expect("it starts");
    let demo = String::from_utf8(output.stdout).expect("text");
    let readme = page(README);
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a picture");
    assert!(demo.contains(shown.trim_end()), "{README} shows\n{shown}\nwhich `ringleader` does not print:\n{demo}");
}

#[test]
fn a_node_takes_as_many_bytes_as_are_printed() {
    let bytes = format!("{},{:03} bytes", NODE / 1_000, NODE % 1_000);
    for name in [README, RESULTS] {
        let text = page(name).replace('\n', " ");
        assert!(text.contains(&bytes), "{name} does not say that a node takes {bytes}");
    }
}

#[test]
fn the_readme_tells_no_result_that_the_results_do_not() {
    let told = rows(&page(README), "Results");
    assert!(told.len() > 12, "{told:?}");
    for row in told {
        must_stand(RESULTS, &row.join(" "), "what the row names");
    }
}

#[test]
fn a_goal_of_failover_is_met_where_the_page_says_so() {
    let rows = rows(&page(RESULTS), "Failover");
    assert_eq!(rows.len(), 7, "{rows:?}");
    for row in rows {
        let [network, total, goal, verdict, _] = row.as_slice() else { panic!("{row:?}") };
        let p99: f64 = total.rsplit(' ').next().and_then(|p99| p99.parse().ok()).expect("p50 / p99");
        let over = p99 - goal.parse::<f64>().expect("seconds");
        let should = if over > 0.0 { format!("missed by {over:.2}") } else { "met".to_owned() };
        assert_eq!(*verdict, should, "{network}");
    }
}

#[test]
fn failed_elections_are_counted_from_the_table_of_networks() {
    let networks = rows(&page(FAILOVER), "Network by network");
    let failed: u32 = networks.iter().map(|row| row[1].parse::<u32>().expect("a count")).sum();
    assert_eq!(networks.len(), 24);
    let count = format!("{failed} of 1,200");
    assert!(rows(&page(RESULTS), "At a glance").iter().any(|row| row[1] == count), "{RESULTS} does not say {count}");
}

#[test]
fn the_budget_of_images_is_the_one_that_is_checked() {
    let (checks, results) = (page(".ci/run"), page(RESULTS));
    let value = |name: &str| {
        let line = checks.lines().find_map(|line| line.strip_prefix(&format!("readonly {name}=")));
        line.expect("a budget").to_owned()
    };
    let command =
        format!("ringleader size --all-boards --max-flash {} --max-ram {}", value("FLASH_MAX"), value("RAM_MAX"));
    assert!(results.contains(&command), "{RESULTS} does not show `{command}`");
    let image = results.lines().find(|line| line.starts_with("nrf52840-dk  ")).map(words).expect("the image");
    let glance =
        rows(&results, "At a glance").into_iter().find(|row| row[0].starts_with("The image of the nRF52840-DK"));
    let told = glance.map(|row| words(&row[1])).expect("a row");
    assert_eq!(told[0], image[1], "flash of the nRF52840-DK");
}
