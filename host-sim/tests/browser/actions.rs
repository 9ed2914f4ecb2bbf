//! An action in the view is a fault at the end of the scenario. What happened before it stays as it was.

use sim::air::trace::{Event, NodeNumber, Record, parse_line};
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::run::drive::run_recorded;

use super::{Shared, beginning};
use crate::reader::refused;

const BASE: &str = r#"name = "t"
duration = "20 s"
[topology]
kind = "grid"
nodes = 6
spacing = "12 m"
[radio]
model = "usual"
[radio.wifi]
at = [30, 30]
[mobility]
kind = "waypoint"
speed_max = "1 m/s"
side = "30 m"
until = "5 s"
[[fault]]
kind = "jam"
place = [0, 0]
power = "-10 dBm"
at = "2 s"
for = "1 s"
[expect]
agreement_within = "10 s"
"#;

fn scenario(text: &str) -> Scenario {
    read("t.toml", text).unwrap_or_else(|problem| panic!("{problem}"))
}

fn records(trace: &str) -> Vec<Record> {
    trace.lines().enumerate().map(|(at, line)| parse_line(at + 1, line).unwrap()).collect()
}

#[test]
fn an_action_changes_nothing_of_what_came_before_it() {
    let actions = [
        "kind = \"crash\"\nnodes = [3]",
        "kind = \"restart\"\nnodes = [2]",
        "kind = \"move\"\nnodes = [1]\nto = [[200, 0]]",
        "kind = \"wall\"\nstart = [6, -50]\nend = [6, 50]",
        "kind = \"jam\"\nplace = [10, 10]\nfor = \"2 s\"",
        "kind = \"partition\"\nnodes = [1, 2]",
    ];
    let before = beginning(&scenario(BASE), 5, 6_000_000, 500_000);
    for action in actions {
        let text = format!("{BASE}[[fault]]\nat = \"4 s\"\n{action}\n");
        let after = beginning(&scenario(&text), 5, 6_000_000, 500_000);
        let is_earlier = |line: &&str| parse_line(1, line).unwrap().time_us < 4_000_000;
        let (earlier, same): (Vec<_>, Vec<_>) =
            (before.lines().filter(is_earlier).collect(), after.lines().filter(is_earlier).collect());
        assert!(earlier == same && earlier.len() > 500, "{action}");
        assert_ne!(before, after, "{action}");
    }
}

#[test]
fn stopping_on_the_way_changes_nothing() {
    let scenario = scenario(BASE);
    let whole = Shared::default();
    let recorders = Recorders { trace: Some(Box::new(whole.clone())), detail: true, ..Recorders::default() };
    let outcome = run_recorded(&scenario, 5, recorders).unwrap();
    let whole = String::from_utf8(whole.0.take()).unwrap();
    assert_eq!(whole, beginning(&scenario, 5, 20_000_000, 333_333));
    let plain = Shared::default();
    let recorders = Recorders { trace: Some(Box::new(plain.clone())), ..Recorders::default() };
    assert_eq!(outcome, run_recorded(&scenario, 5, recorders).unwrap(), "details change nothing of a run");
    let is_plain = |record: &Record| {
        !matches!(
            record.event,
            Event::Place { .. }
                | Event::Parent { .. }
                | Event::Link { .. }
                | Event::Busy {}
                | Event::Energy { .. }
                | Event::Obstacle { .. }
        )
    };
    let kept: Vec<Record> = records(&whole).into_iter().filter(is_plain).collect();
    assert_eq!(kept, records(&String::from_utf8(plain.0.take()).unwrap()), "details come on top");
}

#[test]
fn details_are_those_of_the_run() {
    let text =
        format!("{BASE}[[fault]]\nkind = \"move\"\nat = \"6 s\"\nnodes = [4, 2]\nto = [[300, -5.5], [300, 0]]\n");
    let all = records(&beginning(&scenario(&text), 5, 20_000_000, 1_000_000));
    let positions = all.iter().filter(|record| record.time_us == 6_000_000).filter_map(|record| match record.event {
        Event::Place { x_mm, y_mm } => Some((record.node?.0, x_mm, y_mm)),
        _ => None,
    });
    assert_eq!(positions.collect::<Vec<_>>(), [(2, 300_000, 0), (4, 300_000, -5_500)]);
    // Both were carried out of everybody's reach but each other's.
    let last = |node: usize, of: fn(&Event) -> Option<u16>| {
        all.iter().rev().filter(|record| record.node == Some(NodeNumber(node))).find_map(|record| of(&record.event))
    };
    let leader: fn(&Event) -> Option<u16> = |event| match event {
        Event::Leader { leader } => leader.map(|id| id.0),
        _ => None,
    };
    assert!([2, 4].contains(&last(2, leader).unwrap()) && last(2, leader) == last(4, leader));
    assert!(![2, 4].contains(&last(1, leader).unwrap()));
    let charge: fn(&Event) -> Option<u16> = |event| match event {
        Event::Energy { charge_nah, .. } => u16::try_from(charge_nah / 1_000).ok(),
        _ => None,
    };
    assert_eq!(last(1, charge), Some(36), "20 s of listening at 6.53 mA");
}

#[test]
fn moves_that_mean_nothing_are_refused() {
    let good = BASE.replace(
        "kind = \"jam\"\nplace = [0, 0]\npower = \"-10 dBm\"\nat = \"2 s\"\nfor = \"1 s\"\n",
        "kind = \"move\"\nnodes = [2]\nto = [[9, 9]]\nat = \"2 s\"\n",
    );
    refused(
        &good,
        &[
            ("nodes = [2]\n", "", 16, "`nodes`"),
            ("to = [[9, 9]]\n", "", 16, "`to`"),
            ("to = [[9, 9]]", "to = []", 19, "one point for each of the nodes, 1"),
            ("nodes = [2]", "nodes = [7]", 18, "`nodes`"),
            ("at = \"2 s\"", "every = \"2 s\"\nuntil = \"4 s\"", 20, "`every` is not for kind = \"move\""),
            ("at = \"2 s\"", "at = \"2 s\"\nfor = \"1 s\"", 21, "`for`"),
        ],
    );
}
