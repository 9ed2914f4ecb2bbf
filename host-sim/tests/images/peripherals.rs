//! The test image, which uses every peripheral through embassy's drivers, on emulated boards.

use emulator::board::{Pause, StackUse};
use emulator::log::Location;
use emulator::soc::Pin;

use crate::images::test_boards::{MS, any, board, messages, network};

const BUTTON: Pin = Pin::p0(11);
const LED: Pin = Pin::p0(13);
const LINK: usize = 1;

#[test]
fn a_board_boots_and_finds_its_peripherals() {
    let mut board = board(5);
    board.power_on(0);
    assert_eq!(board.run_until(400 * MS), Pause::Radio);
    let log = board.take_log();
    let said: Vec<String> = log.iter().map(|line| line.text.clone()).collect();
    assert!(board.trouble().is_none(), "{:?}, {said:?}", board.trouble());
    // If UICR is blank, embassy configures the reset pin and requests a reset, which is the reason for the second start.
    assert_eq!(said[0], "boot 5, reset reasons 4");
    assert!(said[1].contains("22.0 degrees, supply 3413"), "{said:?}");
    let Location { file, line } = log[0].location.clone().expect("the image has debug information");
    assert!(file.ends_with("main.rs") && line > 0, "{file}:{line}");
    assert!(log.windows(2).all(|pair| pair[0].time <= pair[1].time));
    assert_eq!(board.counts().software_resets, 1);
}

#[test]
fn button_and_light() {
    let mut network = network(1);
    network.run_until(100 * MS);
    assert!(network.board(0).is_high(LED));
    network.board(0).drive(BUTTON, Some(false));
    network.run_until(101 * MS);
    assert!(!network.board(0).is_high(LED));
    network.board(0).drive(BUTTON, None);
    network.run_until(102 * MS);
    let said = messages(network.board(0));
    assert!(any(&said, "pressed") && any(&said, "released") && network.board(0).is_high(LED), "{said:?}");
}

#[test]
fn serial_line_and_probe() {
    let mut network = network(1);
    network.run_until(100 * MS);
    network.board(0).put_serial(0, b"abcdefgh");
    network.board(0).send_probe(LINK, b"xyz");
    network.run_until(300 * MS);
    let board = network.board(0);
    assert_eq!((board.take_serial(0), board.soc().lost_serial(0)), (b"ABCDEFGH".to_vec(), 0));
    assert_eq!(board.take_probe(LINK), b"xyz");
}

#[test]
fn flash_outlives_resets_and_power_cuts() {
    let mut network = network(1);
    network.run_until(100 * MS);
    network.board(0).send_probe(LINK, b"ff");
    network.run_until(500 * MS);
    assert!(any(&messages(network.board(0)), "flash 2 after 1, true"));
    let halted = network.board(0).counts().halted;
    assert!(halted >= 2 * 85 * MS, "erasing stops the processor, {halted} cycles");
    network.board(0).send_probe(LINK, b"r");
    network.run_until(700 * MS);
    assert!(any(&messages(network.board(0)), "reset reasons 4"));
    network.power_off(0);
    network.run_until(800 * MS);
    network.power_on(0);
    network.run_until(1_000 * MS);
    assert!(any(&messages(network.board(0)), "reset reasons 0"));
    network.board(0).send_probe(LINK, b"f");
    network.run_until(1_200 * MS);
    assert!(any(&messages(network.board(0)), "flash 3 after 2, true"));
}

#[test]
fn a_cut_in_any_flash_write_leaves_a_board_that_boots() {
    use emulator::soc::PowerCut;
    // The erase and the write of one count, each hit at its beginning, in its middle and at its end.
    for (operation, percent) in [(1, 0), (1, 50), (1, 100), (2, 0), (2, 50), (2, 100)] {
        let mut network = network(1);
        network.run_until(100 * MS);
        network.board(0).plan_power_cut(Some(PowerCut { operation, percent }));
        network.board(0).send_probe(LINK, b"f");
        network.run_until(400 * MS);
        assert!(!network.board(0).is_on(), "operation {operation} at {percent} %");
        messages(network.board(0));
        network.power_on(0);
        network.run_until(600 * MS);
        assert!(any(&messages(network.board(0)), "reset reasons 0"));
    }
}

