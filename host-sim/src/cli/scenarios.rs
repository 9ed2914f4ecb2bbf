//! `ringleader scenarios`: lists the scenarios that come with the program.

use std::process::ExitCode;

use sim::scenario::input::catalogue::BUILT_IN;
use sim::scenario::input::read::read;

use crate::outln;

/// Lists the built-in scenarios.
pub fn run() -> anyhow::Result<ExitCode> {
    for (name, text) in BUILT_IN {
        let scenario = read(name, text)?;
        outln!("{name:<22} {}", scenario.summary)?;
    }
    Ok(ExitCode::SUCCESS)
}
