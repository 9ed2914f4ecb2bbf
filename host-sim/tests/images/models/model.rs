//! What one image is built from, and for.

use std::collections::BTreeMap;
use std::sync::Mutex;

use common::board::flash_map::FlashMap;
use common::names::Board as Name;
use emulator::board::{Board, Program};
use emulator::images;
use emulator::soc::{Chip, Surroundings};

use super::bootloader::stand_in;

/// How a host is connected to a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cable {
    /// To its serial line.
    Serial,
    /// To the USB of the chip.
    Usb,
}

#[derive(Clone, Copy)]
pub struct Model {
    pub board: Name,
    /// In the place of the default features.
    pub features: Option<&'static str>,
    pub cable: Cable,
}

impl Model {
    /// The image of the default features.
    pub const fn of(board: Name) -> Self {
        let cable = match board {
            Name::Nrf52840Dongle | Name::XiaoNrf52840 => Cable::Usb,
            Name::Nrf52840Dk | Name::Nrf52833Dk | Name::MicrobitV2 | Name::FeatherNrf52840 => Cable::Serial,
        };
        Self { board, features: None, cable }
    }

    pub const fn with(self, features: &'static str) -> Self {
        Self { features: Some(features), ..self }
    }

    pub fn chip(&self) -> Chip {
        if FlashMap::of(self.board) == FlashMap::NRF52840 { Chip::Nrf52840 } else { Chip::Nrf52833 }
    }

    /// The image, read once for all tests.
    pub fn program(&self) -> Program {
        static PROGRAMS: Mutex<BTreeMap<Option<&'static str>, Program>> = Mutex::new(BTreeMap::new());
        let known = || PROGRAMS.lock().expect("nobody panics with it");
        // Other tests may go on while this image is built.
        let program = known().get(&self.features).cloned();
        program.unwrap_or_else(|| {
            let elf = images::elf_with("firmware", self.features).expect("the image builds");
            let program = Program::parse(&elf).expect("an image with a log");
            known().entry(self.features).or_insert(program).clone()
        })
    }

    /// Where the image begins.
    pub fn origin(&self) -> u32 {
        let program = self.program();
        program.image().segments.iter().map(|segment| segment.address).min().expect("it is not empty")
    }

    /// A fresh board. What starts behind a bootloader has a stand-in for that.
    pub fn board(&self, device_id: u64) -> Board {
        self.board_behind(device_id, &[], true)
    }

    /// A fresh board whose bootloader, if the image leaves room for one, has written these words to these addresses. The
    /// crystal starts quickly, so that no test wastes time waiting for it.
    pub fn board_behind(&self, device_id: u64, writes: &[(u32, u32)], has_interrupts: bool) -> Board {
        let surroundings = Surroundings { lfxo_start_us: 1_000, ..Surroundings::default() };
        let program = self.program();
        let mut board = Board::with_surroundings(self.chip(), &program, device_id, device_id, surroundings)
            .expect("the image fits");
        let origin = self.origin();
        if origin > 0 {
            assert!(board.load_flash(0, &stand_in(origin, writes, has_interrupts)));
        }
        board
    }
}
