//! Builds the self-test's image for a board and runs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use emulator::cpu::{Cpu, Stop};
use emulator::io::{BusError, Io, Width};
use emulator::loader::Image;
use emulator::memory::Memory;

const TARGET: &str = "thumbv7em-none-eabihf";

/// Five times what the self-test needs: a processor that is wrong may loop.
const CYCLES_MAX: u64 = 1 << 27;

/// No peripherals at all.
pub struct NoIo;

impl Io for NoIo {
    fn read(&mut self, _: u64, address: u32, _: Width) -> Result<u32, BusError> {
        Err(BusError { address, what: "there are no peripherals".to_owned() })
    }

    fn write(&mut self, _: u64, address: u32, _: Width, _: u32) -> Result<(), BusError> {
        Err(BusError { address, what: "there are no peripherals".to_owned() })
    }

    fn lines(&self) -> u64 {
        0
    }

    fn wants_stop(&self) -> bool {
        false
    }
}

/// Rustup may be told not to install by itself; without rustup the toolchain must bring the target.
fn add_target() {
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let Ok(installed) = installed else { return };
    if !String::from_utf8_lossy(&installed.stdout).lines().any(|line| line == TARGET) {
        let status = Command::new("rustup").args(["target", "add", TARGET]).status().expect("rustup was found before");
        assert!(status.success(), "run `rustup target add {TARGET}` by hand to see what is wrong");
    }
}

/// Builds the image and returns its path. It has a target directory of its own, because the caller's is locked.
pub fn build(profile: &str) -> PathBuf {
    add_target();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("selftest");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--locked", "--package", "selftest", "--target", TARGET, "--profile", profile, "--target-dir"])
        .arg(&directory)
        .output()
        .expect("cargo runs this test, so it can be run");
    assert!(output.status.success(), "the self-test does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    directory.join(TARGET).join(profile).join("selftest")
}

/// Runs an image to its breakpoint.
pub fn run(path: &Path) -> (Cpu, Memory) {
    let file = std::fs::read(path).expect("it was just built");
    let mut memory = Memory::nrf52833();
    Image::parse(&file).and_then(|image| image.load(&mut memory)).expect("the linker wrote it");
    let mut cpu = Cpu::new();
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
