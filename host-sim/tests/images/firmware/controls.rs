//! A person at the board: who it says it is, its lights and its buttons.

use common::board::flash_map::NRF52840_CONFIG_PAGE;
use common::board::lights::{Condition, STEP_MS};
use common::host_link::{Call, ResetReason, ToBoard, ToHost};
use emulator::soc::Pin;

use super::bench::{Bench, MS, any, board, config, page_of, provisioned};

const STATUS: Pin = Pin::p0(13);
const FAULT: Pin = Pin::p0(14);
const ELECT: Pin = Pin::p0(11);
const IDENTIFY: Pin = Pin::p0(12);

/// What two lights show in four seconds, sampled in the middle of each step. A light is on when its pin is low.
fn lights(bench: &mut Bench, number: usize) -> [Vec<bool>; 2] {
    let into_step = bench.network.now() / MS % STEP_MS;
    bench.run_ms(STEP_MS + STEP_MS / 2 - into_step);
    let mut seen = [Vec::new(), Vec::new()];
    for _ in 0..32 {
        for (light, pin) in seen.iter_mut().zip([STATUS, FAULT]) {
            light.push(!bench.network.board(number).is_high(pin));
        }
        bench.run_ms(STEP_MS);
    }
    seen
}

fn shows(light: &[bool], condition: Condition) -> bool {
    let is_pattern = |from: u32| light.iter().zip(from..).all(|(&is_on, step)| is_on == condition.is_on(step));
    (0..16).any(is_pattern)
}

#[test]
fn a_fresh_board_says_who_it_is_and_that_anybody_can_join() {
    let mut bench = Bench::new(vec![board(0x0123_4567_89AB_CDEF)]);
    let hello = bench.hello(0);
    assert_eq!((hello.chip, hello.epoch, hello.demo), (0x0123_4567_89AB_CDEF, Some(1), true));
    // A blank chip configures its reset pin, which takes a reset.
    assert_eq!((hello.reset, hello.crash), (ResetReason::Software, None));
    let log = bench.log(0);
    assert!(any(&log, "Ringleader") && any(&log, "chip 0123456789abcdef") && any(&log, "DEMO NETWORK"), "{log:?}");
}

#[test]
fn lights_show_searching_member_leader_and_fault() {
    let mut bench = Bench::new(vec![provisioned(1, &config(1)), provisioned(2, &config(2))]);
    let leader = bench.elect(30);
    for number in 0..2 {
        let is_leader = leader.0 == [1, 2][number];
        let expected = if is_leader { Condition::Leader } else { Condition::Member };
        let [status, fault] = lights(&mut bench, number);
        assert!(shows(&status, expected) && !fault.contains(&true), "board {number}: {status:?}");
    }

    let mut alone = Bench::new(vec![provisioned(1, &config(1))]);
    let [status, _] = lights(&mut alone, 0);
    assert!(shows(&status, Condition::Searching), "{status:?}");

    let mut twins = Bench::new(vec![provisioned(1, &config(1)), provisioned(2, &config(1))]);
    twins.run_ms(20_000);
    for number in 0..2 {
        assert!(shows(&lights(&mut twins, number)[1], Condition::Fault), "two boards have one id");
    }
}

#[test]
fn a_damaged_configuration_shows_as_a_fault() {
    let mut damaged = provisioned(1, &config(1));
    let mut page = page_of(&config(1));
    page[9] ^= 1;
    assert!(damaged.load_flash(NRF52840_CONFIG_PAGE, &page));
    let mut bench = Bench::new(vec![damaged]);
    let [status, fault] = lights(&mut bench, 0);
    assert!(shows(&status, Condition::Fault) && shows(&fault, Condition::Fault), "{status:?}, {fault:?}");
}

#[test]
fn buttons_ask_for_an_election_and_for_the_board() {
    let mut bench = Bench::new(vec![provisioned(1, &config(1))]);
    bench.hello(0);
    bench.tell(0, &ToBoard::Record(true));
    bench.run_ms(300);
    bench.said(0);
    let press = |bench: &mut Bench, pin, millis| {
        bench.network.board(0).drive(pin, Some(false));
        bench.run_ms(millis);
        bench.network.board(0).drive(pin, None);
    };
    let asked = |message: &ToHost| matches!(message, ToHost::Call { call: Call::Elect, .. });
    // A bouncing contact is not a press.
    press(&mut bench, ELECT, 5);
    bench.run_ms(100);
    assert!(!bench.said(0).iter().any(asked));
    press(&mut bench, ELECT, 80);
    bench.wait_for(0, 200, |message| asked(message).then_some(()));
    assert!(shows(&lights(&mut bench, 0)[0], Condition::Searching));
    press(&mut bench, IDENTIFY, 80);
    assert!(shows(&lights(&mut bench, 0)[0], Condition::Identify));
    bench.run_ms(8_000);
    assert!(shows(&lights(&mut bench, 0)[0], Condition::Searching), "only for a while");
}

/// The strength of the frames that a board reports while it records its calls.
fn strengths(bench: &mut Bench, number: usize) -> Vec<i8> {
    bench.said(number);
    bench.run_ms(10_000);
    let strength = |message: &ToHost| match message {
        ToHost::Call { call: Call::Frame { rssi_dbm, .. }, .. } => Some(*rssi_dbm),
        _ => None,
    };
    bench.said(number).iter().filter_map(strength).collect()
}

#[test]
fn a_hot_chip_corrects_what_it_measures() {
    let mut bench = Bench::new(vec![provisioned(1, &config(1)), provisioned(2, &config(2))]);
    bench.elect(30);
    bench.tell(0, &ToBoard::Record(true));
    let cool = strengths(&mut bench, 0);
    bench.network.board(0).soc_mut().set_temperature(60 * 4);
    bench.run_ms(6_000);
    let hot = strengths(&mut bench, 0);
    assert!(!cool.is_empty() && cool.iter().all(|dbm| *dbm == cool[0]), "{cool:?}");
    assert!(!hot.is_empty() && hot.iter().all(|dbm| *dbm == cool[0] + 2), "{hot:?} after {cool:?}");
}
