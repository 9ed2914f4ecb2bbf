//! `ringleader check` on traces as files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn check(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    command.arg("check").args(args.split_whitespace()).current_dir(folder).output().unwrap()
}

/// Two boards that agree after a second; at ten seconds the leader is reset and back, and leads again at twelve.
const FIELD: &str = r#"{"time_us":0,"node":0,"event":"id","id":5}
{"time_us":0,"node":0,"event":"power_on"}
{"time_us":0,"node":1,"event":"id","id":6}
{"time_us":0,"node":1,"event":"power_on"}
{"time_us":500000,"node":0,"event":"link","peer":6,"up":true}
{"time_us":500000,"node":1,"event":"link","peer":5,"up":true}
{"time_us":900000,"node":0,"event":"leader","leader":5}
{"time_us":1000000,"node":1,"event":"leader","leader":5}
{"time_us":4000000,"node":1,"event":"note","text":"lost: 3"}
{"time_us":10000000,"node":0,"event":"power_off"}
{"time_us":10000000,"node":0,"event":"power_on"}
{"time_us":11000000,"node":0,"event":"link","peer":6,"up":true}
{"time_us":12000000,"node":0,"event":"leader","leader":5}
{"time_us":30000000,"node":0,"event":"note","text":"supply 2.99 V"}
"#;

#[test]
fn a_recording_is_told_and_passes() {
    let folder = folder("good");
    std::fs::write(folder.join("field.jsonl"), FIELD).unwrap();
    let output = check(&folder, "field.jsonl");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for line in [
        "field.jsonl: 30.000 s, 2 nodes (5, 6), 0 frames",
        "CAUTION: boards lost 3 messages",
        "     1.000 s  5 (2)",
        "     0.000 s  for 1.000 s after node 5 switched on",
        "    10.000 s  for 2.000 s after node 5 switched off",
        "OK: agreement came within 10 s of every change and lasted",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let json = check(&folder, "field.jsonl --json");
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(value[0]["verdict"], "ok");
    assert_eq!(value[0]["disagreements"][1]["lasted_ms"], 2_000);
}

#[test]
fn a_recording_that_began_after_its_links_is_judged_by_its_frames() {
    let folder = folder("begun");
    // The leader goes; its links were up before anybody listened, and so was the one that stays.
    let mut text = String::new();
    for (node, id) in [(0, 5), (1, 6), (2, 7)] {
        let _ = writeln!(text, "{{\"time_us\":0,\"node\":{node},\"event\":\"id\",\"id\":{id}}}");
        let _ = writeln!(text, "{{\"time_us\":0,\"node\":{node},\"event\":\"power_on\"}}");
        let _ = writeln!(text, "{{\"time_us\":10,\"node\":{node},\"event\":\"leader\",\"leader\":5}}");
    }
    for at in (100_000..30_000_000).step_by(200_000) {
        let nodes = if at < 10_000_000 { 0..3 } else { 1..3 };
        for from in nodes.clone() {
            let _ = writeln!(text, "{{\"time_us\":{at},\"node\":{from},\"event\":\"frame\",\"psdu\":\"00\"}}");
            for to in nodes.clone().filter(|to| *to != from) {
                let _ = writeln!(
                    text,
                    "{{\"time_us\":{at},\"node\":{to},\"event\":\"received\",\"from\":{from},\"rssi_dbm\":-60}}"
                );
            }
        }
    }
    text += "{\"time_us\":10000000,\"node\":0,\"event\":\"power_off\"}\n";
    for node in [1, 2] {
        let _ = writeln!(text, "{{\"time_us\":12000000,\"node\":{node},\"event\":\"link\",\"peer\":5,\"up\":false}}");
        let _ = writeln!(text, "{{\"time_us\":12500000,\"node\":{node},\"event\":\"leader\",\"leader\":6}}");
    }
    std::fs::write(folder.join("begun.jsonl"), text).unwrap();
    let output = check(&folder, "begun.jsonl");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("Links: inferred from frames"), "{text}");
}

