//! A sensor of temperature and humidity on two pins: there, absent, garbled, or with a wire held low.

use common::host_link::{Quantity, ToHost};
use emulator::soc::{Pin, Sht4x};

use super::bench::{Bench, any, board};

/// As the nRF52840-DK has them on its header.
const DATA: Pin = Pin::p0(26);
const CLOCK: Pin = Pin::p0(27);

/// Longer than a board waits before it looks for a sensor again.
const NEXT_LOOK_MS: u64 = 61_000;

fn attach(bench: &mut Bench, sensor: Option<Sht4x>) {
    let board = bench.network.board(0);
    let now = board.now();
    board.soc_mut().attach(now, DATA, CLOCK, sensor);
}

/// The last temperature and humidity that a board told since the last call.
fn readings(bench: &mut Bench) -> (Option<i32>, Option<i32>) {
    let (mut temperature, mut humidity) = (None, None);
    for message in bench.said(0) {
        match message {
            ToHost::Reading { quantity: Quantity::AirTemperature, value, .. } => temperature = Some(value),
            ToHost::Reading { quantity: Quantity::Humidity, value, .. } => humidity = Some(value),
            _ => {}
        }
    }
    (temperature, humidity)
}

/// A board did not notice anything but its sensor.
fn works_as_ever(bench: &mut Bench) {
    bench.snapshot(0);
    let counts = bench.network.boards()[0].counts();
    assert_eq!((counts.software_resets, counts.watchdog_resets, counts.lockups), (1, 0, 0), "UICR is written once");
}

fn lines(log: &[String], part: &str) -> usize {
    log.iter().filter(|line| line.contains(part)).count()
}

#[test]
fn temperature_and_humidity_are_told_to_the_host() {
    let mut bench = Bench::new(vec![board(3)]);
    attach(&mut bench, Some(Sht4x::new(23_500, 41_000)));
    bench.run_ms(1_000);
    assert_eq!(readings(&mut bench), (Some(2_350), Some(4_100)));
    assert!(any(&bench.log(0), "a sensor of temperature and humidity answers"));

    attach(&mut bench, Some(Sht4x::new(-7_250, 99_900)));
    bench.run_ms(5_000);
    assert_eq!(readings(&mut bench), (Some(-725), Some(9_990)));

    attach(&mut bench, None);
    bench.run_ms(10_000);
    assert_eq!(readings(&mut bench), (None, None));
    assert_eq!(lines(&bench.log(0), "no sensor of temperature and humidity"), 1);
    works_as_ever(&mut bench);
}

#[test]
fn a_board_without_a_sensor_says_so_once_and_finds_one_later() {
    let mut bench = Bench::new(vec![board(3)]);
    bench.run_ms(NEXT_LOOK_MS);
    assert_eq!(readings(&mut bench), (None, None));
    assert_eq!(lines(&bench.log(0), "sensor"), 1);
    works_as_ever(&mut bench);
    attach(&mut bench, Some(Sht4x::new(20_000, 50_000)));
    bench.run_ms(NEXT_LOOK_MS);
    assert_eq!(readings(&mut bench), (Some(2_000), Some(5_000)));
}

#[test]
fn a_wire_that_is_held_low_does_not_hold_the_board() {
    for wire in [DATA, CLOCK] {
        let mut board = board(3);
        board.drive(wire, Some(false));
        let mut bench = Bench::new(vec![board]);
        attach(&mut bench, Some(Sht4x::new(20_000, 50_000)));
        bench.run_ms(20_000);
        assert_eq!(readings(&mut bench), (None, None));
        let log = bench.log(0);
        assert_eq!(lines(&log, "the sensor's bus is stuck"), 1, "{log:?}");
        works_as_ever(&mut bench);

        bench.network.board(0).drive(wire, None);
        bench.run_ms(NEXT_LOOK_MS);
        assert_eq!(readings(&mut bench), (Some(2_000), Some(5_000)), "the wire is free again");
    }
}

#[test]
fn a_wire_that_gets_stuck_later_and_a_bad_one_cost_readings_only() {
    let mut bench = Bench::new(vec![board(3)]);
    attach(&mut bench, Some(Sht4x::new(20_000, 50_000).noisy()));
    bench.run_ms(10_000);
    assert_eq!(readings(&mut bench), (None, None), "the checksum is wrong");
    assert!(any(&bench.log(0), "cannot be understood"));

    attach(&mut bench, Some(Sht4x::new(20_000, 50_000)));
    bench.run_ms(NEXT_LOOK_MS);
    assert_eq!(readings(&mut bench), (Some(2_000), Some(5_000)));
    bench.network.board(0).drive(CLOCK, Some(false));
    bench.run_ms(10_000);
    readings(&mut bench);
    bench.run_ms(10_000);
    assert_eq!(readings(&mut bench), (None, None));
    assert!(any(&bench.log(0), "stuck"));
    works_as_ever(&mut bench);
}