#[test]
fn the_watchdog_ends_a_program_that_hangs() {
    let mut network = network(1);
    network.run_until(100 * MS);
    messages(network.board(0));
    network.board(0).send_probe(LINK, b"h");
    network.run_until(2_000 * MS);
    let said = messages(network.board(0));
    assert!(any(&said, "reset reasons 2"), "{said:?}");
    assert_eq!(network.board(0).counts().watchdog_resets, 1);
}

#[test]
fn what_is_not_modelled_stops_the_board_and_says_why() {
    let mut network = network(1);
    network.run_until(100 * MS);
    network.board(0).send_probe(LINK, b"u");
    network.run_until(300 * MS);
    let trouble = network.board(0).trouble().expect("there is nothing at that address").to_owned();
    assert!(trouble.contains("MWU, register 0x300"), "{trouble}");
}

#[test]
fn boards_hear_each_other() {
    let mut network = network(3);
    network.run_until(5_000 * MS);
    for number in 0..3 {
        let said = messages(network.board(number));
        assert!(network.board(number).trouble().is_none(), "{:?}", network.board(number).trouble());
        for other in (0..3).filter(|&other| other != number) {
            let heard = said.iter().filter(|line| line.contains(&format!("from {other}, 20 bytes, quality 32")));
            let heard = heard.count();
            assert!(heard >= 8, "board {number} heard {heard} frames of {other}: {said:?}");
        }
    }
}

#[test]
fn sixteen_boards_hear_all_the_same() {
    let mut network = network(16);
    network.run_until(1_300 * MS);
    let counts: Vec<(usize, usize)> = (0..16)
        .map(|number| {
            let said = messages(network.board(number));
            let count = |word| said.iter().filter(|line| line.contains(word)).count();
            (count("sent"), count("heard"))
        })
        .collect();
    // Boards that send at the same moment do not receive each other; the others receive one damaged frame.
    assert!(counts.iter().all(|&(sent, heard)| sent == 2 && heard >= 20 && heard == counts[0].1), "{counts:?}");
}

#[test]
fn out_of_reach_nothing_is_heard() {
    let mut network = network(2);
    network.ether_mut().set_reach(0, 1, false);
    network.run_until(3_000 * MS);
    assert!(!any(&messages(network.board(0)), "heard"));
    network.ether_mut().set_reach(0, 1, true);
    network.run_until(6_000 * MS);
    assert!(any(&messages(network.board(0)), "from 1"));
}

#[test]
fn a_power_cut_silences_a_board_and_it_returns() {
    let mut network = network(2);
    network.run_until(2_000 * MS);
    network.power_off(1);
    messages(network.board(0));
    network.run_until(4_000 * MS);
    assert!(!any(&messages(network.board(0)), "from 1"));
    network.power_on(1);
    network.run_until(6_000 * MS);
    assert!(any(&messages(network.board(0)), "heard 0 from 1"), "it counts from 0 again");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut network = network(3);
        network.run_until(3_000 * MS);
        let counts: Vec<u64> = network.boards().iter().map(|board| board.counts().instructions).collect();
        let logs: Vec<Vec<String>> = (0..3).map(|number| messages(network.board(number))).collect();
        (counts, logs)
    };
    assert_eq!(run(), run());
}

#[test]
fn twenty_minutes_with_two_overflows_of_the_clock() {
    let mut network = network(2);
    let mut last = 0;
    for minute in 1..=20 {
        network.run_until(minute * 60_000 * MS);
        let said = messages(network.board(0));
        let sent = said.iter().filter(|line| line.starts_with("sent")).count();
        assert!((100..=121).contains(&sent), "minute {minute}: {sent} frames sent");
        last = minute;
    }
    assert_eq!(last, 20);
    let board = &network.boards()[0];
    assert!(board.trouble().is_none() && board.counts().watchdog_resets == 0);
    assert!(board.counts().awake() < 0.02, "{} of its time awake", board.counts().awake());
    let StackUse { used, size } = board.stack().expect("the image has a stack");
    assert!(used > 100 && used < size, "{used} of {size} bytes of stack");
}
