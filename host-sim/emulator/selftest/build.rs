//! Gives the linker its script when the image for a board is built.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=link.x");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        let directory = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo:rustc-link-arg-bins=-T{directory}/link.x");
        println!("cargo:rustc-link-arg-bins=--nmagic");
    }
}
