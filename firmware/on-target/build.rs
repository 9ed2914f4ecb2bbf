//! Writes the memory map of the tests, and tells the linker how to lay them out.
//!
//! The map is the chip's own and not a board's: tests begin at address 0 and replace what a board came with. Their stack is
//! larger than an image's, because they build what an image builds in place.

use std::path::PathBuf;
use std::{env, fs};

/// Up to the pages that tests may write (`src/storage.rs`).
const NRF52840: &str = "FLASH : ORIGIN = 0, LENGTH = 828K
  STACK : ORIGIN = 0x20000000, LENGTH = 64K
  RAM   : ORIGIN = 0x20010000, LENGTH = 192K";
const NRF52833: &str = "FLASH : ORIGIN = 0, LENGTH = 444K
  STACK : ORIGIN = 0x20000000, LENGTH = 64K
  RAM   : ORIGIN = 0x20010000, LENGTH = 64K";

fn main() {
    let output = PathBuf::from(env::var("OUT_DIR").expect("cargo names a place for what is built"));
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_CHIP_{feature}")).is_some();
    let regions = match (has("NRF52840"), has("NRF52833")) {
        (true, false) => NRF52840,
        (false, true) => NRF52833,
        _ => {
            println!("cargo::error=tests are for one chip: chip-nrf52840, the default, or chip-nrf52833");
            NRF52840
        }
    };
    let map = format!(
        "MEMORY\n{{\n  {regions}\n}}\n\n_stack_start = ORIGIN(STACK) + LENGTH(STACK);\n_stack_end = ORIGIN(STACK);\n"
    );
    // The workspace's memory.x includes it by this name.
    fs::write(output.join("board-memory.x"), map).expect("the memory map can be written");

    println!("cargo::rerun-if-changed=build.rs");
    // The harness asks for it.
    println!("cargo::rustc-check-cfg=cfg(rust_analyzer)");
    println!("cargo::rustc-link-search={}", output.display());
    for argument in ["--nmagic", "-Tlink.x", "-Tdefmt.x", "-Tembedded-test.x"] {
        println!("cargo::rustc-link-arg-tests={argument}");
    }
}
