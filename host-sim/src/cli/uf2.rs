//! `ringleader uf2`: makes the file that a user copies to the drive of a UF2 bootloader.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use emulator::elf::Elf;

use crate::field::uf2::Uf2;
use crate::outln;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The image: the ELF file from the linker
    elf: PathBuf,
    /// The file to write; without it, the image's name with the ending .uf2
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let name = args.elf.display();
    let out = args.out.clone().unwrap_or_else(|| args.elf.with_extension("uf2"));
    ensure!(out != args.elf, "{name} is both the image and the file to write");
    let bytes = std::fs::read(&args.elf).with_context(|| format!("cannot read {name}"))?;
    let segments = Elf::parse(&bytes).and_then(|elf| elf.segments()).with_context(|| format!("cannot read {name}"))?;
    let file = Uf2::of(&segments).with_context(|| format!("{name} is not for a UF2 bootloader"))?;
    std::fs::write(&out, &file.bytes).with_context(|| format!("cannot write {}", out.display()))?;
    let board = file.soft_device;
    outln!("{}: {} blocks, flash from {:#x} to {:#x}", out.display(), file.blocks, board.end, file.end)?;
    outln!("For a board whose INFO_UF2.TXT says {}, as the {} does", board.version, board.board.title())?;
    outln!("Next: press reset twice, and copy the file to the drive that appears")?;
    Ok(ExitCode::SUCCESS)
}
