//! The built-in scenarios hold, runs are reproducible, and bad scenario files are explained.

use common::rng::Rng;
use host_sim::cli::run::failure_text;
use host_sim::cli::scenario_file::find;
use host_sim::cli::scenario_file::read;
use host_sim::draw;
use host_sim::lab::many_seeds::run_seeds;
use sim::air::index::NodeIndex;
use sim::air::medium::{Medium, Tuning};
use sim::air::trace::{Event, NodeNumber, parse_line};
use sim::scenario::input::catalogue::BUILT_IN;
use sim::scenario::input::plan::{Mobility, Model, ProgramKind, ProtocolPlan, Scenario, Steady};
use sim::scenario::judge::components::{Admission, Components};
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::outcome::Verdict;
use sim::scenario::report::recording::run_twice;
use sim::scenario::report::story::Story;
use sim::scenario::report::timeline;
use sim::scenario::run::drive::{run, run_recorded};

use crate::{harness, mutate, reader};

#[test]
fn every_scenario_holds() {
    let hold = |name: &str| {
        let mut scenario = find(name).unwrap();
        assert_eq!(scenario.name, name);
        // Of those that last for hours, the beginning will do.
        scenario.duration_us = scenario.duration_us.min(600_000_000);
        assert!(!scenario.summary.is_empty());
        for seed in 1..=3 {
            let outcome = run(&scenario, seed);
            assert_eq!(outcome.verdict, Verdict::Ok, "{}", failure_text(&outcome, name));
            assert!(outcome.received > 0 && outcome.nodes.len() == scenario.topology.nodes());
        }
    };
    // Several at a time, or this test would be the last to end, alone.
    std::thread::scope(|scope| {
        for part in BUILT_IN.chunks(BUILT_IN.len().div_ceil(4)) {
            scope.spawn(move || part.iter().for_each(|(name, _)| hold(name)));
        }
    });
}

