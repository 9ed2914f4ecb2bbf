//! Orders to a board on its cable, from the command line.

use std::path::Path;
use std::process::{Command, Output};

use common::host_link::ToBoard;

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
