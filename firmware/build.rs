//! Tells the linker where the memory map is and how to lay out the image.
//!
//! The arguments stand here and not in `rustflags`, so that builds for the host never see them.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's directory"));
    let output = PathBuf::from(env::var("OUT_DIR").expect("cargo names a place for what is built"));

    check_target();
    check_board();
    let map = memory_map(&package);
    let text = fs::read_to_string(&map).expect("the memory map can be read");
    // The workspace's memory.x includes it by this name.
    fs::write(output.join("board-memory.x"), without_journal(&text)).expect("the memory map can be written");

    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", map.display());
    println!("cargo::rerun-if-changed={}", package.join("../memory.x").display());
    println!("cargo::rerun-if-changed={}", package.join("link").display());
    println!("cargo::rustc-link-search={}", output.display());
    println!("cargo::rustc-link-search={}", package.join("link").display());
    for argument in ["--nmagic", "--build-id=sha1", "-Tlink.x", "-Tdefmt.x", "-Tbuild-id.x"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}

/// Without a target, cargo would build for the PC, and the compiler would complain about everything but that.
fn check_target() {
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        println!(
            "cargo::error=the firmware runs on a board, not on a PC: use `cargo run-dk` (or -dongle, -nrf52833dk, -microbit, -xiao, -feather) \
             to flash a board, `cargo fw` to build only, or plain `cargo run` inside firmware/"
        );
    }
}

/// An image is for one board.
fn check_board() {
    let boards = ["NRF52840_DK", "NRF52840_DONGLE", "NRF52833_DK", "MICROBIT_V2", "XIAO_NRF52840", "FEATHER_NRF52840"];
    let chosen: Vec<String> = boards
        .into_iter()
        .filter(|board| has(&format!("BOARD_{board}")))
        .map(|board| format!("board-{}", board.to_lowercase().replace('_', "-")))
        .collect();
    match chosen.as_slice() {
        [_] => {}
        [] => println!("cargo::error=no board chosen: build with one of the features board-*, or with the default one"),
        several => println!(
            "cargo::error=an image is for one board, but the features {} were chosen together; boards other than the \
             nRF52840-DK need --no-default-features",
            several.join(" and ")
        ),
    }
    if has("USB_BOOTLOADER") && !has("BOARD_NRF52840_DONGLE") {
        println!("cargo::error=only the nRF52840 dongle comes with the bootloader that usb-bootloader leaves in place");
    }
}

fn has(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
}

/// An image with a journal leaves its pages alone (`common/src/board/flash_map.rs`).
fn without_journal(map: &str) -> String {
    let kilobytes = match (has("JOURNAL"), has("CHIP_NRF52833")) {
        (false, _) => return map.to_owned(),
        (true, true) => 32,
        (true, false) => 64,
    };
    let shorter = |line: &str| {
        if line.trim_start().starts_with("FLASH") { format!("{line} - {kilobytes}K\n") } else { format!("{line}\n") }
    };
    map.lines().map(shorter).collect()
}

/// A chip has one memory map, and a board that comes with a bootloader its own.
fn memory_map(package: &Path) -> PathBuf {
    let name = if has("CHIP_NRF52833") {
        "nrf52833.x"
    } else if has("BOARD_XIAO_NRF52840") {
        "nrf52840-uf2-s140-v7.x"
    } else if has("BOARD_FEATHER_NRF52840") {
        "nrf52840-uf2-s140-v6.x"
    } else if has("USB_BOOTLOADER") {
        "nrf52840-usb-bootloader.x"
    } else {
        "nrf52840.x"
    };
    package.join("memory").join(name)
}
