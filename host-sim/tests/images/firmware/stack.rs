//! How deep the stack gets where a board has the most to do at once.

use common::config::Config;
use common::election::Algorithm;
use common::host_link::{Page, ToBoard};
use common::members::RingOrder;
use common::types::NodeId;
use emulator::board::StackUse;

use super::bench::{Bench, config, page_of, provisioned};

/// All of it, and what must stay free: an interrupt more, or a path that no test has taken.
const SIZE: u32 = 16 * 1_024;
const FREE: u32 = 2 * 1_024;

/// Boards record every call, elect, lose their leader, elect on demand, answer their hosts, and store a configuration.
fn busy(of: impl Fn(u16) -> Config) -> u32 {
    let mut bench = Bench::new((1..=5).map(|id| provisioned(u64::from(id), &of(id))).collect());
    bench.run_ms(500);
    (0..5).for_each(|number| bench.tell(number, &ToBoard::Reset { record: true }));
    bench.elect(30);
    for round in 0..10 {
        for number in 0..5 {
            let asked =
                [ToBoard::Elect, ToBoard::GetHello, ToBoard::GetSnapshot, ToBoard::Identify, ToBoard::Ping(round)];
            for message in &asked {
                bench.tell(number, message);
            }
        }
        bench.run_ms(500);
    }
    let leader = bench.snapshot(0).leader.expect("a leader");
    bench.network.power_off(usize::from(leader.0 - 1));
    bench.run_ms(5_000);
    // A new configuration is written and read back while the others elect.
    let page = Page::new(&page_of(&of(1))).expect("it fits");
    let survivor = usize::from(leader.0 == 1);
    bench.tell(survivor, &ToBoard::SetConfig(page));
    bench.run_ms(5_000);
    let depth = |StackUse { used, size }: StackUse| {
        assert_eq!(size, SIZE);
        used
    };
    bench.network.boards().iter().map(|board| depth(board.stack().expect("the image has a stack"))).max().unwrap_or(0)
}

#[test]
fn the_busiest_boards_leave_stack_free() {
    let ids: Vec<NodeId> = (1..=5).map(NodeId).collect();
    for algorithm in [Algorithm::Hs, Algorithm::Frlle, Algorithm::Height, Algorithm::Hierarchy] {
        let ring = algorithm.needs_ring().then(|| RingOrder::new(&ids).expect("five members"));
        let used = busy(|id| Config { algorithm, ring: ring.clone(), ..config(id) });
        println!("{algorithm}: {used} of {SIZE} bytes of stack");
        assert!(used + FREE <= SIZE, "{algorithm}: {used} of {SIZE} bytes of stack");
    }
}
