//! The image that boards run: from a file, or built from the sources.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use emulator::board::Program;
use emulator::images;

use crate::cli::output;

/// The program of a given file, or of the image built from the sources where that is missing or older than they are; with
/// its log decoded, or not.
pub fn program(elf: Option<&Path>, with_log: bool) -> anyhow::Result<Program> {
    let path = elf.map_or_else(built, |path| Ok(path.to_path_buf()))?;
    let bytes = fs::read(&path).with_context(|| format!("cannot read the image {}", path.display()))?;
    let program = if with_log { Program::parse(&bytes) } else { Program::without_log(&bytes) };
    program.with_context(|| format!("{} is no image of a board", path.display()))
}

fn built() -> anyhow::Result<PathBuf> {
    output::progress("building the image where it is older than its sources ...");
    let built = images::build(&images::workspace(), "firmware", "firmware");
    output::clear_progress();
    built.or_else(|why| bail!("{why}\nthe image cannot be built here; give one with --elf FILE"))
}
