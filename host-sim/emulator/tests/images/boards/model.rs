//! What one image is built from, and for.

use std::cell::RefCell;
use std::collections::BTreeMap;

use common::board::flash_map::FlashMap;
use common::names::Board as Name;
use emulator::board::{Board, Program};
use emulator::images;
use emulator::soc::{Chip, Surroundings};

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
            Name::Nrf52840Dongle => Cable::Usb,
            Name::Nrf52840Dk | Name::Nrf52833Dk | Name::MicrobitV2 => Cable::Serial,
        };
        Self { board, features: None, cable }
    }

    pub const fn with(self, features: &'static str) -> Self {
        Self { features: Some(features), ..self }
    }

    pub fn chip(&self) -> Chip {
        if FlashMap::of(self.board) == FlashMap::NRF52840 { Chip::Nrf52840 } else { Chip::Nrf52833 }
    }

    /// The image, read once per test.
    pub fn program(&self) -> Program {
        thread_local!(static PROGRAMS: RefCell<BTreeMap<Option<&'static str>, Program>> = RefCell::default());
        PROGRAMS.with_borrow_mut(|programs| {
            let program = programs.entry(self.features).or_insert_with(|| {
                let elf = images::elf_with("firmware", self.features).expect("the image builds");
                Program::parse(&elf).expect("an image with a log")
            });
            program.clone()
        })
    }

    /// A fresh board. Its crystal starts quickly, so that no test wastes time waiting for it.
    pub fn board(&self, device_id: u64) -> Board {
        let surroundings = Surroundings { lfxo_start_us: 1_000, ..Surroundings::default() };
        let program = self.program();
        let mut board = Board::with_surroundings(self.chip(), &program, device_id, device_id, surroundings)
            .expect("the image fits");
        // The processor takes its stack and its first instruction from address 0, where a bootloader would be.
        let origin = program.image().segments.iter().map(|segment| segment.address).min().expect("it is not empty");
        let vectors = board.memory().flash()[origin as usize..][..8].to_vec();
        assert!(board.load_flash(0, &vectors));
        board
    }
}
