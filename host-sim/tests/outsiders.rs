//! Radios that are not nodes, and nodes that move in groups.

use std::collections::BTreeSet;

use host_sim::cli::scenario_file::read;
use sim::air::index::NodeIndex;
use sim::air::medium::{Medium, Tuning};
use sim::air::propagation::Propagation;
use sim::scenario::input::plan::{Groups, Mobility, SpeedRange, Topology, Wander};
use sim::scenario::judge::components::{Admission, Components};
use sim::scenario::report::outcome::Outcome;
use sim::scenario::run::drive::run;
use sim::scenario::run::walk::Walk;

#[test]
fn links_between_groups_come_and_go_and_those_inside_stay() {
    let positions = Topology::Grid { nodes: 16, spacing: 8.0 }.positions(1);
    let mut medium = Medium::new(Propagation::plain(1), None, 1);
    for &position in &positions {
        medium.add(position, Tuning { channel: 15, tx_dbm: 0.0 });
    }
    let wander = Wander {
        groups: Some(Groups { count: 2, wander: 1.0 }),
        speed: SpeedRange { least: 2.0, most: 5.0 },
        side: 150.0,
        until_us: 60_000_000,
    };
    let mut walk = Walk::new(&Mobility::Random(wander), &positions, 1);
    // Strips of a grid of four columns: two columns each.
    let is_inside = |&(a, b): &(NodeIndex, NodeIndex)| a.0 % 4 / 2 == b.0 % 4 / 2;
    let mut between = BTreeSet::new();
    for step in 0..300 {
        for (node, position) in walk.pass(step * 200_000, 0.2) {
            medium.set_position(node.radio(), position);
        }
        let power = |a: NodeIndex, b: NodeIndex| medium.mean_dbm(a.radio(), b.radio());
        let links = Components::find(power, 16, |_| true, |_| -100.5, Admission::LINKS).links;
        assert_eq!(links.iter().filter(|link| is_inside(link)).count(), 2 * 28, "all eight of a group hear each other");
        between.insert(links.len() - 2 * 28);
    }
    assert!(between.contains(&0) && between.len() > 10, "{between:?}");
}

/// Four nodes with these radios, and one fault or other table; `file` is what the scenario is called.
fn outcome_of(file: &str, radio: &str, more: &str) -> Outcome {
    seeded_outcome_of(1, file, radio, more)
}

fn seeded_outcome_of(seed: u64, file: &str, radio: &str, more: &str) -> Outcome {
    let text = format!(
        "name = \"t\"\nduration = \"45 s\"\n[topology]\nkind = \"grid\"\nnodes = 4\nspacing = \"10 m\"\n[radio]\n{radio}\n{more}\n"
    );
    run(&read(file, &text).unwrap(), seed)
}

#[test]
fn jammers_attackers_and_networks_next_door_reach_nodes_of_a_table() {
    let directory = std::env::temp_dir().join(format!("ringleader-outsiders-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let pairs = (1..=4).flat_map(|from| (1..=4).filter(move |to| *to != from).map(move |to| (from, to)));
    let rows: Vec<String> = pairs.map(|(from, to)| format!("{from}, {to}, 70")).collect();
    std::fs::write(directory.join("links.csv"), rows.join("\n")).unwrap();
    let file = directory.join("t.toml").display().to_string();
    let of_table = |more: &str| outcome_of(&file, "model = \"table\"\nlinks = \"links.csv\"", more);
    let received = |more: &str| of_table(more).received;
    let clear = received("");
    let jam = "[[fault]]\nkind = \"jam\"\nplace = [5, 5]\npower = \"20 dBm\"\nat = \"0 s\"\nfor = \"30 s\"";
    let jammed = received(jam);
    assert!(jammed < clear * 2 / 3, "{jammed} of {clear}");
    let elsewhere = received(&jam.replace("power", "channel = 26\npower"));
    assert!(elsewhere * 10 > clear * 9, "another channel: {elsewhere} of {clear}");
    let wifi = received("[radio.wifi]\nat = [5, 5]\npower = \"20 dBm\"\nduty = \"90 %\"");
    assert!(wifi < clear * 2 / 3, "{wifi} of {clear}");
    let attack = "[[fault]]\nkind = \"attack\"\nplace = [5, 5]\nframes = [\"length\"]\nat = \"1 s\"\nfor = \"9 s\"";
    let malformed = |more: &str| of_table(more).nodes.iter().map(|node| node.malformed).sum::<u64>();
    assert!(malformed(attack) > 100);
    assert_eq!(malformed(&attack.replace("place", "channel = 20\nplace")), 0);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_blind_radio_finds_every_channel_clear() {
    let jam = "[[fault]]\nkind = \"jam\"\nplace = [5, 5]\npower = \"20 dBm\"\nat = \"0 s\"\nfor = \"30 s\"";
    let busy = |cca: &str| outcome_of("t", &format!("model = \"plain\"\ncca = \"{cca}\""), jam).busy;
    assert!(busy("both") > 0 && busy("energy") > 0);
    assert_eq!((busy("carrier"), busy("blind")), (0, 0), "there is noise, and no carrier");
}

#[test]
fn nobody_hides_from_noise_behind_a_partition() {
    let partition = "[[fault]]\nkind = \"partition\"\nnodes = [1, 2, 3, 4]\nat = \"1 s\"\nfor = \"30 s\"\n";
    let jam = "[[fault]]\nkind = \"jam\"\nplace = [5, 5]\npower = \"20 dBm\"\nat = \"1 s\"\nfor = \"30 s\"";
    let of = |seed, more: &str| seeded_outcome_of(seed, "t", "model = \"plain\"", more).received;
    let received = |more: &str| (1..=4).map(|seed| of(seed, more)).sum::<u64>();
    let (hidden, jammed) = (received(partition), received(&format!("{partition}{jam}")));
    // Frames received before the jammer comes and after it has gone count in both.
    assert!(jammed < hidden * 9 / 10, "{jammed} of {hidden}");
}

#[test]
fn the_network_next_door_does_not_choose_whom_faults_strike() {
    let crash = "[[fault]]\nkind = \"crash\"\nwho = \"random\"\nevery = \"3 s\"\nuntil = \"20 s\"\nfor = \"1 s\"\n";
    let wifi = "[radio.wifi]\nat = [500, 500]\npower = \"-30 dBm\"\n";
    let struck = |more: &str| -> Vec<String> {
        let changes = outcome_of("t", "model = \"plain\"", more).changes.into_iter();
        changes.map(|change| change.what).filter(|what| what.ends_with(" off")).collect()
    };
    let alone = struck(crash);
    assert!(alone.len() > 3);
    assert_eq!(struck(&format!("{wifi}{crash}")), alone);
}
