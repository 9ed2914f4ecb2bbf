//! From a recorded field to a scenario: links, calibration, replay, and recordings of several laptops as one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sim::air::trace::{Event, Record};

use crate::program::ringleader;

fn folder(name: &str) -> PathBuf {
    crate::program::folder("replay", name)
}

fn ok(folder: &Path, args: &str) -> String {
    let output = ringleader(folder, args);
    assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn field(model: &str) -> String {
    format!(
        "name = \"field\"\nduration = \"45 s\"\n[topology]\nkind = \"grid\"\nnodes = 9\nspacing = \"18 m\"\n\
         [radio]\nmodel = \"{model}\"\n[protocol]\nkind = \"height\"\n\
         [[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat = \"20 s\"\n"
    )
}

const SKETCH: &str = "node,x,y\n1,0,0\n2,18,0\n3,36,0\n4,0,18\n5,18,18\n6,36,18\n7,0,36\n8,18,36\n9,36,36\n";

#[test]
fn measured_links_are_those_that_the_air_has() {
    let folder = folder("links");
    // Three nodes in a row whose ends do not hear each other, one direction weaker than the other.
    std::fs::write(folder.join("true.csv"), "from,to,loss_db\n1,2,70\n2,1,76.5\n2,3,80\n3,2,80\n").unwrap();
    let nodes = [1, 2, 3].map(|id| format!("[[node]]\nid = {id}\nat = [{id}, 0]\n")).concat();
    let text = format!(
        "name = \"t\"\nduration = \"60 s\"\n[protocol]\nkind = \"height\"\n[radio]\nmodel = \"table\"\nlinks = \"true.csv\"\n{nodes}"
    );
    std::fs::write(folder.join("t.toml"), text).unwrap();
    ok(&folder, "run t.toml --trace t.jsonl");
    let said = ok(&folder, "links t.jsonl --csv found.csv");
    assert!(said.contains("-70/") && said.lines().count() == 5, "{said}");
    let found = std::fs::read_to_string(folder.join("found.csv")).unwrap();
    let rows: Vec<&str> = found.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows[0], "from,to,loss_db");
    let losses: Vec<f64> = rows[1..].iter().map(|row| row.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert_eq!(losses.len(), 4, "{found}");
    for (found, expected) in losses.iter().zip([70.0, 76.5, 80.0, 80.0]) {
        assert!((found - expected).abs() <= 0.6, "{found} for {expected}");
    }
}

#[test]
fn links_that_change_are_replayed_as_they_changed() {
    let folder = folder("changes");
    // From 40 s on, the only way between 1 and 2 leads over 3.
    let table = "seconds,from,to,loss_db\n0,1,2,70\n0,2,1,70\n0,2,3,75\n0,3,2,75\n0,1,3,78\n0,3,1,78\n\
                 40,1,2,125\n40,2,1,125\n60,2,3,84\n";
    std::fs::write(folder.join("true.csv"), table).unwrap();
    let nodes = [1, 2, 3].map(|id| format!("[[node]]\nid = {id}\nat = [{id}, 0]\n")).concat();
    let text = format!(
        "name = \"t\"\nduration = \"100 s\"\n[protocol]\nkind = \"height\"\n[radio]\nmodel = \"table\"\nlinks = \"true.csv\"\n{nodes}"
    );
    std::fs::write(folder.join("t.toml"), text).unwrap();
    let outcome: serde_json::Value = serde_json::from_str(&ok(&folder, "run t.toml --json --trace t.jsonl")).unwrap();
    let changes: Vec<&str> =
        outcome["changes"].as_array().unwrap().iter().map(|change| change["what"].as_str().unwrap()).collect();
    assert_eq!(changes, ["start", "link 1-2 gone"], "a link that only gets weaker changes nothing");
    ok(&folder, "replay t.jsonl --out again.toml");
    let found = std::fs::read_to_string(folder.join("again.csv")).unwrap();
    // The time and the loss of every row of a link.
    let of = |link: &str| -> Vec<(&str, f64)> {
        let rows = found.lines().filter_map(|line| {
            let (seconds, rest) = line.split_once(',')?;
            Some((seconds, rest.strip_prefix(link)?.strip_prefix(',')?.parse().ok()?))
        });
        rows.collect()
    };
    assert!(matches!(of("1,2")[..], [("0", _), ("40", gone)] if gone > 105.0), "{found}");
    assert!(matches!(of("2,3")[..], [("0", _), ("60", weaker)] if (weaker - 84.0).abs() < 1.0), "{found}");
    assert!(matches!(of("3,1")[..], [("0", same)] if (same - 78.0).abs() < 1.0), "{found}");
    let again: serde_json::Value = serde_json::from_str(&ok(&folder, "run again.toml --json")).unwrap();
    assert_eq!(again["changes"][1]["what"], "link 1-2 gone", "{again}");
    for (bad, expected) in [
        ("0,1,2,70\n5,1,2\n", "true.csv:2: must be 4 numbers"),
        ("9,1,2,70\n5,1,2,71\n", "true.csv:2: the rows of a link must be in order of time"),
        ("5,1,2,70\n5,1,2,71\n", "true.csv:2: this link was listed before"),
    ] {
        std::fs::write(folder.join("true.csv"), bad).unwrap();
        let output = ringleader(&folder, "run t.toml");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
    }
}

#[test]
fn the_radio_of_a_field_is_calibrated() {
    let folder = folder("calibrate");
    std::fs::write(folder.join("sketch.csv"), SKETCH).unwrap();
    std::fs::write(folder.join("plain.toml"), field("plain")).unwrap();
    ok(&folder, "run plain.toml --trace plain.jsonl");
    let said = ok(&folder, "replay plain.jsonl --calibrate sketch.csv --report report.html");
    let number = |after: &str| -> f64 {
        let rest = said.split(after).nth(1).unwrap_or_else(|| panic!("{said}"));
        rest.split_whitespace().next().unwrap().trim_end_matches(',').parse().unwrap()
    };
    assert!((number("exponent ") - 3.0).abs() < 0.2, "{said}");
    assert!((number("loss at 1 m ") - 40.2).abs() < 2.0, "{said}");
    assert!(number("shadowing ") < 0.6, "there is none: {said}");
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("mean dBm") && !page.contains("src="), "one page, by itself");
    for (sketch, expected) in [("1,0,0\n2,x,0\n", "line 2"), ("1,0,0\n", "at least four links")] {
        std::fs::write(folder.join("bad.csv"), sketch).unwrap();
        let output = ringleader(&folder, "replay plain.jsonl --calibrate bad.csv");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
    }
}

