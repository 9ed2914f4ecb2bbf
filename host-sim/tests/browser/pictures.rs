//! `run` and `check` draw the same pictures, of a run and of its recording.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn ringleader(at: &Path, args: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    let output = command.args(args.split(' ')).current_dir(at).output().expect("the program was built for this test");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("ringleader-pictures-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    directory
}

const SCENARIO: &str = r#"name = "cut"
duration = "24 s"
[topology]
kind = "grid"
nodes = 6
spacing = "12 m"
[radio]
model = "plain"
[[fault]]
kind = "wall"
start = [18, -9]
end = [18, 99]
at = "4 s"
for = "8 s"
[expect]
agreement_within = "8 s"
"#;

#[test]
fn a_run_and_its_recording_give_the_same_pictures() {
    let at = directory("same");
    fs::write(at.join("cut.toml"), SCENARIO).unwrap();
    let (code, said) =
        ringleader(&at, "run cut.toml --trace t.jsonl --detail --svg run.svg --map run-map.svg --at 11 --timeline");
    assert!(code == 0 && said.contains("Who followed whom"), "{said}");
    let (code, said) = ringleader(&at, "check t.jsonl --svg check.svg --map check-map.svg --at 11 --timeline");
    assert!(code == 0 && said.contains("Who followed whom"), "{said}");
    let picture = |name: &str| fs::read_to_string(at.join(name)).unwrap();
    let body =
        |name: &str| picture(name).lines().filter(|line| !line.contains(" at 11 s")).collect::<Vec<_>>().join("\n");
    assert_eq!(body("run-map.svg"), body("check-map.svg"));
    assert!(picture("run-map.svg").contains("a wall"), "it stands at 11 s");
    assert_eq!(picture("run-map.svg").matches("leads</title>").count(), 2, "one on each side");
    let bars = |name: &str| {
        picture(name).lines().filter(|line| line.starts_with("<rect x")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(bars("run.svg").len() > 12 && picture("run.svg").contains(">5 s</text>"));
    assert!(picture("check.svg").contains("a wall of 60 dB goes up"));
    // A map changes nothing of the trace that is written beside it.
    ringleader(&at, "run cut.toml --trace plain.jsonl");
    ringleader(&at, "run cut.toml --trace beside.jsonl --map m.svg");
    assert_eq!(picture("plain.jsonl"), picture("beside.jsonl"));
    let (code, said) = ringleader(&at, "run cut.toml --check-determinism --map m.svg");
    assert!(code == 0 && said.contains("the same"), "{said}");
    fs::remove_dir_all(&at).unwrap();
}

#[test]
fn pictures_that_cannot_be_are_refused() {
    let at = directory("refused");
    fs::write(at.join("cut.toml"), SCENARIO).unwrap();
    for (args, says) in [
        ("run cut.toml --svg cut.toml", "the same file"),
        ("run cut.toml --svg a.svg --map a.svg", "the same file"),
        ("run cut.toml --at 3", "--map"),
        ("run cut.toml --map a.svg --at inf", "--at"),
        ("check a.jsonl b.jsonl --svg a.svg", "one trace at a time"),
        ("check a.jsonl --map a.jsonl", "the same file"),
        ("view cut.toml --out cut.toml", "the same file"),
        ("view nothing", "there is no scenario"),
    ] {
        let (code, said) = ringleader(&at, args);
        assert!(code == 1 && said.contains(says), "{args}: {said}");
    }
    assert_eq!(fs::read_to_string(at.join("cut.toml")).unwrap(), SCENARIO);
    fs::remove_dir_all(&at).unwrap();
}
