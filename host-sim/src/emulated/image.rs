//! The firmware image that boards run: from a file, or built from the sources.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use emulator::board::Program;
use emulator::images;

use crate::output;

/// The program from this file, or else from the image of the sources, which is built if it is missing or outdated. Without
/// the log it loads faster.
pub fn program(elf: Option<&Path>, with_log: bool) -> anyhow::Result<Program> {
    let (path, bytes) = bytes(elf)?;
    let program = if with_log { Program::parse(&bytes) } else { Program::without_log(&bytes) };
    program.with_context(|| format!("{} is not a firmware image", path.display()))
}

/// Like [`program`], for callers that make programs of it in other threads.
pub fn bytes(elf: Option<&Path>) -> anyhow::Result<(PathBuf, Vec<u8>)> {
    let path = elf.map_or_else(built, |path| Ok(path.to_path_buf()))?;
    let bytes = fs::read(&path).with_context(|| format!("cannot read the image {}", path.display()))?;
    Ok((path, bytes))
}

fn built() -> anyhow::Result<PathBuf> {
    output::progress("building the firmware image if it is outdated ...");
    let built = images::build(&images::workspace(), "firmware", "firmware");
    output::clear_progress();
    built.or_else(|why| bail!("{why}\ncannot build the image here; give one with --elf FILE"))
}
