//! The simulator and its tools, from outside. One program: linking a dozen of them takes longer than most of these tests.
//!
//! Modules run in the order of their names, so a name decides when a test runs. Those of [`cables`] mostly wait for boards that
//! live in real time, and come early. What [`ahead`] builds in the background is asked for late.

mod ahead;
mod algorithms;
mod bench;
mod boards;
mod browser;
#[cfg(unix)]
mod cables;
mod check;
mod collect;
mod commands;
mod dependencies;
#[cfg(unix)]
mod fields;
mod flash_fleet;
mod flashing;
mod golden;
mod harness;
mod hierarchy;
mod images;
mod lies;
mod liveness;
mod loads;
mod memories;
#[cfg(unix)]
mod monitor;
#[path = "../../common/tests/harness/mutate.rs"]
mod mutate;
mod orders;
mod output;
mod outsiders;
mod overlaps;
mod program;
mod provision;
mod reader;
mod replay;
mod results;
mod scale;
mod scenarios;
mod schemas;
mod size;
mod study;
mod swarm;
mod table;
mod uf2;
mod users;
mod webassembly;

use std::path::Path;

/// A file that is not a module would silently not be tested.
#[test]
fn every_file_here_is_a_module() {
    let modules = include_str!("main.rs");
    for entry in Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_module = path.is_dir() || path.extension().is_some_and(|extension| extension == "rs");
        assert!(!is_module || name == "main" || modules.contains(&format!("mod {name};\n")), "{}", path.display());
    }
}