#[test]
fn a_field_becomes_a_scenario_with_its_power_cuts() {
    let folder = folder("fields");
    std::fs::write(folder.join("field.toml"), field("usual")).unwrap();
    ok(&folder, "run field.toml --seed 3 --trace t.jsonl");
    ok(&folder, "replay t.jsonl --out again.toml");
    let text = std::fs::read_to_string(folder.join("again.toml")).unwrap();
    assert!(text.matches("kind = \"crash\"").count() == 1 && text.contains("jitter = \"1.5 dB\""), "{text}");
    ok(&folder, "run again.toml");
    let again = ringleader(&folder, "replay t.jsonl --out again.toml");
    assert!(String::from_utf8(again.stderr).unwrap().contains("looks like a scenario"), "it may be somebody's work");
}

#[test]
fn a_trace_without_frames_cannot_be_replayed() {
    let folder = folder("silent");
    std::fs::write(folder.join("a.jsonl"), "{\"time_us\":0,\"node\":0,\"event\":\"id\",\"id\":5}\n").unwrap();
    let output = ringleader(&folder, "replay a.jsonl --out b.toml");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("monitor --frames --record"), "{said}");
    assert!(!folder.join("b.toml").exists());
}

fn recording(utc: &str, chips: &[(&str, u16)], later: &str) -> String {
    let mut text = format!(
        "{{\"time_us\":0,\"node\":null,\"event\":\"recording\",\"utc\":\"{utc}\",\"program\":\"ringleader\"}}\n"
    );
    for (node, (chip, id)) in chips.iter().enumerate() {
        let _ = writeln!(text, "{{\"time_us\":1000,\"node\":{node},\"event\":\"id\",\"id\":{id}}}");
        let _ = writeln!(
            text,
            "{{\"time_us\":1000,\"node\":{node},\"event\":\"board\",\"network\":\"0x0007\",\"kind\":\"nrf52840-dk\",\
             \"chip\":\"{chip}\",\"build\":\"00\",\"epoch\":1}}"
        );
    }
    text + later
}

