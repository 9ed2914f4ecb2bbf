//! The example of docs/scale.md, as it stands there. Where GNU parallel is not installed the test says so and passes,
//! unless `RINGLEADER_NEEDS_PARALLEL` is set, as `.ci/run` does.

use std::path::Path;
use std::process::Command;

#[test]
fn a_sweep_under_gnu_parallel_is_the_same_sweep() {
    let is_there = Command::new("parallel").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        let why = "GNU parallel is not installed (Debian: apt-get install parallel)";
        assert!(std::env::var_os("RINGLEADER_NEEDS_PARALLEL").is_none(), "{why}");
        eprintln!("skipped: {why}");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scale");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let docs = include_str!("../../docs/scale.md");
    let example = docs.split("```sh\n").find(|block| block.contains("| parallel")).unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_ringleader"));
    let path = std::env::var("PATH").unwrap_or_default();
    let run = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]).current_dir(&folder).env("HOME", &folder);
        let output = shell.env("PATH", format!("{}:{path}", program.parent().unwrap().display())).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(example), run("ringleader sweep mesh16 --seeds 0..40"));
}
