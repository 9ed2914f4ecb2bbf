//! What a board does from the end of a frame to the decision to acknowledge it:
//! `cargo run --release -p emulator --example answers -- ELF BOARDS`.
//!
//! All boards are in reach of each other on an ideal air, start, elect, lose one of them and elect again.

use emulator::board::{Board, Program};
use emulator::cpu::Cycles;
use emulator::ideal::IdealAir;
use emulator::network::Network;
use emulator::profile::Profile;
use emulator::soc::{Chip, Surroundings};
use emulator::turnaround::Spread;

const HZ: u64 = 64_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [elf, boards] = &arguments[..] else { return Err("give an ELF file and a number of boards".into()) };
    let program = Program::parse(&std::fs::read(elf)?)?;
    for cycles in [Cycles::Ideal, Cycles::Cached, Cycles::Uncached] {
        let mut network = Network::new(IdealAir::default());
        for id in 0..boards.parse()? {
            let surroundings = Surroundings { cycles, ..Surroundings::default() };
            let mut board = Board::with_surroundings(Chip::Nrf52840, &program, id, id, surroundings)?;
            board.set_profile(Profile::of_answers(13));
            let number = network.add(board);
            network.power_on(number);
        }
        network.run_until(10 * HZ);
        network.power_off(0);
        network.run_until(20 * HZ);
        let taken =
            network.boards().iter().flat_map(|board| board.turnaround().taken()).map(|taken| taken / 64).collect();
        println!("{cycles:?}, in microseconds: {:?}", Spread::of(taken));
        for share in network.board(1).profile().into_iter().filter(|share| share.percent >= 1.0) {
            println!("{:5.1} %  {}", share.percent, share.name);
        }
    }
    Ok(())
}
