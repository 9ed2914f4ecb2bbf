//! The simulator as a WebAssembly module, built from the sources.

use std::path::PathBuf;

use emulator::images;

/// What pages run on.
const TARGET: &str = "wasm32-unknown-unknown";

/// The path of the module, which is built if it is missing or outdated.
pub fn built() -> Result<PathBuf, String> {
    let directory = images::build_for(&images::workspace(), "web", TARGET, "web")?;
    Ok(directory.join("web.wasm"))
}
