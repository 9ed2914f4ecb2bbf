//! All nodes listed through one board on a cable, with the image.

use std::collections::BTreeMap;

use common::data::wire::Known;
use common::host_link::{Question, ToBoard, ToHost};
use common::node::fleet::Report;
use common::types::NodeId;

use super::bench::{Bench, config, provisioned};

/// Asks through a board, in at most three turns.
fn ask(bench: &mut Bench, board: usize) -> BTreeMap<NodeId, Report> {
    let mut all = BTreeMap::new();
    for turn in 0..3 {
        let mut known = Known::default();
        for &id in all.keys() {
            known.add(id, turn);
        }
        bench.tell(board, &ToBoard::Ask(Question { number: 9, turn, known }));
        bench.run_ms(2_000);
        for message in bench.said(board) {
            if let ToHost::Answer { number: 9, from, report } = message {
                let report = Report::read(report.as_slice()).expect("a report");
                assert_eq!(report.snapshot.id, from);
                all.insert(from, report);
            }
        }
    }
    all
}

#[test]
fn five_boards_are_listed_through_one_of_them() {
    let mut bench = Bench::new((1..=5).map(|id| provisioned(u64::from(id), &config(id))).collect());
    bench.elect(30);
    // The supply is first measured after five seconds.
    bench.run_ms(6_000);
    let leader = bench.snapshot(0).leader;
    bench.tell(0, &ToBoard::GetHello);
    let build = bench.hello(0).build;
    for board in [0, 4] {
        let all = ask(&mut bench, board);
        assert_eq!(all.keys().map(|id| id.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5], "through board {board}");
        for report in all.values() {
            assert_eq!(report.snapshot.leader, leader);
            assert_eq!(report.about.build, build.0);
            assert!((2_500..3_700).contains(&report.about.supply_mv), "{report:?}");
            assert!(report.uptime_s > 5 && report.snapshot.counters.sent > 10, "{report:?}");
            let linked = report.neighbours.iter().filter(|heard| heard.is_linked).count();
            assert!(linked > 0 && linked == usize::from(report.snapshot.links_up), "{report:?}");
            assert!(report.neighbours.iter().all(|heard| (-100..0).contains(&heard.rssi_dbm)), "{report:?}");
        }
    }
}
