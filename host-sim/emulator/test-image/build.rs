//! Tells the linker where the memory map is and how to lay out the image.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let package = env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's directory");
    let root = Path::new(&package).ancestors().nth(3).expect("the package lies in the workspace");
    let map = root.join("firmware/memory/nrf52840.x");
    let output = PathBuf::from(env::var("OUT_DIR").expect("cargo names a place for what is built"));
    fs::copy(&map, output.join("memory.x")).expect("the memory map can be copied");

    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", map.display());
    println!("cargo::rustc-link-search={}", output.display());
    for argument in ["--nmagic", "-Tlink.x", "-Tdefmt.x"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
