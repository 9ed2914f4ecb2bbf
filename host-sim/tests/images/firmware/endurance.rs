//! Long runs, and a probe that is gone.

use common::host_link::ToBoard;
use emulator::board::{Board, StackUse};

use super::bench::{Bench, MS, config, provisioned};

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
fn a_board_sleeps_with_nothing_pending() {
    let mut bench = Bench::new(vec![provisioned(1, &config(1))]);
    // Every five seconds it works out how likely it is to fail, with numbers that have to be rounded.
    for _ in 0..120 {
        bench.run_ms(100);
        assert!(!bench.network.boards()[0].sleeps_badly(), "after {} ms", bench.network.now() / MS);
    }
}

#[test]
fn a_board_whose_probe_was_unplugged_works_on() {
    let mut bench = Bench::new(vec![provisioned(1, &config(1)), provisioned(2, &config(2))]);
    bench.elect(30);
    // The probe leaves the log in the mode in which a full one blocks, and nobody empties it.
    bench.network.board(0).ask_log_to_wait();
    bench.network.board(0).set_probe(false);
    bench.log(0);
    // A short line is about ten bytes of the two thousand.
    for _ in 0..400 {
        bench.tell(0, &ToBoard::Identify);
        bench.run_ms(100);
    }
    let stands = [bench.snapshot(0), bench.snapshot(1)];
    assert!(stands.iter().all(|stand| stand.links_up == 1 && stand.counters.links_down == 0), "{stands:?}");
    assert_eq!(bench.network.boards()[0].counts().watchdog_resets, 0);

    bench.network.board(0).set_probe(true);
    bench.run_ms(1_000);
    let waited = bench.log(0);
    assert!(waited.len() > 50 && waited.len() < 400, "{} lines fitted", waited.len());
    assert!(waited.iter().all(|line| line == "identifying"), "no line is torn: {waited:?}");
    bench.tell(0, &ToBoard::Identify);
    bench.run_ms(1_000);
    assert_eq!(bench.log(0), ["identifying"]);
}
