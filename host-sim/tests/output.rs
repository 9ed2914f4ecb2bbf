//! What the program does if its output cannot be written.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Two nodes for a few seconds; agreement is expected within this time.
fn scenario(name: &str, within: &str) -> PathBuf {
    let text = format!(
        "name = \"pair\"\nduration = \"8 s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"5 m\"\n[radio]\nmodel = \"plain\"\n[expect]\nagreement_within = \"{within}\"\n"
    );
    let path = std::env::temp_dir().join(format!("ringleader-output-{name}-{}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

fn ringleader(args: &[&str], stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    let Output { status, stderr, .. } = command.args(args).stdout(stdout).stderr(stderr).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// A pipe whose reading end is closed.
fn closed_pipe() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn a_closed_pipe_does_not_change_the_exit_code() {
    let (good, bad) = (scenario("good", "5 s"), scenario("bad", "1 ms"));
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    for (args, code) in [
        (&["scenarios"][..], 0),
        (&["--help"], 0),
        (&[], 0),
        (&["hierarchy"], 0),
        (&["run", good], 0),
        (&["run", good, "--json"], 0),
        (&["run", bad, "--json"], 3),
        (&["sweep", bad, "--seeds", "0..2"], 3),
        (&["run", "nowhere.toml"], 1),
    ] {
        let (found, said) = ringleader(args, closed_pipe(), Stdio::piped());
        assert_eq!(found, Some(code), "{args:?}: {said}");
        assert!(!said.contains("panicked") && (code != 0 || said.is_empty()), "{args:?}: {said}");
        assert_eq!(ringleader(args, Stdio::null(), closed_pipe()).0, Some(code), "{args:?} without standard error");
    }
    std::fs::remove_file(good).unwrap();
    std::fs::remove_file(bad).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let good = scenario("full", "5 s");
    let good = good.to_str().unwrap();
    for args in [&["scenarios"][..], &["--version"], &["run", good], &["sweep", good, "--seeds", "0..1", "--json"], &[]]
    {
        let (code, said) = ringleader(args, full(), Stdio::piped());
        assert_eq!(code, Some(1), "{args:?}: {said}");
        assert!(said.starts_with("error: cannot write to standard output: "), "{args:?}: {said}");
        assert_eq!(ringleader(args, Stdio::null(), full()).0, Some(0), "{args:?} with nowhere to complain");
    }
    std::fs::remove_file(good).unwrap();
}

#[test]
fn what_is_no_terminal_gets_no_progress() {
    let good = scenario("progress", "5 s");
    let good = good.to_str().unwrap();
    for args in [&["run", good][..], &["sweep", good, "--seeds", "0..2"]] {
        assert_eq!(ringleader(args, Stdio::null(), Stdio::piped()), (Some(0), String::new()), "{args:?}");
    }
    std::fs::remove_file(good).unwrap();
}
