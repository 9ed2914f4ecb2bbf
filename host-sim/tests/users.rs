//! What new users met, and must not meet again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::ringleader;

fn folder(name: &str) -> PathBuf {
    crate::program::folder("users", name)
}

fn said(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

/// Every command, as the program's own help lists them.
fn commands() -> Vec<String> {
    subcommands("")
}

/// Those of a command; none if it has none.
fn subcommands(of: &str) -> Vec<String> {
    let help = said(&ringleader(Path::new("."), &format!("{of} --help")).stdout);
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let (list, _) = list.split_once("\n\n").unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|name| name != "help").collect()
}

#[test]
fn every_command_explains_itself() {
    let commands = commands();
    assert!(commands.len() > 30, "{commands:?}");
    // What documents point to, and what teaches most.
    let taught = [
        ("monitor", "socat TCP-LISTEN"),
        ("check", "Exit codes:"),
        ("provision", "To move a running network to another key"),
        ("board", "emulated nRF52 boards"),
        ("run", "Exit codes"),
        ("sweep", "Exit codes"),
        ("flash", "Examples:"),
        ("links", "model = \"table\""),
        ("replay", "Examples:"),
        ("join", "Examples:"),
        ("identify", "Examples:"),
        ("dissector", "Wireshark"),
        ("completions", "bash:"),
    ];
    // The gateway's help is the gateway's, and a program of its own.
    for name in commands.iter().filter(|name| *name != "gateway") {
        let output = ringleader(Path::new("."), &format!("{name} --help"));
        let help = said(&output.stdout);
        assert!(output.status.success() && help.contains("Usage: ringleader"), "{name}: {help}");
        if let Some((_, text)) = taught.iter().find(|(taught, _)| taught == name) {
            assert!(help.contains(text), "`{name} --help` does not say {text:?}:\n{help}");
        }
    }
    assert!(taught.iter().all(|(name, _)| commands.iter().any(|command| command == name)));
}

#[test]
fn shells_and_manuals_know_every_command() {
    let folder = folder("manual");
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&ringleader(&folder, &format!("completions {shell}")).stdout);
        for name in ["provision", "replay", "gateway"] {
            assert!(script.contains(name), "{shell} does not complete {name}");
        }
    }
    assert!(said(&ringleader(&folder, "man").stdout).contains(".TH ringleader 1"));
    assert!(ringleader(&folder, "man --dir pages").status.success());
    for name in commands() {
        assert!(folder.join(format!("pages/ringleader-{name}.1")).exists(), "{name}");
    }
}

const FAR: &str = "name = \"far\"\nduration = \"15 s\"\n[topology]\nkind = \"line\"\nnodes = 4\nspacing = \"SPACING m\"\n\
                   [radio]\nmodel = \"plain\"\n[protocol]\nkind = \"height\"\n";

#[test]
fn a_run_ends_with_its_verdict_and_warns_of_pieces() {
    let folder = folder("verdict");
    std::fs::write(folder.join("far.toml"), FAR.replace("SPACING", "500")).unwrap();
    std::fs::write(folder.join("near.toml"), FAR.replace("SPACING", "5")).unwrap();
    let near = ringleader(&folder, "run near.toml");
    assert!(near.status.success() && said(&near.stdout).ends_with("Verdict: everything held\n"), "{near:?}");
    assert_eq!(said(&near.stderr), "");
    let far = ringleader(&folder, "run far.toml");
    let warning = said(&far.stderr);
    assert!(warning.contains("warning: the network is in 4 pieces that do not hear each other"), "{warning}");
    // A wall that splits a network is meant.
    let wall = ringleader(&folder, "run partition-merge");
    assert!(!said(&wall.stderr).contains("warning"), "{wall:?}");
}

