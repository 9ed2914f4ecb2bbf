//! Readings that reach a leader over the air, from simulated nodes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use gateway::source::Source;
use gateway::source::simulated::{Pace, Simulated};
use gateway::spool::Spool;
use host_sim::field::utc::Utc;
use sim::scenario::input::read::read;
use sim::scenario::run::drive;

use super::support::{PATIENCE, folder};

/// The leader dies and comes back, and another node restarts.
const SCENARIO: &str = r#"name = "orchard"
duration = "100 s"
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
[[fault]]
kind = "crash"
who = "leader"
at = "30 s"
for = "20 s"
[[fault]]
kind = "restart"
nodes = [3]
at = "60 s"
"#;

fn gateway(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader-gateway"));
    command.args(args.split_whitespace()).current_dir(folder).output().unwrap()
}

#[test]
fn what_leaders_log_is_in_the_database_once() {
    let folder = folder("collected");
    std::fs::write(folder.join("orchard.toml"), SCENARIO).unwrap();
    let began = Utc::now();
    let args = "--scenario orchard.toml --fast --db a.sqlite --csv a.csv --jsonl a.jsonl";
    let output = gateway(&folder, args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let scenario = read("orchard.toml", SCENARIO).unwrap();
    let collected = drive::run(&scenario, scenario.seed).collect.unwrap();
    assert!(collected.committed > 300, "{collected:?}");
    let spool = Spool::open(&folder.join("a.sqlite")).unwrap();
    let rows = spool.after(0, 100_000).unwrap();
    assert_eq!(rows.len() as u64, collected.committed * 2, "two quantities of each sample that is in a log");
    let nodes: BTreeSet<u16> = rows.iter().map(|row| row.reading.key.node).collect();
    assert_eq!(nodes, (1..=9).collect());
    let end = began.after_us(scenario.duration_us + 60_000_000);
    for row in &rows {
        let reading = &row.reading;
        assert_eq!(reading.key.network, "orchard");
        assert!(!reading.is_known || (began..end).contains(&reading.time), "{reading:?}");
        let is_sound = match reading.quantity.as_str() {
            "die_temperature" => reading.unit == "°C" && (21.0..22.0).contains(&reading.value),
            "humidity" => reading.unit == "%",
            _ => false,
        };
        assert!(is_sound, "{reading:?}");
    }
    // A node's samples are two seconds apart, and so are the times that they get.
    let of_one: Vec<i64> = rows
        .iter()
        .map(|row| &row.reading)
        .filter(|one| one.key.node == 1 && one.key.epoch == 1 && one.quantity == "humidity" && one.is_known)
        .map(|one| one.time.0)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    assert!(of_one.len() > 10);
    for pair in of_one.windows(2) {
        let apart = pair[1] - pair[0];
        assert!((apart - 2_000_000).abs() < 50_000, "{apart} us apart");
    }
    for (file, headers) in [("a.csv", 1), ("a.jsonl", 0)] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(text.lines().count(), rows.len() + headers, "{file}");
    }

    // The same readings again are not stored again.
    let again = gateway(&folder, args);
    let said = String::from_utf8(again.stdout).unwrap();
    assert!(said.starts_with("0 readings stored") && said.contains("had been stored before"), "{said}");
    assert_eq!(spool.after(0, 100_000).unwrap().len(), rows.len());
}

#[test]
fn a_leader_commits_nothing_before_it_is_told() {
    let scenario = read("orchard.toml", SCENARIO).unwrap();
    let pace = Pace { seed: scenario.seed, is_fast: true };
    let mut source = Simulated::start(scenario, Some("garden".into()), pace).unwrap();
    let first = source.read(PATIENCE).unwrap();
    assert!(!first.is_empty() && source.is_waiting());
    // However long one asks, the network waits.
    assert!(source.read(Duration::from_millis(1)).unwrap().is_empty() && source.is_waiting());
    source.committed(&first).unwrap();
    let second = source.read(PATIENCE).unwrap();
    assert_ne!(first.readings[0].key, second.readings[0].key);
}

#[test]
fn what_was_overwritten_before_anybody_had_it_is_on_record() {
    let folder = folder("gaps");
    let cut_off = "[[fault]]\nkind = \"crash\"\nnodes = [2, 3]\nat = \"5 s\"\nfor = \"900 s\"\n";
    let text = format!(
        "name = \"gaps\"\nduration = \"1100 s\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"15 m\"\n\
         [radio]\nmodel = \"plain\"\n[collect]\nevery = \"10 s\"\nsample = \"5 s\"\nstore = 40\nfrom = [1]\n{cut_off}"
    );
    std::fs::write(folder.join("gaps.toml"), text).unwrap();
    let output = gateway(&folder, "--scenario gaps.toml --fast --db a.sqlite");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let gaps = Spool::open(&folder.join("a.sqlite")).unwrap().gaps().unwrap();
    assert!(gaps.iter().all(|gap| gap.node == 1 && gap.first < gap.end) && !gaps.is_empty(), "{gaps:?}");
    assert!(said.contains("node 1 has overwritten blocks"), "{said}");
}

#[test]
fn a_database_of_the_version_before_is_brought_up_to_date() {
    let folder = folder("version");
    let path = folder.join("a.sqlite");
    drop(Spool::open(&path).unwrap());
    let database = rusqlite::Connection::open(&path).unwrap();
    let back = "ALTER TABLE readings DROP COLUMN time_known; DROP TABLE gaps; PRAGMA user_version = 1; \
                INSERT INTO readings (network, node, device, epoch, seq, quantity, value, unit, time_us) \
                VALUES ('garden', 5, 1, 1, 1, 'supply', 3.0, 'V', 1)";
    database.execute_batch(back).unwrap();
    drop(database);
    let spool = Spool::open(&path).unwrap();
    assert!(spool.after(0, 10).unwrap()[0].reading.is_known && spool.gaps().unwrap().is_empty());
}

#[test]
fn scenarios_that_do_not_fit_are_told() {
    let folder = folder("unfit");
    for (args, expected) in [
        ("--scenario boards5 --fast --db a.sqlite", "--fast is for simulated nodes"),
        ("--scenario collect61 --db a.sqlite", "did you mean \"collect16\"?"),
    ] {
        let output = gateway(&folder, args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains(expected), "{args}: {said}");
    }
}
