//! A processor without peripherals: builds the image of the self-test and runs it.

use std::path::{Path, PathBuf};

use emulator::cpu::{Cpu, Cycles, Stop};
use emulator::images;
use emulator::io::NoIo;
use emulator::loader::Image;
use emulator::memory::Memory;

/// Five times what the self-test needs, because a wrong processor may loop.
const CYCLES_MAX: u64 = 1 << 27;

/// Builds the image and returns its path.
pub fn build(profile: &str) -> PathBuf {
    images::build(&images::workspace(), "selftest", profile).expect("the self-test builds")
}

/// Runs an image to its breakpoint.
pub fn run(path: &Path) -> (Cpu, Memory) {
    let file = std::fs::read(path).expect("it was just built");
    let mut memory = Memory::nrf52833();
    Image::parse(&file).and_then(|image| image.load(&mut memory)).expect("the linker wrote it");
    let mut cpu = Cpu::new(Cycles::Ideal);
    cpu.reset(&memory);
    let stop = cpu.run(&mut memory, &mut NoIo, CYCLES_MAX);
    assert!(matches!(stop, Stop::Breakpoint { .. }), "{}", describe(&stop));
    (cpu, memory)
}

fn describe(stop: &Stop) -> String {
    match stop {
        Stop::Error(trouble) | Stop::LockedUp(trouble) => trouble.to_string(),
        other => format!("{other:?}"),
    }
}
