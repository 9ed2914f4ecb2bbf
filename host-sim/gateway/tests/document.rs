//! The path of docs/gateway.md, with the very lines that stand there.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::rehearsal::{Desk, ringleader};
use super::support::{folder, until};

/// The fenced blocks under a heading, each with its language.
fn blocks(text: &str, heading: &str) -> Vec<(String, String)> {
    let (_, section) = text.split_once(heading).expect("the document has the heading");
    let fenced = section.split("```").skip(1).step_by(2);
    let block = |block: &str| block.split_once('\n').map(|(language, text)| (language.to_owned(), text.to_owned()));
    fenced.filter_map(block).collect()
}

/// Runs a line in a shell that finds both programs.
fn shell(folder: &Path, line: &str) -> Output {
    let beside = PathBuf::from(env!("CARGO_BIN_EXE_ringleader-gateway"));
    let path = format!("{}:{}", beside.parent().unwrap().display(), std::env::var("PATH").unwrap());
    Command::new("sh").args(["-c", line]).env("PATH", path).current_dir(folder).output().unwrap()
}

#[test]
fn every_step_of_the_document_works() {
    let desk = Desk { program: ringleader(), folder: folder("document") };
    let text = std::fs::read_to_string(emulator::images::workspace().join("docs/gateway.md")).unwrap();
    let [(_, boards), (toml, fleet), (_, steps)] = &blocks(&text, "### Every step\n")[..] else { panic!("{text}") };
    assert_eq!(toml, "toml");
    std::fs::write(desk.folder.join("fleet.toml"), fleet).unwrap();
    let _boards = desk.start(boards.trim().strip_prefix("ringleader ").unwrap());
    until("the ports are there", || (1..=5).all(|id| desk.folder.join(format!("boards/node-{id}")).exists()));
    for line in steps.lines() {
        let mut output = shell(&desk.folder, line);
        // A machine with more to do than it can leaves boards no time to answer.
        for _ in 0..3 {
            if !output.status.success() {
                output = shell(&desk.folder, line);
            }
        }
        assert!(output.status.success(), "{line}: {output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        if line.starts_with("ringleader gateway") {
            assert!(!said.starts_with("0 readings"), "{said}");
        }
    }
    for file in ["garden.jsonl", "readings.csv", "links.csv", "again.toml", "report.html"] {
        assert!(desk.folder.join(file).exists(), "{file}");
    }
}
