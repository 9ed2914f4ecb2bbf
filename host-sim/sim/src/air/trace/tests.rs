use common::types::NodeId;
use proptest::prelude::*;

use super::{Event, NodeNumber, ObstacleKind, Record, Trace, parse_line};
use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::medium::Reception;
use crate::air::sink::tests::SmallDisk;
use crate::air::talker::{Talker, room};
use crate::air::world::Watcher;

fn lines(bytes: Vec<u8>) -> Vec<String> {
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

/// A run with a loss of power in it.
fn run(mut trace: Trace<Vec<u8>>) -> Vec<String> {
    (0..3).for_each(|node| trace.power(0, NodeNumber(node), true));
    let mut world = room(3, &mut trace);
    world.run_until(500_000, &mut trace);
    trace.power(world.now_us(), NodeNumber(2), false);
    world.power_off(NodeIndex(2), &mut trace);
    world.run_until(2_000_000, &mut trace);
    trace.power(world.now_us(), NodeNumber(2), true);
    world.power_on(NodeIndex(2), &mut trace);
    world.run_until(2_500_000, &mut trace);
    lines(trace.finish().unwrap())
}

#[test]
fn every_event_has_its_line() {
    let mut trace = Trace::new(Vec::new());
    let watcher: &mut dyn Watcher<Talker> = &mut trace;
    watcher.frame(12, RadioIndex(3), &[0x41, 0x88, 0x0F]);
    watcher.reception(652, RadioIndex(3), Reception { to: RadioIndex(1), rssi_dbm: -61.5, intact: true });
    watcher.reception(652, RadioIndex(3), Reception { to: RadioIndex(2), rssi_dbm: -91.2, intact: false });
    trace.power(700, NodeNumber(4), true);
    trace.power(800, NodeNumber(4), false);
    trace.note(900, Some(NodeNumber(4)), "a \"quoted\" word\nand a line");
    trace.note(901, None, "the wall is down");
    assert_eq!(
        lines(trace.finish().unwrap()),
        [
            r#"{"time_us":12,"node":3,"event":"frame","psdu":"41880f"}"#,
            r#"{"time_us":652,"node":1,"event":"received","from":3,"rssi_dbm":-62}"#,
            r#"{"time_us":652,"node":2,"event":"damaged","from":3,"rssi_dbm":-91}"#,
            r#"{"time_us":700,"node":4,"event":"power_on"}"#,
            r#"{"time_us":800,"node":4,"event":"power_off"}"#,
            r#"{"time_us":900,"node":4,"event":"note","text":"a \"quoted\" word\nand a line"}"#,
            r#"{"time_us":901,"node":null,"event":"note","text":"the wall is down"}"#,
        ]
    );
}

#[test]
fn a_leader_is_written_once_per_change() {
    let changes: Vec<(NodeNumber, Option<NodeId>)> = run(Trace::new(Vec::new()))
        .iter()
        .enumerate()
        .filter_map(|(index, line)| match parse_line(index + 1, line).unwrap() {
            Record { node: Some(node), event: Event::Leader { leader }, .. } => Some((node, leader)),
            _ => None,
        })
        .collect();
    // Each follows itself at first, then 99 speaks, then 98; the last was switched off and on and starts over.
    let expected = [(0, 100), (1, 99), (2, 98), (0, 99), (0, 98), (1, 98), (2, 98)];
    assert_eq!(changes, expected.map(|(node, id)| (NodeNumber(node), Some(NodeId(id)))));
}

#[test]
fn a_leader_that_is_gone_is_written_too() {
    struct Fixed(Option<NodeId>);
    impl super::Leads for Fixed {
        fn leader(&self) -> Option<NodeId> {
            self.0
        }
    }
    let mut trace = Trace::new(Vec::new());
    for (time, leader) in [(1, None), (2, Some(NodeId(7))), (3, Some(NodeId(7))), (4, None), (5, None)] {
        trace.station(time, NodeIndex(0), &Fixed(leader));
    }
    assert_eq!(
        lines(trace.finish().unwrap()),
        [
            r#"{"time_us":2,"node":0,"event":"leader","leader":7}"#,
            r#"{"time_us":4,"node":0,"event":"leader","leader":null}"#,
        ]
    );
}

#[test]
fn the_same_run_gives_the_same_bytes_and_every_line_can_be_read() {
    let first = run(Trace::new(Vec::new()));
    assert_eq!(first, run(Trace::new(Vec::new())));
    let records: Vec<Record> =
        first.iter().enumerate().map(|(index, line)| parse_line(index + 1, line).unwrap()).collect();
    assert!(records.is_sorted_by_key(|record| record.time_us));
    let count = |of: fn(&Event) -> bool| records.iter().filter(|record| of(&record.event)).count();
    assert_eq!(count(|event| matches!(event, Event::PowerOn {})), 4);
    assert_eq!(count(|event| matches!(event, Event::PowerOff {})), 1);
    // Two stations speak three times. The third speaks once: its clock starts over, and its next turn is too far off.
    assert_eq!(count(|event| matches!(event, Event::Frame { .. })), 7);
    assert_eq!(count(|event| matches!(event, Event::Received { .. })), 12, "two hear five of them, one hears two");
    for (line, record) in first.iter().zip(&records) {
        assert_eq!(format!("{line}\n"), record.to_line());
    }
}

#[test]
fn errors_come_out_at_the_end() {
    let mut trace = Trace::new(SmallDisk { room: 40, ..SmallDisk::default() });
    trace.note(1, None, "more than forty bytes with everything around it");
    assert_eq!(trace.finish().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn malformed_lines_are_refused_with_their_number() {
    let malformed = [
        ("", "EOF"),
        ("not json", "expected ident"),
        (r#"{"time_us":1,"node":2,"event":"frame","psdu":"41"#, "EOF"),
        (r#"{"time_us":1,"node":2,"event":"power_on"} {}"#, "trailing characters (column 43)"),
        (r#"{"node":2,"event":"power_on"}"#, "missing field `time_us`"),
        (r#"{"time_us":1,"event":"power_on"}"#, "missing field `node`: only notes and obstacles may go without one"),
        (r#"{"time_us":1,"node":null,"event":"frame","psdu":""}"#, "only notes and obstacles may go without one"),
        (r#"{"time_us":1,"node":2}"#, "missing field `event`"),
        (r#"{"time_us":1,"node":2,"event":"explosion"}"#, "unknown variant `explosion`"),
        (r#"{"time_us":-1,"node":2,"event":"power_on"}"#, "invalid value: integer `-1`"),
        (r#"{"time_us":1,"node":2,"event":"received","from":0}"#, "missing field `rssi_dbm`"),
        (r#"{"time_us":1,"node":2,"event":"received","from":0,"rssi_dbm":-61.5}"#, "expected i16"),
        (r#"{"time_us":1,"node":2,"event":"leader","leader":65536}"#, "expected u16"),
        (r#"{"time_us":1,"node":2,"event":"frame","psdu":"418"}"#, "pairs of hexadecimal digits, not \"418\""),
        (r#"{"time_us":1,"node":2,"event":"frame","psdu":"4é"}"#, "pairs of hexadecimal digits"),
        (r#"{"time_us":1,"node":2,"event":"frame","psdu":"4188","more":1}"#, "unknown field `more`"),
        (r#"{"time_us":1,"node":2,"event":"power_on","more":1}"#, "unknown field `more`"),
    ];
    for (text, reason) in malformed {
        let error = parse_line(17, text).expect_err(text).to_string();
        assert!(error.starts_with("trace line 17: "), "{error}");
        assert!(error.contains(reason), "{text}: {error}");
        assert!(!error.contains("line 1 "), "only the trace's own line number: {error}");
    }
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..=127).prop_map(|psdu| Event::Frame { psdu }),
        any::<(u32, i16)>().prop_map(|(from, rssi_dbm)| Event::Received { from: NodeNumber(from as usize), rssi_dbm }),
        any::<(u32, i16)>().prop_map(|(from, rssi_dbm)| Event::Damaged { from: NodeNumber(from as usize), rssi_dbm }),
        proptest::collection::vec(any::<u8>(), 0..=127).prop_map(|psdu| Event::Corrupted { psdu }),
        any::<Option<u16>>().prop_map(|leader| Event::Leader { leader: leader.map(NodeId) }),
        Just(Event::PowerOn {}),
        Just(Event::PowerOff {}),
        Just(Event::Unseen {}),
        any::<u16>().prop_map(|id| Event::Id { id: NodeId(id) }),
        any::<(u16, bool)>().prop_map(|(peer, up)| Event::Link { peer: NodeId(peer), up }),
        any::<(i64, i64)>().prop_map(|(x_mm, y_mm)| Event::Place { x_mm, y_mm }),
        any::<Option<u16>>().prop_map(|parent| Event::Parent { parent: parent.map(NodeId) }),
        Just(Event::Busy {}),
        any::<(u64, u64)>().prop_map(|(charge_nah, airtime_us)| Event::Energy { charge_nah, airtime_us }),
        any::<(Vec<[i64; 2]>, Vec<u16>, bool)>().prop_map(|(points_mm, nodes, on)| Event::Obstacle {
            kind: ObstacleKind::Wall,
            points_mm,
            nodes: nodes.into_iter().map(NodeId).collect(),
            on,
        }),
        any::<String>().prop_map(|text| Event::Note { text }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_can_be_read(time_us: u64, node: usize, nowhere: bool, event in event()) {
        let node = (!nowhere || !matches!(event, Event::Note { .. })).then_some(NodeNumber(node));
        let record = Record { time_us, node, event };
        let line = record.to_line();
        prop_assert_eq!(line.matches('\n').count(), 1, "one line each");
        prop_assert_eq!(parse_line(1, &line), Ok(record));
    }
}
