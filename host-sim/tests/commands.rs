//! `run`, `sweep` and `merge` as users call them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// Two nodes for a few seconds; agreement is expected within this time.
fn pair(within: &str) -> String {
    format!(
        "name = \"pair\"\nduration = \"8 s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"5 m\"\n[radio]\nmodel = \"plain\"\n[expect]\nagreement_within = \"{within}\"\n"
    )
}

/// A directory for one test, with a name that a shell would split unless it is quoted.
fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ringleader it's {name} $HOME {}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Runs the program in a directory; returns its exit code, standard output and standard error.
pub fn ringleader(at: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    ended(Command::new(env!("CARGO_BIN_EXE_ringleader")).args(args).current_dir(at))
}

fn ended(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
#[cfg(unix)]
fn the_printed_command_replays_a_failure_from_anywhere() {
    let directory = directory("replay");
    std::fs::write(directory.join("bad pair.toml"), pair("1 ms")).unwrap();
    let (code, _, said) = ringleader(&directory, &["run", "bad pair.toml", "--seed", "7"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains(&format!("  version: ringleader {}\n", env!("CARGO_PKG_VERSION"))), "{said}");
    let (_, swept, _) = ringleader(&directory, &["sweep", "bad pair.toml", "--seeds", "7..8"]);
    let programs = Path::new(env!("CARGO_BIN_EXE_ringleader")).parent().unwrap();
    for told in [&said, &swept] {
        let command = told.lines().find_map(|line| line.trim().strip_prefix("replay: ")).unwrap();
        let mut shell = Command::new("/bin/sh");
        let (code, _, again) = ended(shell.args(["-c", command]).env("PATH", programs).current_dir("/"));
        assert_eq!((code, &again), (Some(3), &said), "{command}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn shards_are_merged_to_what_the_whole_sweep_prints() {
    let directory = directory("merge");
    std::fs::write(directory.join("t.toml"), pair("5 s")).unwrap();
    let swept = |shard: &[&str]| {
        let (code, json, said) =
            ringleader(&directory, &[&["sweep", "t.toml", "--seeds", "3..8", "--json"], shard].concat());
        assert_eq!(code, Some(0), "{said}");
        json
    };
    for part in ["1", "2", "3"] {
        std::fs::write(directory.join(part), swept(&["--shard", &format!("{part}/3")])).unwrap();
    }
    let (code, json, said) = ringleader(&directory, &["merge", "2", "3", "1", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(json, swept(&[]));
    let told: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&told["seeds"]["from"], &told["seeds"]["to"]), (&Value::from(3), &Value::from(8)));
    let (code, _, said) = ringleader(&directory, &["merge", "1", "3"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("shard 2/3 is missing; --partial joins what there is"), "{said}");
    let (code, text, _) = ringleader(&directory, &["merge", "1", "3", "--partial"]);
    assert!(code == Some(0) && text.contains(": 3 of 5 seeds, 3 ok"), "{text}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_shard_that_cannot_be_is_refused_with_the_name_of_its_file() {
    let directory = directory("edited");
    std::fs::write(directory.join("t.toml"), pair("5 s")).unwrap();
    let (_, json, _) = ringleader(&directory, &["sweep", "t.toml", "--seeds", "3..5", "--json"]);
    let shard: Value = serde_json::from_str(&json).unwrap();
    let refused = |key: &str, value: Value, because: &str| {
        let mut edited = shard.clone();
        edited[key] = value;
        std::fs::write(directory.join("edited.json"), edited.to_string()).unwrap();
        let (code, text, said) = ringleader(&directory, &["merge", "edited.json", "--partial"]);
        assert_eq!((code, text.as_str()), (Some(1), ""), "{said}");
        assert!(said.starts_with("error: ") && said.contains(because), "{said}");
        said
    };
    for (part, parts) in [(1, 0), (0, 1), (0, 0), (3, 2)] {
        let said = refused("shard", json!({"part": part, "parts": parts}), &format!("no shard {part}/{parts}"));
        assert!(said.contains("edited.json"), "{said}");
    }
    for (from, to) in [(9, 3), (3, 3)] {
        let said = refused("seeds", json!({"from": from, "to": to}), &format!("no seeds in {from}..{to}"));
        assert!(said.contains("edited.json"), "{said}");
    }
    refused("rows", json!([]), "there are no seeds in any of the files");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn failing_rows_say_how_to_run_them_again() {
    let directory = directory("rows");
    std::fs::write(directory.join("bad.toml"), pair("1 ms")).unwrap();
    let json = |args: &[&str]| {
        let (code, json, said) = ringleader(&directory, &[args, &["--json"]].concat());
        assert_eq!(code, Some(3), "{said}");
        json
    };
    let swept = |shard: &[&str]| json(&[&["sweep", "bad.toml", "--seeds", "3..6"], shard].concat());
    let whole = swept(&[]);
    let told: Value = serde_json::from_str(&whole).unwrap();
    for (row, seed) in told["rows"].as_array().unwrap().iter().zip(["3", "4", "5"]) {
        let alone: Value = serde_json::from_str(&json(&["run", "bad.toml", "--seed", seed])).unwrap();
        assert!(row["failure"]["replay"].is_string(), "{row}");
        assert_eq!(row["failure"]["replay"], alone["failure"]["replay"]);
        assert_eq!(alone["failure"]["version"], told["version"], "a sweep names it once, a run where it failed");
    }
    for part in ["1", "2"] {
        std::fs::write(directory.join(part), swept(&["--shard", &format!("{part}/2")])).unwrap();
    }
    assert_eq!(json(&["merge", "2", "1"]), whole);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn more_seeds_than_anybody_can_wait_for_are_refused() {
    let here = std::env::temp_dir();
    let most = "0..18446744073709551615";
    for args in [&["--seeds", most][..], &["--seeds", most, "--shard", "1/10000000"]] {
        let (code, _, said) = ringleader(&here, &[&["sweep", "mesh16"], args].concat());
        assert_eq!(code, Some(1));
        assert!(said.contains("split them with --shard, such as --shard 1/"), "{said}");
    }
    let (code, _, said) = ringleader(&here, &["sweep", "mesh16", "--seeds", "0..2", "--jobs", "1000000"]);
    assert!(code == Some(1) && said.contains("--jobs must be from 1 to 1024"), "{said}");
}

#[test]
fn determinism_is_told_as_text_and_as_json() {
    let directory = directory("twice");
    std::fs::write(directory.join("t.toml"), pair("5 s")).unwrap();
    let run = |more: &[&str]| ringleader(&directory, &[&["run", "t.toml"], more].concat());
    let (code, text, _) = run(&["--check-determinism", "--trace", "a"]);
    assert!(code == Some(0) && text.contains("Two runs were the same, event by event ("), "{text}");
    run(&["--trace", "b"]);
    let trace = |name| std::fs::read(directory.join(name)).unwrap();
    assert_eq!(trace("a"), trace("b"), "being compared changes nothing");
    let (code, checked, _) = run(&["--check-determinism", "--json"]);
    let (mut checked, plain): (Value, Value) =
        (serde_json::from_str(&checked).unwrap(), serde_json::from_str(&run(&["--json"]).1).unwrap());
    let told = checked.as_object_mut().unwrap().remove("determinism").unwrap();
    assert_eq!((code, &told["same"], checked), (Some(0), &Value::from(true), plain));
    assert_eq!(told["traces"][0], told["traces"][1]);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn files_that_cannot_be_written_are_told_before_the_run() {
    let directory = directory("files");
    std::fs::write(directory.join("t.toml"), pair("5 s")).unwrap();
    for option in ["--svg", "--trace", "--pcap"] {
        let (code, text, said) = ringleader(&directory, &["run", "t.toml", option, "nowhere/x"]);
        assert_eq!((code, text.as_str()), (Some(1), ""), "nothing was run");
        assert!(said.starts_with("error: cannot write nowhere/x: "), "{said}");
    }
    let (code, text, _) = ringleader(&directory, &["run", "t.toml", "--svg", "x.svg"]);
    assert!(code == Some(0) && !text.is_empty());
    assert!(std::fs::read_to_string(directory.join("x.svg")).unwrap().ends_with("</svg>\n"));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn no_file_is_written_over_another() {
    let directory = directory("apart");
    std::fs::write(directory.join("t.toml"), pair("5 s")).unwrap();
    std::fs::write(directory.join("there"), "before").unwrap();
    std::fs::create_dir_all(directory.join("sub")).unwrap();
    for args in [
        &["run", "t.toml", "--trace", "x", "--pcap", "x"][..],
        &["run", "t.toml", "--pcap", "x", "--svg", "./sub/../x"],
        &["run", "t.toml", "--trace", "there", "--svg", "sub/../there"],
        &["run", "t.toml", "--trace", "x", "--pcap", "t.toml"],
        &["run", "./t.toml", "--svg", "sub/../t.toml"],
        &["board", "t.toml", "--trace", "x", "--pcap", "x"],
        &["board", "t.toml", "--trace", "t.toml"],
        &["board", "t.toml", "--elf", "there", "--pcap", "./there"],
    ] {
        let (code, text, said) = ringleader(&directory, args);
        assert_eq!((code, text.as_str()), (Some(1), ""), "{args:?}: {said}");
        assert!(said.contains("are the same file, and one would overwrite the other"), "{args:?}: {said}");
        assert!(!directory.join("x").exists(), "{args:?}");
        assert_eq!(std::fs::read_to_string(directory.join("t.toml")).unwrap(), pair("5 s"), "{args:?}");
        assert_eq!(std::fs::read_to_string(directory.join("there")).unwrap(), "before", "{args:?}");
    }
    // A device has nothing to lose, and a built-in scenario has no file.
    #[cfg(unix)]
    assert_eq!(ringleader(&directory, &["run", "t.toml", "--trace", "/dev/null", "--pcap", "/dev/null"]).0, Some(0));
    assert_eq!(ringleader(&directory, &["run", "mesh16", "--svg", "mesh16"]).0, Some(0));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_timeline_explains_its_signs_and_says_where_there_is_none() {
    let directory = directory("timeline");
    std::fs::write(directory.join("t.toml"), pair("5 s")).unwrap();
    let many = pair("1 ms").replace("nodes = 2", "nodes = 65").replace("\"8 s\"", "\"2600 ms\"");
    std::fs::write(directory.join("many.toml"), many.replace("5 m", "90 km")).unwrap();
    let (_, text, _) = ringleader(&directory, &["run", "t.toml", "--timeline"]);
    assert!(text.contains("+ for any further one, . for none or no power"), "{text}");
    let (_, text, _) = ringleader(&directory, &["run", "many.toml", "--timeline"]);
    assert!(text.contains("No timeline as text: 65 nodes are more than 64; --svg FILE draws any number"), "{text}");
    let (code, _, said) = ringleader(&directory, &["run", "t.toml", "--timeline", "--json"]);
    assert!(code == Some(1) && said.contains("cannot be used with"), "{said}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn the_help_names_the_exit_codes() {
    for command in ["run", "sweep", "merge"] {
        let (code, help, _) = ringleader(&std::env::temp_dir(), &[command, "--help"]);
        assert_eq!(code, Some(0));
        assert!(help.contains("Exit codes") && help.contains("3  liveness"), "{help}");
        assert_eq!(help.contains("two runs of one seed"), command == "run", "only `run` compares two runs: {help}");
        assert_eq!(help.contains("shards that do not match"), command == "merge", "{help}");
    }
}
