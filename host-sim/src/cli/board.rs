//! `ringleader board`: runs a scenario on emulated boards that execute the firmware image.

mod ports;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use emulator::cpu::Cycles;
use emulator::soc::Chip;
use serde::Serialize;
use sim::scenario::input::units::seconds;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::outcome::{Outcome, Verdict};
use sim::scenario::report::story::Story;

use self::ports::Ports;
use super::files::{create, ensure_apart};
use super::pictures::{Pictures, Watched};
use super::run::{failure_with, text};
use super::scenario_file::{file_of, find, lasting_name};
use super::shell::quoted;
use crate::emulated::fleet::{Fleet, Image, log_line};
use crate::emulated::image::program;
use crate::emulated::report::{self, BoardReport};
use crate::emulated::run::{Hooks, LogHook, run_boards};
use crate::output;
use crate::{note, out, outln};

/// How often progress is shown, in simulated microseconds.
const PROGRESS_US: u64 = 500_000;

/// The chips there are images for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum ChipName {
    /// nRF52840: 1 MiB of flash, 256 KiB of RAM
    Nrf52840,
    /// nRF52833: 512 KiB of flash, 128 KiB of RAM
    Nrf52833,
}

impl ChipName {
    pub fn chip(self) -> Chip {
        match self {
            Self::Nrf52840 => Chip::Nrf52840,
            Self::Nrf52833 => Chip::Nrf52833,
        }
    }
}

/// What an instruction costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum CyclesName {
    /// One cycle, whatever it does
    Ideal,
    /// What it takes on the chip, with the instruction cache if the image switches it on
    #[default]
    Cached,
    /// What it takes on the chip with the instruction cache off
    Uncached,
}

impl CyclesName {
    pub fn cycles(self) -> Cycles {
        match self {
            Self::Ideal => Cycles::Ideal,
            Self::Cached => Cycles::Cached,
            Self::Uncached => Cycles::Uncached,
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `ringleader scenarios`) or a .toml file
    pub scenario: String,
    /// Make every node a board, regardless of the scenario
    #[arg(long)]
    pub all: bool,
    /// Run this image instead of building the nRF52840-DK's from the sources
    #[arg(long, value_name = "FILE")]
    pub elf: Option<PathBuf>,
    /// The chip the image is for
    #[arg(long, value_enum, default_value = "nrf52840")]
    pub chip: ChipName,
    /// What an instruction costs
    #[arg(long, value_enum, default_value = "cached")]
    pub cycles: CyclesName,
    /// The root seed [default: the scenario's own]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Show the boards' logs as they arrive, with simulated time and the board's own
    #[arg(long)]
    pub log: bool,
    /// Write every event to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write every frame to this file, as pcapng for Wireshark
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub pictures: Pictures,
    #[command(flatten)]
    pub ports: Ports,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Printed<'p> {
    outcome: &'p Outcome,
    boards: &'p [BoardReport],
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    ensure_apart(
        &[("the scenario", file_of(&args.scenario)), ("--elf", args.elf.as_deref())],
        &[&[("--trace", args.trace.as_deref()), ("--pcap", args.pcap.as_deref())], &args.pictures.files()[..]].concat(),
    )?;
    let program = program(args.elf.as_deref(), args.log && !args.json)?;
    let chip = args.chip.chip();
    let name = &args.scenario;
    let scenario = find(name)?;
    let seed = args.seed.unwrap_or(scenario.seed);
    let all = args.all || !scenario.has_boards();
    let image = Image { program, chip, cycles: args.cycles.cycles(), all, record: BTreeSet::new() };
    let (trace, pcap) = (create(args.trace.as_deref())?, create(args.pcap.as_deref())?);
    let canvases = args.pictures.open()?;
    let Watched { trace, detail, network } = args.pictures.watch(trace, false);
    let recorders = Recorders { trace, pcap, detail };
    if let Some(folder) = &args.ports.pty {
        return ports::rehearse(&args.ports, folder, &scenario, seed, recorders, &image);
    }
    let started = Instant::now();
    let mut logged = Ok(());
    let mut log = |now_us: u64, id, line: &_| {
        if logged.is_ok() {
            logged = outln!("{}", log_line(now_us, id, line));
        }
    };
    let mut progress = |now_us: u64, _: &Fleet| {
        if now_us.is_multiple_of(PROGRESS_US) {
            let (now, end) = (seconds(now_us), seconds(scenario.duration_us));
            output::progress(&format!("{} with seed {seed}: {now:.1} of {end} s", scenario.name));
        }
    };
    let log: Option<LogHook<'_>> = if args.log && !args.json { Some(&mut log) } else { None };
    let hooks = Hooks { log, progress: Some(&mut progress), ..Hooks::default() };
    let (mut outcome, boards) = run_boards(&scenario, seed, recorders, &image, hooks)?;
    let took = started.elapsed().as_secs_f64();
    logged?;
    output::clear_progress();
    let again = replay_command(args, seed);
    if let Some(failure) = &mut outcome.failure {
        failure.set_replay(again.clone());
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&Printed { outcome: &outcome, boards: &boards })?)?;
    } else {
        out!("{}\n{}", text(&outcome), report::table(&boards))?;
        let emulated = seconds(outcome.ran_ms * 1_000);
        outln!("\nEmulated {emulated:.1} s in {took:.1} s: {:.1} times real time", emulated / took.max(1e-9))?;
        outln!("{}", super::run::verdict_text(outcome.verdict))?;
    }
    let network = network.map(|network| network.borrow().clone());
    args.pictures.draw(canvases, &Story::of(&outcome), network.as_ref())?;
    if outcome.verdict != Verdict::Ok {
        note!("{}", failure_with(&outcome, &again).trim_end());
    }
    Ok(ExitCode::from(outcome.verdict.exit_code()))
}

/// The command that repeats this run from any directory.
fn replay_command(args: &Args, seed: u64) -> String {
    let all = if args.all { " --all" } else { "" };
    let elf = args.elf.as_ref().map_or_else(String::new, |path| {
        format!(" --elf {}", quoted(&std::path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy()))
    });
    let chip = match args.chip {
        ChipName::Nrf52840 => "",
        ChipName::Nrf52833 => " --chip nrf52833",
    };
    let cycles = match args.cycles {
        CyclesName::Ideal => " --cycles ideal",
        CyclesName::Cached => "",
        CyclesName::Uncached => " --cycles uncached",
    };
    format!("ringleader board {}{all}{elf}{chip}{cycles} --seed {seed}", quoted(&lasting_name(&args.scenario)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Args, replay_command};

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_replay_is_the_same_command_without_what_it_writes() {
        let replay = |typed: &str| replay_command(&Typed::parse_from(typed.split(' ')).args, 7);
        assert_eq!(replay("board mesh16 --json --trace x"), "ringleader board mesh16 --seed 7");
        let whole = "board mesh16 --all --elf /a/b.elf --chip nrf52833 --cycles uncached --seed 7";
        assert_eq!(replay(whole), format!("ringleader {whole}"));
    }
}
