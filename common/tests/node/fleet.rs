//! A node that asks all nodes for their status gets an answer from each.

use std::collections::BTreeMap;

use common::data::wire::{ANSWER_MAX, Known};
use common::names::Algorithm;
use common::node::fleet::{About, Report};
use common::types::NodeId;

use crate::ether::Ether;
use crate::mesh::{mesh, seconds};
use crate::rings::ring;

/// What a board has gathered of its question.
fn gathered(ether: &mut Ether, board: usize, number: u8, all: &mut BTreeMap<NodeId, Report>) {
    let mut buf = [0; ANSWER_MAX];
    while let Some((from, of, length)) = ether.call(board, |node, _| node.poll_answer(&mut buf)) {
        let report = Report::read(&buf[..length]).expect("a report");
        assert_eq!((report.snapshot.id, of), (from, number));
        assert_eq!(all.insert(from, report), None, "an answer comes once a turn");
    }
}

/// Asks through one board, in at most three turns.
fn ask(ether: &mut Ether, board: usize, number: u8) -> BTreeMap<NodeId, Report> {
    let mut all = BTreeMap::new();
    for turn in 0..3 {
        let mut known = Known::default();
        for &id in all.keys() {
            known.add(id, turn);
        }
        ether.call(board, |node, now| node.ask(now, number, turn, known));
        for _ in 0..20 {
            ether.run(common::time::Duration::from_millis(100));
            gathered(ether, board, number, &mut all);
        }
    }
    all
}

/// A mesh in which only neighbours in a line hear each other.
fn line(length: u16) -> Ether {
    let mut ether = mesh(3, length, 200);
    for a in 0..usize::from(length) {
        (a + 2..usize::from(length)).for_each(|b| ether.cut(a, b));
    }
    ether.run(seconds(20));
    ether
}

#[test]
fn every_node_answers_with_what_it_knows_of_itself() {
    let mut ether = line(6);
    for (board, supply_mv) in (0..6).zip(3_000..) {
        ether.call(board, |node, _| node.set_about(About { supply_mv, build: [9; 8] }));
    }
    for asker in [0, 3] {
        let all = ask(&mut ether, asker, 7);
        assert_eq!(all.len(), 6, "{:?}", all.keys());
        let leader = ether.agreed(0..6);
        for (&NodeId(id), report) in &all {
            assert_eq!(report.snapshot.leader, leader);
            assert_eq!(report.about, About { supply_mv: 2_999 + id, build: [9; 8] });
            assert!(report.uptime_s >= 20 && report.snapshot.counters.sent > 0);
            assert!(report.neighbours.iter().all(|heard| heard.rssi_dbm == -60 && heard.is_linked), "{report:?}");
            assert_eq!(report.neighbours.len(), if id == 1 || id == 6 { 1 } else { 2 });
        }
    }
}

#[test]
fn questions_work_on_rings_and_without_a_leader() {
    let mut ether = ring(5, 9, 100, Algorithm::Hs);
    ether.run(seconds(20));
    assert_eq!(ask(&mut ether, 4, 1).len(), 9);
    // A node alone has only itself to list.
    let mut alone = mesh(3, 1, 0);
    alone.run(seconds(5));
    assert_eq!(ask(&mut alone, 0, 1).into_keys().collect::<Vec<_>>(), [NodeId(1)]);
}

#[test]
fn two_may_ask_at_once_and_nobody_answers_what_is_known() {
    let mut ether = line(5);
    for asker in [0, 4] {
        ether.call(asker, |node, now| node.ask(now, 2, 0, Known::default()));
    }
    ether.run(seconds(5));
    for asker in [0, 4] {
        let mut all = BTreeMap::new();
        gathered(&mut ether, asker, 2, &mut all);
        assert_eq!(all.len(), 5);
    }
    ether.call(0, |node, now| node.ask(now, 2, 1, Known([0xFF; 16])));
    ether.run(seconds(5));
    let mut all = BTreeMap::new();
    gathered(&mut ether, 0, 2, &mut all);
    assert_eq!(all, BTreeMap::new());
}
