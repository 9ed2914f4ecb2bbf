//! An acknowledgement is due 800 microseconds after its frame: how much a board does in between.
//!
//! Instructions are counted, which are the same on every PC. What they take on a real processor depends on its flash.

use common::election::Algorithm;
use common::members::RingOrder;
use common::types::NodeId;
use emulator::turnaround::Spread;

use super::bench::{Bench, config, provisioned};

/// Instructions that any acknowledgement may take, and half of them.
const MAX: u64 = 20_000;
const MEDIAN: u64 = 17_000;

/// Five boards elect, lose their leader and elect again.
fn five_boards(algorithm: Algorithm) -> Spread {
    let ids: Vec<NodeId> = (1..=5).map(NodeId).collect();
    let boards = ids.iter().map(|id| {
        let mut config = config(id.0);
        config.algorithm = algorithm;
        config.ring = algorithm.needs_ring().then(|| RingOrder::new(&ids).expect("five members"));
        provisioned(u64::from(id.0), &config)
    });
    let mut bench = Bench::new(boards.collect());
    bench.run_ms(10_000);
    let leader = bench.snapshot(0).leader.expect("a leader after ten seconds");
    bench.network.power_off(usize::from(leader.0 - 1));
    bench.run_ms(10_000);
    let taken = bench.network.boards().iter().flat_map(|board| board.turnaround().taken()).copied().collect();
    Spread::of(taken).expect("acknowledgements were asked for")
}

#[test]
fn an_acknowledgement_is_decided_within_its_budget_of_instructions() {
    for algorithm in [Algorithm::Hs, Algorithm::Height] {
        let spread = five_boards(algorithm);
        println!("{algorithm:?}: {spread:?}");
        assert!(spread.count >= 10, "{algorithm:?}: {spread:?}");
        assert!(spread.median <= MEDIAN && spread.max <= MAX, "{algorithm:?}: {spread:?}");
    }
}
