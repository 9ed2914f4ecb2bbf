//! Tells the linker where the memory map is and how to lay out the image.

use std::path::Path;
use std::{env, fs};

fn main() {
    let package = env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's directory");
    let output = env::var("OUT_DIR").expect("cargo names a place for what is built");
    let root = Path::new(&package).ancestors().nth(3).expect("the package lies in the workspace");
    let map = root.join("firmware/memory/nrf52840.x");
    // The workspace's memory.x includes it by this name.
    fs::copy(&map, Path::new(&output).join("board-memory.x")).expect("the memory map can be copied");

    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", map.display());
    println!("cargo::rerun-if-changed={}", root.join("memory.x").display());
    println!("cargo::rustc-link-search={output}");
    for argument in ["--nmagic", "-Tlink.x", "-Tdefmt.x"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
