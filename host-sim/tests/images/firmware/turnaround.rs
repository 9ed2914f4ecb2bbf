//! How long a board takes from the end of a frame to the decision to acknowledge it.

use common::election::Algorithm;
use common::mac::{ANSWER_SET_UP, TURN_ROUND};
use common::members::RingOrder;
use common::types::NodeId;
use emulator::cpu::Cycles;
use emulator::io::CYCLES_PER_US;
use emulator::turnaround::Spread;

use super::bench::{Bench, config, provisioned_in, surroundings};

/// The median that the simulator's nodes are given, in microseconds.
const MEDIAN_US: u64 = 450;
const MEDIAN_UNCACHED_US: u64 = 700;

/// Five boards elect, lose their leader and elect again.
fn five_boards(algorithm: Algorithm, cycles: Cycles) -> Spread {
    let ids: Vec<NodeId> = (1..=5).map(NodeId).collect();
    let boards = ids.iter().map(|id| {
        let mut config = config(id.0);
        config.algorithm = algorithm;
        config.ring = algorithm.needs_ring().then(|| RingOrder::new(&ids).expect("five members"));
        let mut surroundings = surroundings();
        surroundings.cycles = cycles;
        provisioned_in(surroundings, u64::from(id.0), &config)
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
fn an_acknowledgement_is_decided_within_its_time_with_the_cache_and_without() {
    let time = (TURN_ROUND.as_micros() - ANSWER_SET_UP.as_micros()) * CYCLES_PER_US;
    for (cycles, median_us) in [(Cycles::Cached, MEDIAN_US), (Cycles::Uncached, MEDIAN_UNCACHED_US)] {
        for algorithm in [Algorithm::Hs, Algorithm::Height] {
            let spread = five_boards(algorithm, cycles);
            println!("{algorithm:?}, {cycles:?}, in cycles: {spread:?}");
            assert!(spread.count >= 10, "{algorithm:?}: {spread:?}");
            assert!(spread.median <= median_us * CYCLES_PER_US, "{algorithm:?}, {cycles:?}: {spread:?}");
            assert!(spread.p90 <= time, "{algorithm:?}, {cycles:?}: {spread:?}");
        }
    }
}
