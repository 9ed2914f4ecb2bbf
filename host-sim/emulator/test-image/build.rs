//! Tells the linker where the memory map is and how to lay out the image.

use std::env;
use std::path::Path;

fn main() {
    let package = env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's directory");
    let root = Path::new(&package).ancestors().nth(3).expect("the package lies in the workspace");

    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", root.join("memory.x").display());
    println!("cargo::rustc-link-search={}", root.display());
    for argument in ["--nmagic", "-Tlink.x", "-Tdefmt.x"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
