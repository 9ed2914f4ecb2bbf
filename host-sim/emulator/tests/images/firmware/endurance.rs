//! Long runs, and a host that does not listen.

use common::host_link::ToHost;
use emulator::board::{Board, StackUse};

use super::bench::{Bench, config, provisioned};

/// An elected board in a quiet network has nothing to do for most of its time.
const AWAKE_MAX: f64 = 0.02;

#[test]
fn twenty_minutes_of_a_quiet_network() {
    let mut bench = Bench::new(vec![provisioned(1, &config(1)), provisioned(2, &config(2))]);
    let leader = bench.elect(30);
    let before: Vec<_> = bench.network.boards().iter().map(Board::counts).collect();
    // The 24 bits of the clock wrap around every 512 seconds.
    for _ in 0..20 {
        bench.run_ms(60_000);
        (0..2).for_each(|number| drop((bench.log(number), bench.said(number))));
    }
    for (number, before) in before.iter().enumerate() {
        let stand = bench.snapshot(number);
        assert_eq!((stand.leader, stand.epoch), (Some(leader), Some(1)), "{stand:?}");
        assert_eq!((stand.counters.links_down, stand.links_up), (0, 1), "{stand:?}");
        assert_eq!(stand.counters.retries, 0, "every acknowledgement came in time");
        let counts = bench.network.boards()[number].counts();
        assert_eq!(counts.watchdog_resets + counts.lockups, 0);
        let (worked, passed) = (counts.awake - before.awake, counts.powered - before.powered);
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
        let awake = worked as f64 / passed as f64;
        println!("board {number}: {:.2} % awake", awake * 100.0);
        assert!(awake <= AWAKE_MAX, "board {number} is awake for {:.2} % of its time", awake * 100.0);
        let StackUse { used, size } = bench.network.boards()[number].stack().expect("the image has a stack");
        println!("board {number}: {used} of {size} bytes of stack");
        assert!(used < size);
    }
}

#[test]
fn a_board_without_listeners_works_on_and_tells_what_was_lost() {
    let mut bench = Bench::new(vec![provisioned(1, &config(1)), provisioned(2, &config(2))]);
    bench.elect(30);
    bench.network.board(0).set_probe(false);
    bench.run_ms(240_000);
    let stand = bench.snapshot(1);
    assert_eq!((stand.links_up, stand.counters.links_down), (1, 0), "{stand:?}");
    assert_eq!(bench.network.boards()[0].counts().watchdog_resets, 0);
    bench.network.board(0).set_probe(true);
    // The messages that still fitted come first. All later ones are reported as lost.
    bench.run_ms(10_000);
    let lost = |message: &ToHost| if let ToHost::Lost(lost) = message { *lost } else { 0 };
    let lost: u32 = bench.said(0).iter().map(lost).sum();
    assert!(lost > 100, "{lost} messages");
    let stand = bench.snapshot(0);
    assert_eq!((stand.links_up, stand.counters.links_down), (1, 0), "{stand:?}");
}