#[test]
fn in_dense60_all_are_in_range_of_each_other() {
    let scenario = find("dense60").unwrap();
    for seed in 0..100 {
        let positions = scenario.topology.positions(seed);
        let mut medium = Medium::new(scenario.radio.propagation(seed), None, seed);
        for &position in &positions {
            medium.add(position, Tuning { channel: scenario.radio.channel, tx_dbm: scenario.radio.tx_dbm });
        }
        let power = |a: NodeIndex, b: NodeIndex| medium.mean_dbm(a.radio(), b.radio());
        let links = Components::find(power, 60, |_| true, |_| -100.5, Admission::LINKS).links;
        assert_eq!(links.len(), 60 * 59 / 2, "seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_with_any_number_of_jobs() {
    let scenario = find("crash-storm").unwrap();
    let seeds = [4, 5, 6];
    let (alone, together) = (run_seeds(&scenario, seeds, 1, |_| ()), run_seeds(&scenario, seeds, 3, |_| ()));
    assert_eq!(alone, together);
    assert_ne!(alone[&4].digest, alone[&5].digest);
}

#[test]
fn a_wall_makes_two_leaders_and_its_fall_one() {
    let outcome = run(&find("partition-merge").unwrap(), 2);
    let during: Vec<usize> = (outcome.reigns.iter())
        .filter(|reign| (8_000..20_000).contains(&reign.at_ms))
        .map(|reign| reign.leaders.len())
        .collect();
    assert_eq!(during.last(), Some(&2), "{during:?}");
    assert_eq!(outcome.reigns.last().map(|reign| reign.leaders.len()), Some(1));
    assert_eq!(outcome.changes.len(), 3);
    assert!(outcome.changes.iter().all(|change| change.agreed_after_ms.is_some()), "{:?}", outcome.changes);
}

#[test]
fn what_takes_too_long_fails_and_says_how_to_see_it_again() {
    let impossible = Scenario { within_us: 1_000, ..find("mesh25").unwrap() };
    let outcome = run(&impossible, 7);
    assert_eq!(outcome.verdict, Verdict::Liveness);
    let text = failure_text(&outcome, "mesh25");
    assert!(text.contains("seed 7") && text.contains("last events"), "{text}");
    assert!(text.contains("replay: ringleader run mesh25 --seed 7\n"), "{text}");
}

#[test]
fn leaders_must_be_as_steady_as_they_are_expected_to_be() {
    let steady =
        |from_us, changes_max| Scenario { steady: Some(Steady { from_us, changes_max }), ..find("ring16").unwrap() };
    // The leader fails after ten seconds and comes back, so every node changes leaders twice.
    let outcome = run(&steady(5_000_000, 1), 7);
    assert_eq!(outcome.verdict, Verdict::Liveness);
    let text = failure_text(&outcome, "ring16");
    assert!(text.contains("changed its leader") && text.contains("after 5 s; at most 1 allowed"), "{text}");
    assert_eq!(run(&steady(5_000_000, 9), 7).verdict, Verdict::Ok);
    assert_eq!(run(&steady(35_000_000, 0), 7).verdict, Verdict::Ok, "long after that nothing changes");
}

const GOOD: &str = r#"name = "t"
duration = "30 s"
[topology]
kind = "grid"
nodes = 4
spacing = "10 m"
[radio]
model = "plain"
[[fault]]
kind = "crash"
nodes = [2]
at = "5 s"
[expect]
agreement_within = "10 s"
"#;

#[test]
fn units_may_be_in_the_key() {
    let in_keys =
        GOOD.replace("spacing = \"10 m\"", "spacing_cm = 1000").replace("duration = \"30 s\"", "duration_ms = 30e3");
    assert_eq!(read("t", &in_keys), read("t", GOOD));
    assert!(read("t", GOOD).is_ok());
}

/// What replaces what in a good file, the line that is named, and how.
const REFUSED: &[(&str, &str, usize, &str)] = &[
    ("kind = \"grid\"", "knid = \"grid\"", 4, "unknown key `knid` in [topology]; did you mean `kind`?"),
    ("[expect]", "[expects]", 13, "unknown key `expects`; did you mean `expect`?"),
    ("\"10 m\"", "\"10 s\"", 6, "`spacing` has the wrong unit \"s\" (it may be m, cm, km); write \"20 m\""),
    ("\"10 m\"", "10", 6, "`spacing` needs a unit: write spacing = \"20 m\", or spacing_m = a number"),
    ("\"10 m\"", "\"-10 m\"", 6, "`spacing` must be between 0 m and 100 km"),
    ("\"10 m\"", "\"0 m\"", 6, "`spacing` must be more than nothing"),
    ("\"plain\"", "\"plane\"", 8, "`model` cannot be \"plane\"; did you mean \"plain\"?"),
    ("nodes = 4", "nodes = 0", 5, "`nodes` must be a whole number from 1 to 1000"),
    ("nodes = [2]", "nodes = [9]", 11, "`nodes` must be a whole number from 1 to 4"),
    ("\"30 s\"", "\"12 s\"", 2, "`duration` is too short"),
    ("name = \"t\"", "name = t", 1, "not TOML"),
    ("at = \"5 s\"", "", 9, "[fault] needs the key `at` or `every`"),
    ("spacing = \"10 m\"", "spacing = \"10 m\"\nspacing_m = 3", 6, "`spacing` is given twice"),
    ("model = \"plain\"", "channel = 27", 8, "`channel` must be a whole number from 11 to 26"),
    ("model = \"plain\"", "model = \"disc\"", 7, "[radio] needs the key `reach`"),
    ("model = \"plain\"", "model = \"table\"", 7, "[radio] needs the key `links`"),
    ("model = \"plain\"", "model = \"table\"\nlinks = \"none.csv\"", 9, "`links` names none.csv, which cannot be read"),
    ("\"crash\"", "\"drift\"", 9, "[fault] needs the key `drift`"),
    ("nodes = [2]", "nodes = [2]\nflash = \"turn\"", 12, "`flash` cannot be \"turn\"; did you mean \"torn\"?"),
    ("\"crash\"\nnodes = [2]", "\"corrupt\"\nshare = \"150 %\"", 11, "`share` must be between 0 % and 100 %"),
    (
        "\"crash\"\nnodes = [2]",
        "\"attack\"\nframes = [\"magic\"]",
        11,
        "`frames` must be a list of words out of random",
    ),
    (
        "[expect]",
        "[protocol]\nkind = \"hirarchy\"\n[expect]",
        14,
        "`kind` cannot be \"hirarchy\"; did you mean \"hierarchy\"?",
    ),
    ("[expect]", "[expect]\nleader_changes = 2", 14, "`leader_changes` needs steady_from"),
    ("[expect]", "[expect]\nsteady_from = \"9 s\"", 14, "`steady_from` needs leader_changes"),
    (
        "[expect]",
        "[expect]\nleader_changes = 2\nsteady_from = \"30 s\"",
        2,
        "`duration` ends before steady_from, so nothing would be counted",
    ),
    ("[expect]", "[[node]]\nid = 5\n[expect]", 14, "`id` must be a whole number from 1 to 4"),
    (
        "[expect]",
        "[[node]]\nid = 1\nkind = \"bord\"\n[expect]",
        15,
        "`kind` cannot be \"bord\"; did you mean \"board\"?",
    ),
    (
        "[expect]",
        "[[node]]\nid = 1\nkind = \"board\"\npower = \"1 dBm\"\n[expect]",
        15,
        "`kind` cannot be \"board\": a board cannot send with 1 dBm, only with -40, -20",
    ),
    (
        "[expect]",
        "[[node]]\nid = 1\nkind = \"board\"\n[protocol]\nkind = \"soft-state\"\n[expect]",
        15,
        "`kind` cannot be \"board\": a board runs whole nodes",
    ),
    ("[expect]", "[[node]]\nid = 1\n[[node]]\nid = 1\n[expect]", 16, "`id` 1 is given to two nodes"),
    ("[expect]", "[mobility]\nkind = \"file\"\n[expect]", 13, "[mobility] needs the key `file`"),
    ("[expect]", "[mobility]\nkind = \"waypoint\"\ngroups = 2\n[expect]", 15, "`groups` is for kind = \"group\" only"),
    (
        "[expect]",
        "[mobility]\nkind = \"group\"\ngroups = 5\n[expect]",
        15,
        "`groups` must be a whole number from 1 to 4",
    ),
    ("\"plain\"", "\"plain\"\ndrift = \"20001 ppm\"", 9, "`drift` must be between 0 ppm and 20000 ppm"),
];

#[test]
fn bad_files_are_explained() {
    reader::refused(GOOD, REFUSED);
}

/// Each test has its own empty directory.
fn directory(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("ringleader-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn tables_of_links_and_ways_are_read_from_files() {
    let directory = directory("tables");
    let scenario = directory.join("t.toml").display().to_string();
    let (links, ways) = (directory.join("links.csv"), directory.join("ways.csv"));
    let text = GOOD.replace("model = \"plain\"", "model = \"table\"\nlinks = \"links.csv\"");
    let moving = "[mobility]\nkind = \"file\"\nfile = \"ways.csv\"\n[expect]";
    std::fs::write(&ways, "# seconds, node, x, y\n1, 4, 0, 0\n2.5, 4, 10, 5\n").unwrap();
    std::fs::write(&links, "1, 2, 70\n2,1, 71.5\n\n3,4,60\n").unwrap();
    let plan = read(&scenario, &text).unwrap();
    let Model::Table(table) = &plan.radio.model else { panic!("{:?}", plan.radio.model) };
    assert!(table.changes.is_empty());
    let losses: Vec<_> = table.losses.iter().map(|(&(from, to), &db)| (from.0, to.0, db)).collect();
    assert_eq!(losses, [(0, 1, 70.0), (1, 0, 71.5), (2, 3, 60.0)]);
    let law = read(&scenario, &text.replace("links = ", "exponent = 4\nlinks = ")).unwrap_err();
    assert!(law.what.contains("`exponent` means nothing to model = \"table\""), "{law}");
    let walking = read(&scenario, &GOOD.replace("[expect]", moving)).unwrap();
    assert_eq!(walking.mobility.as_ref().map(Mobility::until_us), Some(2_500_000));
    let both = read(&scenario, &text.replace("[expect]", moving)).unwrap_err();
    assert!(both.line == 15 && both.what.contains("does not matter to model = \"table\""), "{both}");
    for (bad, line, says) in [
        ("1, 2, 70\n1, 5, 60\n", 2, "there is no node 5; nodes are numbered from 1 to 4"),
        ("1, 2\n", 1, "must be 3 numbers with commas between them: from, to, loss in dB"),
        ("1, 2, far\n", 1, "must be 3 numbers"),
        ("1, 2, -70\n", 1, "the loss must be between 0 dB and 250 dB"),
        ("1, 2, 1e300\n", 1, "the loss must be between 0 dB and 250 dB"),
        ("1, 1, 70\n", 1, "no link to itself"),
        ("1, 2, 70\n# again\n1, 2, 71\n", 3, "was listed before"),
    ] {
        std::fs::write(&links, bad).unwrap();
        let problem = read(&scenario, &text).unwrap_err();
        assert_eq!((problem.line, problem.file.as_str()), (line, links.to_str().unwrap()), "{problem}");
        assert!(problem.what.contains(says), "{problem}");
    }
    std::fs::write(&links, "1, 2, 70\n").unwrap();
    for (bad, line, says) in [
        ("1, 4, 0, 0\n1e300, 4, 0, 0\n", 2, "the time must be between 0 s and 30 d"),
        ("-1, 4, 0, 0\n", 1, "the time must be between 0 s and 30 d"),
        ("1, 4, 0, -1e308\n", 1, "the distance from the origin must be between 0 m and 100 km"),
        ("inf, 4, 0, 0\n", 1, "must be 4 numbers"),
    ] {
        std::fs::write(&ways, bad).unwrap();
        let problem = read(&scenario, &GOOD.replace("[expect]", moving)).unwrap_err();
        assert_eq!((problem.line, problem.file.as_str()), (line, ways.to_str().unwrap()), "{problem}");
        assert!(problem.what.contains(says), "{problem}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn nodes_may_have_channels_powers_and_places_of_their_own() {
    let text = GOOD.replace(
        "[topology]\nkind = \"grid\"\nnodes = 4\nspacing = \"10 m\"\n",
        "[[node]]\nid = 1\nat = [0, 0]\n[[node]]\nid = 2\nat = [10, 0]\npower = \"-8 dBm\"\n[[node]]\nid = 3\nat = [20, 0]\nchannel = 20\nkind = \"sim\"\n",
    );
    let plan = read("t", &text).unwrap();
    assert_eq!(plan.topology.nodes(), 3);
    assert_eq!((plan.nodes[&NodeIndex(1)].tx_dbm, plan.nodes[&NodeIndex(2)].channel), (Some(-8.0), Some(20)));
    let outcome = run(&plan, 1);
    // The third is on another channel and leads itself; the others find each other before one fails.
    let last = |id: u16| outcome.follows.iter().rfind(|follow| follow.node == id).and_then(|follow| follow.leader);
    assert_eq!(last(3), Some(3));
    assert!(outcome.follows.iter().any(|follow| follow.node != 3 && follow.leader.is_some_and(|l| l != follow.node)));
}

#[test]
fn a_run_can_be_written_down_and_repeats_event_by_event() {
    let directory = directory("recorded");
    let (trace, pcap) = (directory.join("t.jsonl"), directory.join("t.pcapng"));
    let file = |path: &std::path::Path| Some(Box::new(std::fs::File::create(path).unwrap()) as Box<dyn std::io::Write>);
    let recorders = Recorders { trace: file(&trace), pcap: file(&pcap), ..Recorders::default() };
    let scenario = read("t", GOOD).unwrap();
    let outcome = run_recorded(&scenario, 3, recorders).unwrap();
    assert_eq!(outcome, run(&scenario, 3), "recording changes nothing");
    let text = std::fs::read_to_string(&trace).unwrap();
    let records: Vec<_> = text.lines().enumerate().map(|(at, line)| parse_line(at + 1, line).unwrap()).collect();
    let frames = records.iter().filter(|record| matches!(record.event, Event::Frame { .. })).count() as u64;
    assert_eq!(frames, outcome.sent);
    assert_eq!(records.iter().filter(|record| matches!(record.event, Event::PowerOff {})).count(), 1);
    let ids = records.iter().filter_map(|record| match record.event {
        Event::Id { id } => Some((record.node, id.0)),
        _ => None,
    });
    assert_eq!(
        ids.collect::<Vec<_>>(),
        [1, 2, 3, 4].map(|id| (Some(NodeNumber(usize::from(id))), id)),
        "nodes go by their ids"
    );
    let off = records.iter().find(|record| matches!(record.event, Event::PowerOff {})).unwrap();
    assert_eq!(off.node, Some(NodeNumber(2)), "as the scenario says");
    assert!(std::fs::metadata(&pcap).unwrap().len() > 20 * frames);
    decode(&pcap, frames);
    std::fs::remove_dir_all(&directory).unwrap();
    let (again, comparison) = run_twice(&scenario, 3, Recorders::default()).unwrap();
    assert!(comparison.same && again == outcome, "{comparison:?}");
}

/// Decodes a capture with Wireshark's command-line tool, if it is installed.
fn decode(pcap: &std::path::Path, frames: u64) {
    let tshark = std::process::Command::new("tshark")
        .args([
            "-o",
            "wpan.fcs_format:ITU-T CRC-16",
            "-T",
            "fields",
            "-e",
            "frame.protocols",
            "-e",
            "wpan.fcs_ok",
            "-r",
        ])
        .arg(pcap)
        .output();
    let output = match tshark {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("tshark is not installed: the capture was not decoded");
            return;
        }
        Err(error) => panic!("cannot start tshark: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count() as u64, frames);
    for line in text.lines() {
        let (protocols, is_right) = line.split_once('\t').unwrap();
        assert!(protocols.starts_with("wpan") && ["1", "True"].contains(&is_right), "{line}");
    }
}

#[test]
fn timelines_show_leaders_and_changes() {
    let outcome = run(&find("partition-merge").unwrap(), 2);
    let story = Story::of(&outcome);
    let text = timeline::text(&story);
    let rows: Vec<&str> = text.lines().skip(2).take(16).collect();
    assert!(rows.iter().all(|row| row.len() == 8 + 72), "{text}");
    assert_eq!(text.lines().nth(1).unwrap().matches('|').count(), 2, "the wall goes up and comes down\n{text}");
    let ends: std::collections::BTreeSet<String> = rows.iter().map(|row| row[row.len() - 1..].to_uppercase()).collect();
    assert_eq!(ends.len(), 1, "in the end there is one leader\n{text}");
    let svg = draw::timeline::svg(&story);
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("stroke-dasharray").count(), 2);
}

#[test]
fn a_node_whose_flash_is_dead_only_listens() {
    let scenario = find("bad-flash").unwrap();
    let outcome = run(&scenario, 4);
    assert_eq!(outcome.verdict, Verdict::Ok, "{}", failure_text(&outcome, "bad-flash"));
    let last = outcome.follows.iter().rfind(|follow| follow.node == 3).unwrap();
    assert!(last.at_ms >= 34_000 && last.leader.is_none_or(|leader| leader == 3), "{last:?}");
}

#[test]
fn an_attacker_is_refused_by_nodes_with_a_key() {
    let outcome = run(&find("hostile").unwrap(), 2);
    assert_eq!(outcome.verdict, Verdict::Ok, "{}", failure_text(&outcome, "hostile"));
    assert!(outcome.refused > 100, "{}", outcome.refused);
    let (corrupted, malformed) =
        outcome.nodes.iter().fold((0, 0), |sum, node| (sum.0 + node.corrupted, sum.1 + node.malformed));
    assert!(corrupted > 0 && malformed > 0, "{corrupted} {malformed}");
}

#[test]
fn nodes_that_broadcast_plainly_still_agree() {
    let plan = Scenario {
        protocol: ProtocolPlan { program: ProgramKind::SoftState, ..ProtocolPlan::default() },
        ..find("mesh25").unwrap()
    };
    for seed in 1..=2 {
        let outcome = run(&plan, seed);
        assert_eq!(outcome.verdict, Verdict::Ok, "{}", failure_text(&outcome, "mesh25 with soft-state"));
        assert_eq!(outcome.retries, 0, "nothing is ever acknowledged");
    }
}

#[test]
fn unknown_scenarios_are_explained() {
    assert!(find("mesh2").unwrap_err().to_string().contains("did you mean \"mesh25\"?"));
    assert!(find("nowhere.toml").unwrap_err().to_string().contains("cannot read"));
    assert!(find("something").unwrap_err().to_string().contains("ringleader scenarios"));
}

#[test]
fn no_text_of_a_scenario_does_harm() {
    let inputs: Vec<Vec<u8>> = BUILT_IN.iter().map(|(_, text)| text.as_bytes().to_vec()).collect();
    let mut accepted = 0;
    for seed in 0..8_000 {
        let bytes = mutate::mutated(&inputs, &mut Rng::stream(seed, 4_321));
        let outcome = std::panic::catch_unwind(|| harness::scenario_text(&bytes));
        accepted += outcome.unwrap_or_else(|_| panic!("seed {seed}: {}", String::from_utf8_lossy(&bytes)));
    }
    assert!((800..7_200).contains(&accepted), "{accepted} were accepted: too few or too many to have tried much");
}
