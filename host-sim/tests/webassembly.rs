//! The simulator as WebAssembly gives the bytes that it gives here.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use host_sim::view::module;
use sim::scenario::input::catalogue::{BUILT_IN, built_in};

use crate::browser::beginning;

/// A ring, a mesh, walkers, an attacker with corruption, and noise in bursts.
const SCENARIOS: [&str; 5] = ["ring16", "mesh25", "mobile40", "hostile", "wifi-interference"];
/// As far as it is compared: everything random has been drawn by then, and all kinds of frames were sent.
const UNTIL_MS: u64 = 8_000;

/// The module, which the first that asks for it builds.
pub static MODULE: LazyLock<Result<PathBuf, String>> = LazyLock::new(module::built);

#[test]
fn five_scenarios_are_equal_to_the_byte_as_webassembly() {
    let wasm = MODULE.as_ref().unwrap();
    let Ok(version) = Command::new("node").arg("--version").output() else {
        eprintln!(
            "skipped: Node.js is not installed, and nothing else here runs WebAssembly (the browser test of .ci/run does)"
        );
        return;
    };
    assert!(version.status.success());
    let play = concat!(env!("CARGO_MANIFEST_DIR"), "/web/play.mjs");
    let folder = std::env::temp_dir().join(format!("ringleader-web-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for name in SCENARIOS {
        let text = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap().1;
        let file = folder.join(format!("{name}.toml"));
        fs::write(&file, text).unwrap();
        let until = UNTIL_MS.to_string();
        let ran = Command::new("node").arg(play).arg(wasm).arg(&file).args(["7", &until]).output().unwrap();
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
        let here = beginning(&built_in(name).unwrap().unwrap(), 7, UNTIL_MS * 1_000, 900_000);
        let there = String::from_utf8(ran.stdout).unwrap();
        for (line, (here, there)) in here.lines().zip(there.lines()).enumerate() {
            assert_eq!(here, there, "{name}, line {}", line + 1);
        }
        assert!(here == there && here.len() > 100_000, "{name}: {} and {} bytes", here.len(), there.len());
    }
    fs::remove_dir_all(&folder).unwrap();
}
