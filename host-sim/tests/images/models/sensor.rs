//! A sensor of temperature and humidity on two pins: there, absent, garbled, or with a wire held low.

use common::host_link::{Quantity, ToHost};
use common::names::Board as Name;
use emulator::soc::{Pin, Sht4x};

use super::desk::Desk;
use super::model::Model;

/// Its usual image has the driver.
const MICROBIT: Model = Model::of(Name::MicrobitV2).with("board-microbit-v2");
/// At its edge connector.
const DATA: Pin = Pin::p1(0);
const CLOCK: Pin = Pin::p0(26);

/// Longer than a board waits before it looks for a sensor again.
const NEXT_LOOK_MS: u64 = 61_000;

fn attach(desk: &mut Desk, sensor: Option<Sht4x>) {
    let board = desk.network.board(0);
    let now = board.now();
    board.soc_mut().attach(now, DATA, CLOCK, sensor);
}

/// The last temperature and humidity that a board told since the last call.
fn readings(desk: &mut Desk) -> (Option<i32>, Option<i32>) {
    let (mut temperature, mut humidity) = (None, None);
    for message in desk.heard(0) {
        match message {
            ToHost::Reading { quantity: Quantity::AirTemperature, value, .. } => temperature = Some(value),
            ToHost::Reading { quantity: Quantity::Humidity, value, .. } => humidity = Some(value),
            _ => {}
        }
    }
    (temperature, humidity)
}

/// A board did not notice anything but its sensor.
fn works_as_ever(desk: &mut Desk) {
    desk.snapshot(0);
    assert_eq!((desk.resets(0), desk.network.boards()[0].counts().software_resets), (0, 1), "UICR is written once");
}

fn lines(log: &[String], part: &str) -> usize {
    log.iter().filter(|line| line.contains(part)).count()
}

#[test]
fn temperature_and_humidity_are_told_to_the_host() {
    let mut desk = Desk::new(&[MICROBIT]);
    attach(&mut desk, Some(Sht4x::new(23_500, 41_000)));
    desk.run_ms(1_000);
    assert_eq!(readings(&mut desk), (Some(2_350), Some(4_100)));
    assert!(lines(&desk.log(0), "a sensor of temperature and humidity answers") == 1);

    attach(&mut desk, Some(Sht4x::new(-7_250, 99_900)));
    desk.run_ms(5_000);
    assert_eq!(readings(&mut desk), (Some(-725), Some(9_990)));

    attach(&mut desk, None);
    desk.run_ms(10_000);
    assert_eq!(readings(&mut desk), (None, None));
    assert_eq!(lines(&desk.log(0), "no sensor of temperature and humidity"), 1);
    works_as_ever(&mut desk);
}

#[test]
fn a_board_without_a_sensor_says_so_once_and_finds_one_later() {
    let mut desk = Desk::new(&[MICROBIT]);
    desk.run_ms(NEXT_LOOK_MS);
    assert_eq!(readings(&mut desk), (None, None));
    assert_eq!(lines(&desk.log(0), "sensor"), 1);
    works_as_ever(&mut desk);
    attach(&mut desk, Some(Sht4x::new(20_000, 50_000)));
    desk.run_ms(NEXT_LOOK_MS);
    assert_eq!(readings(&mut desk), (Some(2_000), Some(5_000)));
}

#[test]
fn a_wire_that_is_held_low_does_not_hold_the_board() {
    for wire in [DATA, CLOCK] {
        let mut board = MICROBIT.board(3);
        board.drive(wire, Some(false));
        let mut desk = Desk::of([(MICROBIT, board)]);
        attach(&mut desk, Some(Sht4x::new(20_000, 50_000)));
        desk.run_ms(20_000);
        assert_eq!(readings(&mut desk), (None, None));
        let log = desk.log(0);
        assert_eq!(lines(&log, "the sensor's bus is stuck"), 1, "{log:?}");
        works_as_ever(&mut desk);

        desk.network.board(0).drive(wire, None);
        desk.run_ms(NEXT_LOOK_MS);
        assert_eq!(readings(&mut desk), (Some(2_000), Some(5_000)), "the wire is free again");
    }
}

#[test]
fn a_wire_that_gets_stuck_later_and_a_bad_one_cost_readings_only() {
    let mut desk = Desk::new(&[MICROBIT]);
    attach(&mut desk, Some(Sht4x::new(20_000, 50_000).noisy()));
    desk.run_ms(10_000);
    assert_eq!(readings(&mut desk), (None, None), "the checksum is wrong");
    assert!(lines(&desk.log(0), "cannot be understood") == 1);

    attach(&mut desk, Some(Sht4x::new(20_000, 50_000)));
    desk.run_ms(NEXT_LOOK_MS);
    assert_eq!(readings(&mut desk), (Some(2_000), Some(5_000)));
    desk.network.board(0).drive(CLOCK, Some(false));
    desk.run_ms(10_000);
    readings(&mut desk);
    desk.run_ms(10_000);
    assert_eq!(readings(&mut desk), (None, None));
    assert!(lines(&desk.log(0), "stuck") == 1);
    works_as_ever(&mut desk);
}