#[test]
fn no_picture_overwrites_a_scenario() {
    let folder = folder("overwrite");
    let text = FAR.replace("SPACING", "5");
    std::fs::write(folder.join("mine.toml"), &text).unwrap();
    for option in ["--svg", "--trace", "--pcap", "--map"] {
        let output = ringleader(&folder, &format!("run mesh16 {option} mine.toml"));
        let said = said(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("looks like a scenario"), "{option}: {said}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("mine.toml")).unwrap(), text);
}

#[test]
fn boards_are_drawn_as_simulated_nodes_are() {
    let folder = folder("board-pictures");
    std::fs::write(folder.join("near.toml"), FAR.replace("SPACING", "5")).unwrap();
    std::fs::write(folder.join("image.elf"), emulator::images::elf("firmware").expect("the image builds")).unwrap();
    let output = ringleader(&folder, "board near.toml --elf image.elf --svg near.svg --timeline");
    let text = said(&output.stdout);
    assert!(output.status.success() && text.contains("Who followed whom"), "{output:?}");
    let picture = std::fs::read_to_string(folder.join("near.svg")).unwrap();
    assert!(picture.contains(">4 s</text>") && picture.ends_with("</svg>\n"), "a time axis: {picture}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_tells_what_is_done() {
    let folder = folder("interrupted");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    command.args(["sweep", "mesh16", "--seeds", "0..100000", "--jobs", "1"]);
    let mut sweep = command.current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Before it listens, the signal would end it at once.
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", sweep.id())).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("2").trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap_or(2) & 2 != 0
    };
    while !caught() {
        std::thread::yield_now();
    }
    // It may not even have taken its first seed yet.
    assert!(Command::new("kill").args(["-INT", &sweep.id().to_string()]).status().unwrap().success());
    let code = sweep.wait().unwrap().code();
    let (mut out, mut err) = (String::new(), String::new());
    sweep.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    sweep.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(err.contains("interrupted"), "{code:?} {out} {err}");
    if !err.contains("before the first run") {
        assert_eq!(code, Some(130), "{err}");
        assert!(out.contains("of 100000 seeds") && out.contains("start, ms"), "{out}");
    }
}

#[test]
fn a_handful_of_runs_is_no_law() {
    let few = ringleader(Path::new("."), "study --seeds 2 --sizes 8,16 --graph line --change leader-lost");
    let text = said(&few.stdout);
    assert!(few.status.success() && text.contains("2 runs of each case fit any law"), "{text}");
    assert!(!text.contains("messages grow as"), "{text}");
}

#[test]
fn every_command_is_listed_in_the_documents() {
    let page = include_str!("../../docs/commands.md");
    let listed: BTreeSet<&str> = page.split('`').skip(1).step_by(2).flat_map(str::split_whitespace).collect();
    // The demo runs without a name.
    for name in commands().iter().filter(|name| *name != "demo") {
        assert!(listed.contains(name.as_str()), "docs/commands.md does not list `{name}`");
    }
}

/// Every command and subcommand that prints JSON.
fn commands_with_json() -> Vec<String> {
    let prints = |name: &str| {
        let help = said(&ringleader(Path::new("."), &format!("{name} --help")).stdout);
        help.lines().any(|line| line.trim_start().starts_with("--json"))
    };
    let names = commands().into_iter().filter(|name| name != "gateway").flat_map(|name| {
        let below: Vec<String> = subcommands(&name).iter().map(|below| format!("{name} {below}")).collect();
        below.into_iter().chain([name])
    });
    names.filter(|name| prints(name)).collect()
}

#[test]
fn everything_that_prints_json_has_a_schema() {
    let described = said(&ringleader(Path::new("."), "schema").stdout);
    let described: BTreeSet<&str> = described.lines().collect();
    let printing = commands_with_json();
    assert!(printing.len() >= 26, "{printing:?}");
    for name in ["set", "identify", "elect", "restart", "rank", "scenarios"] {
        assert!(printing.iter().any(|other| other == name), "`{name}` prints no JSON");
    }
    for name in printing {
        assert!(described.contains(name.replace(' ', "-").as_str()), "`{name} --json` has no schema");
    }
}

#[test]
fn no_name_is_that_of_a_fleet_and_of_a_scenario() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let files = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|end| end == "md")).chain([root.join("README.md")]);
    let (mut fleets, mut scenarios) = (BTreeSet::new(), BTreeSet::new());
    for text in texts.map(|path| std::fs::read_to_string(path).unwrap()) {
        let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || "`,;()".contains(c)).collect();
        for pair in words.windows(2).filter(|pair| Path::new(pair[1]).extension().is_some_and(|end| end == "toml")) {
            match pair[0] {
                "--fleet" => drop(fleets.insert(pair[1].to_owned())),
                "run" | "sweep" | "board" | "view" | "--scenario" => drop(scenarios.insert(pair[1].to_owned())),
                _ => {}
            }
        }
    }
    assert!(fleets.contains("fleet.toml") && scenarios.contains("plan.toml"), "{fleets:?} {scenarios:?}");
    assert!(fleets.is_disjoint(&scenarios), "{fleets:?} {scenarios:?}");
}

/// The names in a figure's legend, each with its colour. Those that share a line have the colour of the first.
fn legend(figure: &str) -> BTreeMap<String, String> {
    let mut colours = BTreeMap::new();
    let mut colour = "";
    for line in figure.lines() {
        if let Some((_, rest)) = line.split_once("stroke=\"") {
            colour = rest.split('"').next().unwrap();
        } else if line.contains("text-anchor=\"start\"") {
            let name = line.split(['>', '<']).nth(2).unwrap().split(',').next().unwrap();
            colours.insert(name.to_owned(), colour.to_owned());
        }
    }
    colours
}

#[test]
fn an_algorithm_has_one_colour_in_all_figures() {
    let figures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/figures");
    let mut known = BTreeMap::new();
    let mut compared = 0;
    for name in ["3-4a", "3-4b", "3-5a", "3-5b"] {
        let figure = std::fs::read_to_string(figures.join(format!("fig-{name}.svg"))).unwrap();
        for (algorithm, colour) in legend(&figure) {
            compared += usize::from(known.contains_key(&algorithm));
            let before = known.entry(algorithm.clone()).or_insert_with(|| colour.clone());
            assert_eq!(*before, colour, "{algorithm} in figure {name}");
        }
    }
    assert!(compared >= 8, "{known:?}");
    let colours: BTreeSet<&String> = known.values().collect();
    assert_eq!(colours.len(), known.len(), "no two have the same: {known:?}");
}

#[cfg(unix)]
#[test]
fn a_long_run_shows_a_terminal_how_far_it_is() {
    use std::os::fd::AsFd;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let folder = folder("progress");
    std::fs::write(folder.join("near.toml"), FAR.replace("SPACING", "5").replace("15 s", "400 s")).unwrap();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = rustix::fs::open(name, rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY, 0.into()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    command.args(["run", "near.toml"]).current_dir(&folder).stdout(Stdio::null());
    let mut run = command.stderr(terminal.try_clone().unwrap()).spawn().unwrap();
    drop((terminal, command));
    let mut shown = Vec::new();
    // At its end the terminal is gone, which is an error.
    let _ = std::fs::File::from(master.as_fd().try_clone_to_owned().unwrap()).read_to_end(&mut shown);
    assert!(run.wait().unwrap().success());
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("far with seed 1: 200.000 s of 400.000 s (50 %)"), "{shown:?}");
}