#[test]
fn a_recording_that_began_after_some_of_its_links_has_those_too() {
    let folder = folder("some");
    let mut text = String::from("{\"time_us\":0,\"event\":\"recording\",\"utc\":\"\",\"program\":\"a test\"}\n");
    for (node, id) in [(0, 5), (1, 6), (2, 7)] {
        let _ = writeln!(text, "{{\"time_us\":0,\"node\":{node},\"event\":\"id\",\"id\":{id}}}");
        let _ = writeln!(text, "{{\"time_us\":0,\"node\":{node},\"event\":\"power_on\"}}");
        let _ = writeln!(text, "{{\"time_us\":10,\"node\":{node},\"event\":\"leader\",\"leader\":5}}");
    }
    for (node, peer) in [(1, 7), (2, 6)] {
        let _ =
            writeln!(text, "{{\"time_us\":2000000,\"node\":{node},\"event\":\"link\",\"peer\":{peer},\"up\":true}}");
    }
    for at in (100_000..30_000_000).step_by(200_000) {
        for (from, to) in [(0, 1), (1, 0)] {
            let _ = writeln!(text, "{{\"time_us\":{at},\"node\":{from},\"event\":\"frame\",\"psdu\":\"00\"}}");
            let heard = format!("\"event\":\"received\",\"from\":{from},\"rssi_dbm\":-60");
            let _ = writeln!(text, "{{\"time_us\":{at},\"node\":{to},{heard}}}");
        }
    }
    std::fs::write(folder.join("some.jsonl"), text).unwrap();
    let output = check(&folder, "some.jsonl");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Links: as the nodes reported them, and 1 from before, inferred from frames"), "{text}");
    assert!(output.status.success() && text.contains("OK: agreement came"), "{text}");
    let told: serde_json::Value = serde_json::from_slice(&check(&folder, "some.jsonl --json").stdout).unwrap();
    assert_eq!((&told[0]["links_told"], &told[0]["links_inferred"]), (&true.into(), &1.into()));
}

#[test]
fn late_agreement_fails_and_traces_are_compared() {
    let folder = folder("late");
    std::fs::write(folder.join("a.jsonl"), FIELD).unwrap();
    std::fs::write(folder.join("b.jsonl"), FIELD.replace("12000000", "29000000")).unwrap();
    let output = check(&folder, "a.jsonl b.jsonl");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("LIVENESS VIOLATED: agreement took longer than 10 s"), "{text}");
    let rows: Vec<&str> = text.lines().rev().take(2).collect();
    assert!(rows[1].starts_with("a.jsonl") && rows[1].ends_with("1     2.000 s     2.000 s"), "{text}");
    assert!(rows[0].starts_with("b.jsonl") && rows[0].contains("1.000 s"), "{text}");
}

#[test]
fn an_attacker_is_no_node() {
    let folder = folder("hostile");
    let run = ["run", "hostile", "--trace", "hostile.jsonl"];
    let output = Command::new(env!("CARGO_BIN_EXE_ringleader")).args(run).current_dir(&folder).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(check(&folder, "hostile.jsonl --within 30").stdout).unwrap();
    let nodes: Vec<String> = (1..=16).map(|id| id.to_string()).collect();
    assert!(text.contains(&format!("16 nodes ({})", nodes.join(", "))), "{text}");
}

#[test]
fn what_is_no_trace_is_told_with_its_line() {
    let folder = folder("bad");
    std::fs::write(folder.join("bad.jsonl"), FIELD.replace("\"power_off\"", "\"explosion\"")).unwrap();
    std::fs::write(folder.join("empty.jsonl"), "").unwrap();
    std::fs::write(folder.join("late.jsonl"), FIELD.replace("30000000", "18446744073709551615")).unwrap();
    let wrong = [
        ("bad.jsonl", "bad.jsonl:10: unknown variant `explosion`"),
        ("empty.jsonl", "empty.jsonl is empty"),
        ("late.jsonl", "late.jsonl:14: the time is more than a hundred years"),
        ("none.jsonl", "cannot read none.jsonl"),
    ];
    for (file, expected) in wrong {
        let output = check(&folder, file);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected), "{output:?}");
    }
}

#[test]
fn years_of_silence_are_checked_at_once() {
    let folder = folder("silence");
    // Without records of links, agreement is judged again and again while frames fade.
    let frames: String = FIELD.split_inclusive('\n').filter(|line| !line.contains("link")).collect();
    let years = frames.replace("30000000", "3000000000000000");
    std::fs::write(folder.join("years.jsonl"), years).unwrap();
    let output = check(&folder, "years.jsonl");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("years.jsonl: 3000000000.000 s, 2 nodes (5, 6)"), "{text}");
}

#[test]
fn a_trace_that_was_cut_is_checked_up_to_there() {
    let folder = folder("cut");
    let whole = FIELD.len();
    std::fs::write(folder.join("cut.jsonl"), &FIELD[..whole - 20]).unwrap();
    let output = check(&folder, "cut.jsonl");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && said.contains("cut.jsonl:14: the last line is incomplete; ignored"),
        "{output:?}"
    );
    // In the middle it is damage.
    std::fs::write(folder.join("torn.jsonl"), FIELD.replace("\"power_off\"}", "\"pow")).unwrap();
    assert_eq!(check(&folder, "torn.jsonl").status.code(), Some(1));
}
