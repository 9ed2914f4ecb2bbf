//! `ringleader view`: a page that shows a network and lets you act on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use sim::scenario::input::catalogue::BUILT_IN;
use sim::scenario::input::read::read;
use sim::scenario::run::boards::board_configs;

use super::files::ensure_apart;
use super::ports::Ports;
use super::scenario_file::{file_of, find};
use crate::emulated::image;
use crate::field::check::trace_file;
use crate::field::monitor::watch::Options;
use crate::output::{self, counted};
use crate::view::live::Live;
use crate::view::module;
use crate::view::page::{Origin, Show, html};
use crate::view::serve::{Served, Server, What};
use crate::{note, outln};

const DETAILS: &str = "\
In the page every action (kill, restart, move, wall, jam, split) becomes a fault of the scenario at its
time, and the run goes on from there. `Save scenario` gives a file that `ringleader run` plays to the
same byte; `Copy link` puts scenario, seed and moment into the page's address.

A page is served to this machine only, at an address with a random part; Ctrl-C ends it. With --out the
page is a file that holds everything, the simulator included, and needs neither this program nor a network.

With --port the page shows boards on cables as they report, and lets you identify and restart them and
ask for elections. With --board a scenario is played by emulated boards that run the firmware image; that
takes longer than simulated nodes do.

Examples:
  ringleader view mesh25
  ringleader view mesh16 --board
  ringleader view --port /dev/ttyACM0 --port /dev/ttyACM1
  ringleader view mesh25 --out mesh25.html
  ringleader run mesh25 --trace mesh25.jsonl --detail && ringleader view mesh25.jsonl";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// A built-in scenario (see `ringleader scenarios`), a .toml file, or a trace of `run` or `monitor` [default: mesh25]
    #[arg(value_name = "SCENARIO|TRACE")]
    what: Option<String>,
    /// Show the board at this serial port, live; may be repeated
    #[arg(short, long, value_name = "PORT", conflicts_with_all = ["what", "seed", "out", "board"])]
    port: Vec<PathBuf>,
    /// Show the board behind this server, HOST:PORT, which forwards its serial port; may be repeated
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["what", "seed", "out", "board"])]
    socket: Vec<String>,
    /// Ask live boards to report every frame they send and receive
    #[arg(long)]
    frames: bool,
    /// Play the scenario on emulated boards that run the firmware image
    #[arg(long, conflicts_with = "out")]
    board: bool,
    /// With --board: this image instead of the nRF52840-DK's, built from the sources
    #[arg(long, value_name = "FILE", requires = "board")]
    elf: Option<PathBuf>,
    /// The root seed [default: the scenario's own]
    #[arg(long)]
    seed: Option<u64>,
    /// Write the page to this file, with the simulator in it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the address without opening a browser
    #[arg(long, conflicts_with = "out")]
    no_open: bool,
    /// The simulator as WebAssembly for --out, instead of building it from the sources
    #[arg(long, value_name = "FILE", requires = "out")]
    module: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let ports = Ports { port: args.port.clone(), socket: args.socket.clone() };
    if !ports.is_empty() {
        return serve(live(&ports, args.frames)?, !args.no_open);
    }
    ensure!(!args.frames, "--frames is for live boards; name their ports with --port");
    let name = args.what.as_deref().unwrap_or("mesh25");
    let served = what(name, args)?;
    let Some(path) = &args.out else { return serve(served, !args.no_open) };
    ensure_apart(&[("the input", file_of(name))], &[("--out", Some(path))])?;
    let Served { name, file, text, seed, what } = &served;
    let page = if let What::Trace(trace) = what {
        html(Show { name, text, seed: *seed, origin: Origin::Trace(trace) })
    } else {
        // A page has no files beside it.
        read(file, text)?;
        let module = wasm(args.module.as_deref())?;
        html(Show { name, text, seed: *seed, origin: Origin::Module(&module) })
    };
    fs::write(path, &page).with_context(|| format!("cannot write {}", path.display()))?;
    outln!("{}: {} kB, {name}", path.display(), page.len() / 1000)?;
    Ok(ExitCode::SUCCESS)
}

/// What to show: a scenario or a recording.
fn what(what: &str, args: &Args) -> anyhow::Result<Served> {
    let known = BUILT_IN.iter().find(|(name, _)| *name == what);
    let path = Path::new(what);
    let is_trace = known.is_none() && path.extension().is_none_or(|end| end != "toml") && path.is_file();
    let (file, seed) = (what.to_owned(), args.seed);
    let stem = path.file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
    if is_trace {
        ensure!(seed.is_none(), "{what} is a recording, which has no seed to choose");
        ensure!(!args.board, "{what} is a recording, which needs no boards");
        let trace = trace_file::read(path)?;
        let lines: String = trace.records.iter().map(sim::air::trace::Record::to_line).collect();
        return Ok(Served { name: stem, file, text: String::new(), seed, what: What::Trace(lines) });
    }
    let scenario = find(what)?;
    if scenario.has_boards() && !args.board {
        note!("note: the view simulates boards like any other node; --board emulates them");
    }
    let text = match known {
        Some((_, text)) => (*text).to_owned(),
        None => fs::read_to_string(path).with_context(|| format!("cannot read the scenario {what}"))?,
    };
    let what = if args.board {
        // An error is reported here rather than in the page.
        board_configs(&scenario, !scenario.has_boards())?;
        What::Boards(image::bytes(args.elf.as_deref())?.1.into())
    } else {
        What::Scenario
    };
    Ok(Served { name: scenario.name, file, text, seed, what })
}

/// Boards on cables.
fn live(ports: &Ports, frames: bool) -> anyhow::Result<Served> {
    let endpoints = ports.endpoints()?;
    let name = counted(endpoints.len(), "board");
    let live = Live::watch(endpoints, Options { frames, ..Options::default() }).context("cannot watch boards")?;
    Ok(Served { name, file: String::new(), text: String::new(), seed: None, what: What::Live(live) })
}

fn wasm(given: Option<&Path>) -> anyhow::Result<Vec<u8>> {
    let path = if let Some(path) = given {
        path.to_owned()
    } else {
        output::progress("building the simulator for pages if it is outdated ...");
        let built = module::built();
        output::clear_progress();
        built.or_else(|why| bail!("{why}\ncannot build the simulator here; give one with --module FILE"))?
    };
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(bytes.starts_with(b"\0asm"), "{} is not WebAssembly", path.display());
    Ok(bytes)
}

fn serve(what: Served, open: bool) -> anyhow::Result<ExitCode> {
    let server = Server::new(what).context("cannot listen on this machine")?;
    let address = server.address();
    outln!("The view is at {address}\nCtrl-C ends it.")?;
    if open && !open_browser(&address) {
        note!("no browser could be started here; open the address in one");
    }
    server.run().context("cannot serve the page")?;
    Ok(ExitCode::SUCCESS)
}

fn open_browser(address: &str) -> bool {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
