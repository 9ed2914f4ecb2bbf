//! How fast boards are emulated: `cargo run --release -p emulator --example pace -- ELF BOARDS SECONDS`.
//!
//! All boards are in reach of each other on an ideal air. Times exclude building the image. For the first board, it also
//! shows in which functions the instructions were executed.

use std::time::Instant;

use emulator::board::{Board, Program};
use emulator::ideal::IdealAir;
use emulator::network::Network;
use emulator::profile::Profile;
use emulator::soc::Chip;

const HZ: u64 = 64_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [elf, boards, seconds] = &arguments[..] else { return Err("give an ELF file, boards and seconds".into()) };
    let (boards, seconds): (u64, u32) = (boards.parse()?, seconds.parse()?);
    let program = Program::parse(&std::fs::read(elf)?)?;
    let mut network = Network::new(IdealAir::default());
    for id in 0..boards {
        let number = network.add(Board::new(Chip::Nrf52840, &program, id, id)?);
        network.power_on(number);
    }
    // Exclude the start-up from the measurement.
    network.run_until(HZ);
    let before: u64 = network.boards().iter().map(|board| board.counts().instructions).sum();
    let frames = network.ether_mut().frames();
    network.board(0).set_profile(Profile::every(997));
    let start = Instant::now();
    network.run_until(HZ * u64::from(seconds + 1));
    let took = start.elapsed().as_secs_f64();
    let after: u64 = network.boards().iter().map(|board| board.counts().instructions).sum();
    let per_second = (after - before) / boards.max(1) / u64::from(seconds.max(1));
    println!("{boards} boards, {seconds} s in {took:.2} s: {:.0} times real time", f64::from(seconds) / took);
    println!("{per_second} instructions per board and second, {} frames", network.ether_mut().frames() - frames);
    for board in network.boards().iter().take(1) {
        println!("awake {:.3} %, stack {:?}, {:?}", 100.0 * board.counts().awake(), board.stack(), board.radio_use());
    }
    for share in network.board(0).profile().into_iter().filter(|share| share.percent >= 1.0) {
        println!("{:5.1} %  {}", share.percent, share.name);
    }
    for (number, board) in network.boards().iter().enumerate() {
        if let Some(trouble) = board.trouble() {
            println!("board {number} is stuck: {trouble}");
        }
    }
    Ok(())
}
