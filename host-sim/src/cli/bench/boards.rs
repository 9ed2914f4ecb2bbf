//! `ringleader bench boards`: how fast boards are emulated.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use sim::scenario::input::units::seconds;

use crate::cli::board::{ChipName, CyclesName};
use crate::emulated::fleet::Image;
use crate::emulated::image::program;
use crate::lab::bench::board_bench::{CASES, Measured, SETTLED_US, measure};
use crate::lab::bench::machine::Machine;
use crate::outln;
use crate::output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run this image instead of building the nRF52840-DK's from the sources
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// The chip the image is for
    #[arg(long, value_enum, default_value = "nrf52840")]
    chip: ChipName,
    /// What an instruction costs
    #[arg(long, value_enum, default_value = "cached")]
    cycles: CyclesName,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (program, chip) = (program(args.elf.as_deref(), false)?, args.chip.chip());
    let image = Image { program, chip, cycles: args.cycles.cycles(), all: true, record: BTreeSet::new() };
    let mut measured = Vec::new();
    for case in CASES {
        output::progress(&format!("{} ...", case.name));
        measured.push(measure(&case, &image)?);
    }
    output::clear_progress();
    let machine = Machine::this();
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&(machine, measured))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cpu = machine.cpu.as_deref().unwrap_or("unknown processor");
    outln!("{cpu}, one core; measured from {} s on", seconds(SETTLED_US))?;
    outln!(
        "{:<28} {:>9} {:>7}  {:>16}  {:>14} {:>16} {:>9}",
        "",
        "emulated",
        "took",
        "times real time",
        "instructions/s",
        "awake",
        "MIPS here"
    )?;
    for row in &measured {
        let Measured { name, emulated_s, processor_s, times_real_time, awake_percent, .. } = row;
        let pace = row.pace_bar.map_or_else(String::new, |bar| format!("(bar {bar})"));
        let awake = row.awake_bar.map_or_else(String::new, |bar| format!("(bar {bar} %)"));
        outln!(
            "{name:<28} {emulated_s:>7.0} s {processor_s:>5.2} s  {times_real_time:>7.1} {pace:<10} {:>14.0} {awake_percent:>5.2} % {awake:<10} {:>7.1}",
            row.instructions_per_board_and_second,
            row.million_instructions_per_second
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
