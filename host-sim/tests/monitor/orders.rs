//! Orders to a board on its cable, from the command line.

use std::path::Path;
use std::process::{Command, Output};

use common::host_link::ToBoard;
use serde_json::{Value, json};

use super::fake_board::FakeBoard;
use super::{folder, script};

fn tell(port: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    command.args(words).arg("--port").arg(port).output().unwrap()
}

#[test]
fn a_board_does_what_it_is_told_and_says_who_it_is() {
    let port = folder("orders").join("a");
    let board = FakeBoard::plug_in(&port, script(5, None));
    for (words, message, says) in [
        (&["identify"][..], ToBoard::Identify, "blinks"),
        (&["elect"], ToBoard::Elect, "asks for an election"),
        (&["rank", "3"], ToBoard::SetRank(3), "has rank 3"),
    ] {
        let output = tell(&port, words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        board.await_command(&message);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, format!("board 5 at {} (nRF52840-DK) {says}\n", port.display()));
    }
}

#[test]
fn what_became_of_a_command_is_told_to_people_and_to_programs() {
    let port = folder("submitted").join("a");
    let board = FakeBoard::plug_in(&port, script(5, None));
    for (words, code, says, last) in [
        (&["set", "sample=1s"][..], 0, "sample=1000: applied by 2 of 2", json!({"what": "applied", "by": 2, "of": 2})),
        (&["restart", "7"], 0, "restart 7: applied by 2 of 2", json!({"what": "applied", "by": 2, "of": 2})),
        (&["set", "user1=1"], 3, "user1=1: expired", json!({"what": "expired"})),
        (&["set", "user2=1"], 3, "user2=1: superseded", json!({"what": "superseded", "leader": 9, "index": 4})),
        (&["set", "user3=1"], 1, "user3=1: refused", json!({"what": "refused"})),
    ] {
        let output = tell(&port, words);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.lines().last().unwrap().starts_with(says), "{words:?}: {said}");
        let output = tell(&port, &[words, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["outcomes"].as_array().unwrap().last(), Some(&last), "{words:?}: {told}");
        assert_eq!((&told["command"], &told["port"]), (&json!(words[0]), &json!(port)), "{words:?}: {told}");
    }
    let told: Value = serde_json::from_slice(&tell(&port, &["set", "sample=1s", "--json"]).stdout).unwrap();
    assert_eq!((&told["register"], &told["value"]), (&json!("sample"), &json!(1_000)));
    // Of the board on the cable itself.
    let told: Value = serde_json::from_slice(&tell(&port, &["rank", "3", "--json"]).stdout).unwrap();
    let expected =
        json!({"command": "rank", "rank": 3, "port": port, "id": 5, "board": "nrf52840-dk", "does": "has rank 3"});
    assert_eq!(told, expected);
    board.await_command(&ToBoard::SetRank(3));
}

#[test]
fn a_restarted_board_is_awaited_and_a_missing_one_is_told_of() {
    let folder = folder("restart");
    let port = folder.join("a");
    let board = FakeBoard::plug_in(&port, script(5, None));
    let told = std::thread::spawn({
        let port = port.clone();
        move || tell(&port, &["restart"])
    });
    board.await_command(&ToBoard::Reset { record: false });
    board.say(&script(5, None).hello(1));
    let output = told.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = tell(&folder.join("none"), &["identify"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot open"));
}

#[test]
fn all_nodes_are_listed_through_one_board() {
    let port = folder("fleet").join("a");
    let _board = FakeBoard::plug_in(&port, script(5, Some(9)));
    let output = tell(&port, &["fleet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows.len() == 4 && rows[1].contains("itself") && rows[1].contains("2.98 V"), "{text}");
    assert!(rows[2].trim_start().starts_with('9') && rows[2].contains("-71 dBm"), "{text}");
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{text}");
}
