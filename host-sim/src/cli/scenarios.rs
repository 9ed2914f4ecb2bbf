//! `ringleader scenarios`: lists the built-in scenarios.

use std::process::ExitCode;

use sim::scenario::input::catalogue::BUILT_IN;
use sim::scenario::input::read::read;

use crate::outln;

pub fn run() -> anyhow::Result<ExitCode> {
    for (name, text) in BUILT_IN {
        let scenario = read(name, text)?;
        outln!("{name:<22} {}", scenario.summary)?;
    }
    Ok(ExitCode::SUCCESS)
}
