//! What a board waits for before anything else can run: its crystals.

use emulator::board::Board;
use emulator::soc::{Chip, Surroundings};

use super::bench::{Bench, any, program};

/// A board whose slow crystal takes this long to start.
fn board(lfxo_start_us: u64) -> Board {
    let surroundings = Surroundings { lfxo_start_us, ..Surroundings::default() };
    Board::with_surroundings(Chip::Nrf52840, program(), 1, 1, surroundings).expect("the image fits")
}

#[test]
fn a_slow_crystal_that_does_not_start_is_named() {
    let mut bench = Bench::new(vec![board(3_600_000_000)]);
    bench.run_ms(5_000);
    let log = bench.log(0);
    assert!(any(&log, "the 32 kHz crystal does not start: waited 2 s"), "{log:?}");
    assert!(bench.network.boards()[0].counts().software_resets >= 2, "it tries again");
    assert_eq!(bench.network.boards()[0].counts().watchdog_resets, 0, "long before the watchdog");
}

#[test]
fn a_crystal_that_takes_its_time_is_waited_for() {
    let mut bench = Bench::new(vec![board(1_500_000)]);
    bench.run_ms(4_000);
    let log = bench.log(0);
    assert!(any(&log, "Ringleader") && !any(&log, "does not start"), "{log:?}");
}
