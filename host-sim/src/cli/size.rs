//! `ringleader size`: how much flash and static RAM an image takes, and whether that is within a budget.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;

use crate::field::size::boards::Table;
use crate::field::size::{Footprint, Report};
use crate::{out, outln};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The image: the ELF file from the linker
    #[arg(required_unless_present = "all_boards")]
    elf: Option<PathBuf>,
    /// Measure the images of all boards, building those that are missing or outdated
    #[arg(long, conflicts_with = "elf")]
    all_boards: bool,
    /// Fail when the image takes more flash than this many bytes
    #[arg(long, value_name = "BYTES")]
    max_flash: Option<u64>,
    /// Fail when the image takes more static RAM than this many bytes
    #[arg(long, value_name = "BYTES")]
    max_ram: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The exit code says whether the image is within its budget.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(elf) = &args.elf else {
        let table = Table::measure(args.max_flash, args.max_ram)?;
        return finish(&table, table.within_budget, args.json);
    };
    let name = elf.display();
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {name}"))?;
    let footprint = Footprint::of(&bytes).with_context(|| format!("cannot measure {name}"))?;
    let report = Report::new(footprint, args.max_flash, args.max_ram);
    finish(&report, report.within_budget, args.json)
}

fn finish(result: &(impl Serialize + fmt::Display), within_budget: bool, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        outln!("{}", serde_json::to_string_pretty(result)?)?;
    } else {
        out!("{result}")?;
    }
    Ok(if within_budget { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
