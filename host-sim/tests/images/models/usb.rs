//! The host link over the USB of the chip: enumerated, opened, unplugged, suspended, and left alone, all by a PC that may do
//! so at any time.

use common::host_link::{ConfigAnswer, Page, ToBoard, ToHost};
use common::names::Board;
use emulator::usb::{HostState, UsbHost};

use super::desk::Desk;
use super::model::{Cable, Model};
use crate::images::firmware::bench::{config, page_of};

/// A kit, whose power does not come from the USB of the chip.
const KIT: Model = Model { cable: Cable::Usb, ..Model::of(Board::Nrf52840Dk) };

/// Within this time, a board whose calls are recorded says something.
const TALK_MS: u64 = 3_000;

/// In a second, if the processor sleeps: a hundredth of what it could do.
const INSTRUCTIONS_MAX: u64 = 640_000;

fn state(desk: &mut Desk) -> HostState {
    desk.network.board(0).usb_host().expect("it is plugged in").state()
}

fn ping(desk: &mut Desk, number: u32) {
    let said = desk.ask(0, &ToBoard::Ping(number));
    assert!(said.contains(&ToHost::Pong(number)), "{number}: {said:?}, {:?}", desk.log(0));
}

/// A kit with its port open.
fn open_kit() -> Desk {
    let mut desk = Desk::new(&[KIT]);
    desk.hello(0);
    desk
}

/// Makes the board report every call of its node, so that it always has something to say.
fn record(desk: &mut Desk) {
    desk.ask(0, &ToBoard::Record(true));
    desk.run_ms(TALK_MS);
    assert!(!desk.heard(0).is_empty());
}

#[test]
fn a_pc_sees_which_board_it_is_and_speaks_with_it() {
    let mut desk = open_kit();
    let description = desk.network.board(0).usb_host().expect("it is plugged in").description().clone();
    assert_eq!((description.vendor, description.product), (0x1209, 0x0001));
    let names = [description.manufacturer, description.product_name, description.serial_number];
    assert_eq!(names, ["Ringleader", "Ringleader node", "0000000000000001"]);
    // Enough of them for every ring buffer on the way to wrap around.
    for number in 0..100 {
        ping(&mut desk, number);
    }
    assert!(desk.snapshot(0).epoch.is_some());
    let page = Page::new(&page_of(&config(77))).expect("it fits");
    let said = desk.ask(0, &ToBoard::SetConfig(page));
    assert!(said.contains(&ToHost::Config(ConfigAnswer::Stored)), "{said:?}");
    // It starts again with its configuration, and with that leaves the bus.
    desk.run_ms(1_000);
    assert_eq!(desk.hello(0).id.0, 77);
}

#[test]
fn the_other_chip_speaks_usb_too() {
    let kit = Model { cable: Cable::Usb, ..Model::of(Board::Nrf52833Dk).with("board-nrf52833-dk") };
    let mut desk = Desk::new(&[kit]);
    assert_eq!(desk.hello(0).board, Board::Nrf52833Dk);
    ping(&mut desk, 1);
}

#[test]
fn a_cable_may_be_pulled_and_plugged_in_again() {
    let mut desk = open_kit();
    for round in 0..3 {
        record(&mut desk);
        desk.network.board(0).unplug_usb();
        // It goes on without a host, and has something to say.
        desk.run_ms(TALK_MS);
        desk.network.board(0).plug_usb();
        desk.hello(0);
        ping(&mut desk, round);
    }
    assert_eq!(desk.resets(0), 0, "{:?}", desk.log(0));
}

#[test]
fn a_pc_that_sleeps_leaves_the_board_alone() {
    let mut desk = open_kit();
    for round in 0..3 {
        record(&mut desk);
        desk.network.board(0).at_usb_host(|host, _| host.suspend());
        desk.run_ms(20_000);
        assert_eq!(state(&mut desk), HostState::Suspended);
        desk.network.board(0).at_usb_host(UsbHost::resume);
        desk.run_ms(500);
        desk.heard(0);
        ping(&mut desk, round);
    }
    assert_eq!(desk.resets(0), 0, "{:?}", desk.log(0));
}

#[test]
fn a_pc_that_slept_long_starts_anew() {
    let mut desk = open_kit();
    record(&mut desk);
    desk.network.board(0).at_usb_host(|host, _| host.suspend());
    desk.run_ms(5_000);
    desk.network.board(0).at_usb_host(UsbHost::reset);
    desk.open_usb(0);
    ping(&mut desk, 1);
    assert_eq!(desk.resets(0), 0, "{:?}", desk.log(0));
}

#[test]
fn a_cable_may_be_pulled_while_the_pc_sleeps() {
    let mut desk = open_kit();
    record(&mut desk);
    desk.network.board(0).at_usb_host(|host, _| host.suspend());
    desk.run_ms(1_000);
    desk.network.board(0).unplug_usb();
    desk.run_ms(5_000);
    desk.network.board(0).plug_usb();
    desk.open_usb(0);
    ping(&mut desk, 1);
    assert_eq!(desk.resets(0), 0, "{:?}", desk.log(0));
}

#[test]
fn a_port_that_was_closed_can_be_opened_again() {
    let mut desk = open_kit();
    record(&mut desk);
    for round in 0..3 {
        assert_eq!(desk.network.board(0).at_usb_host(|host, _| host.close()), Some(true));
        desk.run_ms(3_000);
        desk.open_usb(0);
        desk.run_ms(1_500);
        let said = desk.heard(0);
        assert!(said.iter().any(|said| matches!(said, ToHost::Hello(_))), "{said:?}");
        ping(&mut desk, round);
    }
}

#[test]
fn a_program_that_does_not_read_is_not_waited_for() {
    let mut desk = open_kit();
    record(&mut desk);
    desk.network.board(0).at_usb_host(|host, _| host.set_reading(false));
    let before = desk.instructions(0);
    desk.run_ms(10_000);
    let a_second = (desk.instructions(0) - before) / 10;
    assert!(a_second < INSTRUCTIONS_MAX, "{a_second} instructions a second");
    desk.network.board(0).at_usb_host(|host, _| host.set_reading(true));
    desk.run_ms(2_000);
    desk.heard(0);
    ping(&mut desk, 1);
    assert_eq!(desk.resets(0), 0, "{:?}", desk.log(0));
}

#[test]
fn a_cable_may_be_pulled_in_the_middle_of_a_request() {
    let mut desk = Desk::new(&[KIT]);
    desk.run_ms(100);
    let mut cut_short = 0;
    for round in 0..12 {
        let pulled = desk.instructions(0);
        desk.network.board(0).unplug_usb();
        desk.run_ms(1_500);
        // A request that was cut short keeps the processor awake, but not for long.
        let later = desk.instructions(0);
        cut_short += u32::from(later - pulled > 10 * INSTRUCTIONS_MAX);
        desk.run_ms(1_000);
        let instructions = desk.instructions(0) - later;
        assert!(instructions < INSTRUCTIONS_MAX, "{instructions} in a second, round {round}");
        desk.network.board(0).plug_usb();
        // The enumeration takes a bit more than a millisecond from here.
        desk.run_us(201_100 + 90 * round);
    }
    assert!(cut_short > 0);
    desk.open_usb(0);
    ping(&mut desk, 1);
    assert_eq!(desk.resets(0), 0, "{:?}", desk.log(0));
}
