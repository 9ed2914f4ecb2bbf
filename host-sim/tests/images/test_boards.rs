//! Boards that run the test image.

use std::sync::LazyLock;

use emulator::board::{Board, Program};
use emulator::ideal::IdealAir;
use emulator::images;
use emulator::network::Network;
use emulator::soc::{Chip, Surroundings};

/// In cycles.
pub const MS: u64 = 64_000;

/// The test image, read once for all tests.
static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    Program::parse(&images::elf("test-image").expect("the test image builds")).expect("an image with a log")
});

/// A board whose crystal starts quickly, so that no test wastes time waiting for it.
pub fn board(device_id: u64) -> Board {
    let surroundings = Surroundings { lfxo_start_us: 1_000, ..Surroundings::default() };
    Board::with_surroundings(Chip::Nrf52840, &PROGRAM, device_id, device_id, surroundings).expect("the image fits")
}

/// Powered boards on one air, numbered and identified from 0.
pub fn network(boards: u64) -> Network<IdealAir> {
    let mut network = Network::new(IdealAir::default());
    for device_id in 0..boards {
        let number = network.add(board(device_id));
        network.power_on(number);
    }
    network
}

/// The messages that a board has logged since the last call.
pub fn messages(board: &mut Board) -> Vec<String> {
    board.take_log().into_iter().map(|line| line.text).collect()
}

/// Whether any message contains this.
pub fn any(messages: &[String], part: &str) -> bool {
    messages.iter().any(|message| message.contains(part))
}
