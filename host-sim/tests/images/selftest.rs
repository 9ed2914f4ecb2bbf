//! The self-test gives the same digests on the emulated processor and on the PC that runs this test.

use emulator::io::Width;
use emulator::memory::Memory;
use selftest::{PARTS, digests};

use crate::images::bare;

const SEED: u32 = 0x00C0_FFEE;

fn results(memory: &Memory, at: u32, count: u32) -> Vec<u32> {
    (0..count).map(|place| memory.read(at + 4 * place, Width::Word).expect("the results lie in RAM")).collect()
}

fn check(profile: &str) {
    let (cpu, memory) = bare::run(&bare::build(profile));
    let emulated = results(&memory, cpu.register(0), cpu.register(1));
    let native = digests(SEED);
    assert_eq!(emulated.len(), native.len());
    for (((name, _), emulated), native) in PARTS.iter().zip(emulated).zip(native) {
        assert_eq!(emulated, native, "{name}, built with profile {profile}: emulated {emulated:#x}, here {native:#x}");
    }
}

#[test]
fn code_made_for_speed_computes_what_the_pc_computes() {
    check("release");
}

#[test]
fn code_made_for_size_computes_what_the_pc_computes() {
    check("firmware");
}
