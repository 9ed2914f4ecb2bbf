//! The image of every board that the firmware is built for, on its own chip: it boots, elects and answers its host.
//!
//! A row of [`models`] is one image. A board without a row fails a test.

mod bootloader;
mod desk;
mod model;
mod sensor;
mod usb;

use common::host_link::{ToBoard, ToHost};
use common::names::Board;
use emulator::images;

use self::desk::Desk;
use self::model::Model;

/// Makes a list of all images, and a test for each.
macro_rules! models {
    ($($name:ident: $model:expr;)*) => {
        const MODELS: &[Model] = &[$($model),*];

        $(#[test]
        fn $name() {
            boots_elects_and_answers($model);
        })*
    };
}

models! {
    nrf52840_dk: Model::of(Board::Nrf52840Dk);
    nrf52840_dongle: Model::of(Board::Nrf52840Dongle).with("board-nrf52840-dongle");
    nrf52840_dongle_behind_its_bootloader:
        Model::of(Board::Nrf52840Dongle).with("board-nrf52840-dongle,usb-bootloader");
    nrf52833_dk: Model::of(Board::Nrf52833Dk).with("board-nrf52833-dk");
    microbit_v2: Model::of(Board::MicrobitV2).with("board-microbit-v2");
    xiao_nrf52840: Model::of(Board::XiaoNrf52840).with("board-xiao-nrf52840");
    feather_nrf52840: Model::of(Board::FeatherNrf52840).with("board-feather-nrf52840");
}

/// Builds all images, one after the other.
pub fn build_all() {
    for model in MODELS {
        drop(images::elf_with("firmware", model.features));
    }
}

fn boots_elects_and_answers(model: Model) {
    let mut desk = Desk::new(&[model; 3]);
    for number in 0..3 {
        let hello = desk.hello(number);
        assert_eq!((hello.board, hello.demo, hello.crash), (model.board, true, None));
    }
    let leader = desk.elect();
    for number in 0..3_u8 {
        let pong = desk.ask(usize::from(number), &ToBoard::Ping(number.into()));
        assert!(pong.contains(&ToHost::Pong(number.into())), "of leader {leader}: {pong:?}");
    }
}

#[test]
fn every_board_has_an_image_here() {
    for board in Board::ALL {
        assert!(MODELS.iter().any(|model| model.board == board), "{board} is in no row");
    }
}

#[test]
fn boards_of_all_kinds_elect_one_leader() {
    let mut desk = Desk::new(MODELS);
    for number in 0..MODELS.len() {
        desk.hello(number);
    }
    desk.elect();
}

/// UICR.REGOUT0. Its lowest three bits are the output of the first regulator; blank is 1.8 V.
const REGOUT0: u32 = 0x304;
const THREE_VOLTS: u32 = 4;
const BLANK: u32 = 7;

#[test]
fn a_dongle_that_was_erased_gives_itself_three_volts() {
    let dongle = Model::of(Board::Nrf52840Dongle).with("board-nrf52840-dongle");
    for (model, expected) in [(dongle, THREE_VOLTS), (Model::of(Board::Nrf52840Dk), BLANK)] {
        let mut desk = Desk::new(&[model]);
        desk.hello(0);
        let word = desk.network.boards()[0].soc().uicr(REGOUT0);
        assert_eq!(word.map(|word| word & BLANK), Some(expected), "{}", model.board);
    }
}