#[test]
fn recordings_of_several_laptops_are_joined_by_the_clock_on_the_wall() {
    let folder = folder("join");
    let reading = "{\"time_us\":2000000,\"node\":1,\"event\":\"reading\",\"quantity\":\"supply\",\"value\":2987,\
                   \"per_unit\":1000,\"unit\":\"V\"}\n";
    let north = recording("2026-11-18T09:30:00.000Z", &[("a", 5), ("b", 6)], reading);
    let heard = "{\"time_us\":500000,\"node\":1,\"event\":\"received\",\"from\":0,\"rssi_dbm\":-70}\n{\"time_us\":60";
    let south = recording("2026-11-18T09:30:01.000Z", &[("b", 6), ("c", 7)], heard);
    std::fs::write(folder.join("north.jsonl"), north).unwrap();
    std::fs::write(folder.join("south.jsonl"), south).unwrap();
    let output = ringleader(&folder, "join south.jsonl north.jsonl --out all.jsonl --csv all.csv");
    let warned = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && warned.contains("the last line is incomplete"), "{warned}");
    let text = std::fs::read_to_string(folder.join("all.jsonl")).unwrap();
    let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.iter().filter(|record| matches!(record.event, Event::Recording { .. })).count(), 1);
    // The board that was at both laptops is one, and frames are from whom they were.
    let number = |id: u16| {
        let is_it = |record: &&Record| matches!(&record.event, Event::Id { id: said } if said.0 == id);
        records.iter().find(is_it).unwrap().node.unwrap()
    };
    let received = records.iter().find(|record| matches!(record.event, Event::Received { .. })).unwrap();
    assert_eq!((received.time_us, received.node), (1_500_000, Some(number(7))));
    assert!(matches!(received.event, Event::Received { from, .. } if from == number(6)));
    let csv = std::fs::read_to_string(folder.join("all.csv")).unwrap();
    assert_eq!(csv.lines().nth(1), Some("2026-11-18T09:30:02.000Z,2.000,6,supply,2.987,V"), "{csv}");
    ok(&folder, "check all.jsonl");
    std::fs::write(folder.join("old.jsonl"), "{\"time_us\":0,\"node\":0,\"event\":\"id\",\"id\":5}\n").unwrap();
    let refused = ringleader(&folder, "join old.jsonl --csv x.csv");
    assert!(String::from_utf8(refused.stderr).unwrap().contains("does not say when it was recorded"));
}

/// A frame of node 7, with its number, as the board that sent it has it.
fn sent(number: u8) -> String {
    format!("4188{number:02x}0700ffff0700210100000000000000000000")
}

#[test]
fn laptops_whose_clocks_are_apart_are_joined_by_what_both_heard() {
    let folder = folder("clocks");
    // Every second, south's board sends, and north's hears all but every fourth. South's clock is two seconds behind.
    let mut heard = String::new();
    let mut south = String::new();
    for number in 1..60_u8 {
        let at_us = u64::from(number) * 1_000_000;
        let _ = writeln!(south, "{{\"time_us\":{at_us},\"node\":0,\"event\":\"frame\",\"psdu\":\"{}\"}}", sent(number));
        if number % 4 != 0 {
            let _ = writeln!(
                heard,
                "{{\"time_us\":{},\"node\":0,\"event\":\"heard\",\"id\":7,\"epoch\":1,\"number\":{number},\
                 \"rssi_dbm\":-70}}",
                at_us + 5_000_000 + u64::from(number % 3) * 300
            );
        }
    }
    std::fs::write(folder.join("north.jsonl"), recording("2026-11-18T09:30:00.000Z", &[("a", 5)], &heard)).unwrap();
    std::fs::write(folder.join("south.jsonl"), recording("2026-11-18T09:30:03.000Z", &[("c", 7)], &south)).unwrap();
    let output = ringleader(&folder, "join north.jsonl south.jsonl --out all.jsonl");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("south.jsonl: its clock was 1.99") && told.contains("45 frames that both have"), "{told}");
    let text = std::fs::read_to_string(folder.join("all.jsonl")).unwrap();
    let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // What north heard is south's: each within a millisecond of its sending, and the share that arrives is known.
    let times = |is_wanted: fn(&Event) -> bool| -> Vec<u64> {
        records.iter().filter(|record| is_wanted(&record.event)).map(|record| record.time_us).collect()
    };
    let sent = times(|event| matches!(event, Event::Frame { .. }));
    let received = times(|event| matches!(event, Event::Received { .. }));
    assert_eq!((sent.len(), received.len()), (59, 45));
    assert!(received.iter().all(|at| sent.iter().any(|sent| at.abs_diff(*sent) < 2_000)), "{received:?}");
    let links = ringleader(&folder, "links all.jsonl --json");
    let links: serde_json::Value = serde_json::from_slice(&links.stdout).unwrap();
    let link = &links["links"][0];
    assert_eq!((&link["from"], &link["to"], &link["heard"]), (&7.into(), &5.into(), &45.into()), "{links}");
}
