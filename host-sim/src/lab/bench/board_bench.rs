//! How fast boards are emulated, and how much an idle one works.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::ensure;
use serde::Serialize;
use sim::scenario::input::read::read;
use sim::scenario::input::units::seconds;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::outcome::Verdict;

use super::machine::{Machine, processor_seconds};
use crate::cli::board::ChipName;
use crate::cli::output;
use crate::emulated::fleet::{Fleet, Image};
use crate::emulated::image::program;
use crate::emulated::run::{Hooks, run_boards};
use crate::outln;

/// Until then boards start and elect, which is not what is measured.
const SETTLED_US: u64 = 20_000_000;

/// Cycles in a second.
const HZ: f64 = 64e6;

/// One measurement.
struct Case {
    name: &'static str,
    boards: u32,
    seconds: u64,
    algorithm: &'static str,
    /// Times real time that it is meant to reach.
    pace_bar: Option<f64>,
    /// Percent of its time that a board's processor may work.
    awake_bar: Option<f64>,
}

const CASES: [Case; 3] = [
    Case {
        name: "sixteen in range, heights",
        boards: 16,
        seconds: 60,
        algorithm: "height",
        pace_bar: Some(10.0),
        awake_bar: None,
    },
    Case {
        name: "five elected and quiet, HS",
        boards: 5,
        seconds: 120,
        algorithm: "hs",
        pace_bar: None,
        awake_bar: Some(2.0),
    },
    Case {
        name: "one alone, heights",
        boards: 1,
        seconds: 1_200,
        algorithm: "height",
        pace_bar: Some(1_000.0),
        awake_bar: Some(2.0),
    },
];

/// What one measurement gave, from when everybody had elected on.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    name: &'static str,
    boards: u32,
    /// Emulated seconds.
    emulated_s: f64,
    /// Seconds that a processor of this machine spent on them.
    processor_s: f64,
    times_real_time: f64,
    pace_bar: Option<f64>,
    instructions_per_board_and_second: f64,
    awake_percent: f64,
    awake_bar: Option<f64>,
    million_instructions_per_second: f64,
}

/// Arguments of `bench boards`.
#[derive(Debug, clap::Args)]
pub struct BoardsArgs {
    /// Run this image, instead of building the one of the nRF52840-DK from the sources
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// The chip that the image is for
    #[arg(long, value_enum, default_value = "nrf52840")]
    chip: ChipName,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(args: &BoardsArgs) -> anyhow::Result<ExitCode> {
    let (program, chip) = (program(args.elf.as_deref(), false)?, args.chip.chip());
    let image = Image { program, chip, all: true, record: BTreeSet::new() };
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
    outln!("{}, one core; from {} s on", machine.cpu.as_deref().unwrap_or("unknown processor"), seconds(SETTLED_US))?;
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

fn measure(case: &Case, image: &Image) -> anyhow::Result<Measured> {
    let Case { name, boards, seconds: length, algorithm, pace_bar, awake_bar } = *case;
    let text = format!(
        "name = \"bench\"\nduration = \"{} s\"\n[topology]\nkind = \"ring\"\nnodes = {boards}\nspacing = \"2 m\"\n\
         [radio]\nmodel = \"plain\"\n[protocol]\nkind = \"{algorithm}\"\n[expect]\nagreement_within = \"15 s\"\n",
        length + SETTLED_US / 1_000_000
    );
    let scenario = read(name, &text)?;
    let clock = {
        let started = Instant::now();
        move || processor_seconds().unwrap_or_else(|| started.elapsed().as_secs_f64())
    };
    let (mut from, mut to) = ((0.0, 0), (0.0, 0));
    let mut progress = |now_us: u64, fleet: &Fleet| {
        let mark = if now_us == SETTLED_US {
            &mut from
        } else if now_us == scenario.duration_us {
            &mut to
        } else {
            return;
        };
        *mark = (clock(), fleet.instructions());
    };
    let hooks = Hooks { log: None, progress: Some(&mut progress) };
    let (outcome, _) = run_boards(&scenario, 1, Recorders::default(), image, hooks)?;
    ensure!(outcome.verdict == Verdict::Ok, "{name}: {:?}", outcome.failure);
    #[expect(clippy::cast_precision_loss, reason = "2^53 instructions take years")]
    let (instructions, emulated_s) = ((to.1 - from.1) as f64, length as f64);
    let processor_s = (to.0 - from.0).max(1e-9);
    let per_board = instructions / f64::from(boards) / emulated_s;
    Ok(Measured {
        name,
        boards,
        emulated_s,
        processor_s,
        times_real_time: emulated_s / processor_s,
        pace_bar,
        instructions_per_board_and_second: per_board,
        awake_percent: 100.0 * per_board / HZ,
        awake_bar,
        million_instructions_per_second: instructions / processor_s / 1e6,
    })
}
