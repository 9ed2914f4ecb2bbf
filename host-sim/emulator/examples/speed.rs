//! How many instructions a second the emulated processor executes: runs an image to its breakpoint, again and again.
//!
//! `cargo run --release --package emulator --example speed -- IMAGE [RUNS]`, where IMAGE is that of the self-test, built by
//! `cargo build --release --package selftest --target thumbv7em-none-eabihf`.

use std::error::Error;
use std::time::Instant;

use emulator::cpu::{Cpu, Cycles, Stop};
use emulator::io::NoIo;
use emulator::loader::Image;
use emulator::memory::Memory;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("give the path of an image that ends at a breakpoint")?;
    let runs: u32 = arguments.next().map_or(Ok(20), |runs| runs.parse())?;
    let image = Image::parse(&std::fs::read(path)?)?;
    let mut memory = Memory::nrf52840();
    image.load(&mut memory)?;
    let mut cpu = Cpu::new(Cycles::Uncached);
    let began = Instant::now();
    for _ in 0..runs {
        cpu.reset(&memory);
        match cpu.run(&mut memory, &mut NoIo, u64::MAX) {
            Stop::Breakpoint { .. } => {}
            other => return Err(format!("no breakpoint: {other:?}").into()),
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let millions = Instructions(cpu.instructions()).millions();
    println!("{millions:.1} million instructions in {seconds:.2} s: {:.1} MIPS", millions / seconds);
    Ok(())
}

struct Instructions(u64);

impl Instructions {
    #[expect(clippy::cast_precision_loss, reason = "a count for people")]
    fn millions(&self) -> f64 {
        self.0 as f64 / 1e6
    }
}
