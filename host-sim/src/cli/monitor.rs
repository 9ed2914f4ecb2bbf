//! `ringleader monitor`: watches boards on cables live and records a trace.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sim::air::trace::{Event, Record};

use super::ports::Ports;
use crate::field::monitor::screen::{Screen, Size};
use crate::field::monitor::watch::{Options, Watch};
use crate::field::utc::Utc;
use crate::output;

const DETAILS: &str = r"Shows what boards on serial ports report: who they are, whom they follow, links, readings and alarms,
with a table of all boards. A board that leads, or has led, also reports the readings that it has gathered
from all nodes, so one cable shows them all. If a port vanishes, the monitor waits for it to come back.
With --record everything goes into a trace like the simulator's, for `ringleader check`.

For a board on another machine, or where serial ports cannot be opened, run a server that forwards its
serial port, and give its address. With ser2net or socat:
  socat TCP-LISTEN:9090,reuseaddr FILE:/dev/ttyACM0,b115200,raw,echo=0
  ringleader monitor --socket HOST:9090";

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    #[command(flatten)]
    ports: Ports,
    /// Write a trace (one JSON object per line) to this new file; an existing file is never overwritten
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Ask boards to report every frame they send and receive, for the trace
    #[arg(long)]
    frames: bool,
    /// Restart the boards, and record every call of their nodes, for `ringleader replay --calls`; includes --frames
    #[arg(long, requires = "record")]
    calls: bool,
    /// Boards are USB-powered: treat a vanished port as power-off
    #[arg(long)]
    cable_is_power: bool,
    /// Stop after this many seconds instead of waiting for Ctrl-C
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Also show readings, snapshots and steps of the algorithm
    #[arg(short, long)]
    verbose: bool,
    /// Print trace lines (JSON) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let endpoints = args.ports.endpoints()?;
    let mut record = args.record.as_deref().map(new_trace).transpose()?;
    let mut watch = Watch::new(
        endpoints,
        Options {
            cable_is_power: args.cable_is_power,
            copies: true,
            // Calls are recorded from the restart on, without being asked for again.
            frames: args.frames && !args.calls,
            calls: args.calls,
        },
    );
    let program = concat!("ringleader ", env!("CARGO_PKG_VERSION")).to_owned();
    let began = Event::Recording { utc: Utc::now().to_string(), program };
    let header = Record { time_us: 0, node: None, event: began }.to_line();
    if let Some(file) = &mut record {
        file.write_all(header.as_bytes()).context("cannot write the trace")?;
    }
    let stdout = std::io::stdout();
    let is_terminal = stdout.is_terminal() && !args.json;
    let mut screen = Screen::new(stdout, is_terminal, args.verbose);
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let written = loop {
        let left = end.map_or(Duration::from_secs(1), |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            break if args.json { Ok(()) } else { screen.finish(&watch) };
        }
        let happened = watch.step(left.min(Duration::from_secs(1)));
        let lines: String = happened.iter().flat_map(|one| &one.records).map(Record::to_line).collect();
        // Written at once, so that the recording ends with a whole line even if this program is killed.
        if let Some(file) = &mut record {
            file.write_all(lines.as_bytes()).context("cannot write the trace")?;
        }
        if is_terminal {
            // Windows are resized while a field test runs.
            screen.set_size(size());
        }
        let shown = if args.json { print_all(&lines) } else { screen.show(&happened, &watch) };
        if shown.is_err() {
            break shown;
        }
    };
    // A closed pipe ends the monitor without an error.
    output::written(written)?;
    if watch.boards().all().is_empty() {
        // Without a board there is only the header in it, and the file would block the next attempt.
        if let Some(path) = args.record.as_deref() {
            drop(record);
            std::fs::remove_file(path).with_context(|| format!("cannot remove the empty {}", path.display()))?;
        }
        bail!("no board has identified itself: check the port and its cable, and that the board runs this firmware");
    }
    Ok(ExitCode::SUCCESS)
}

/// How large the terminal is.
fn size() -> Size {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
        && size.ws_row > 0
    {
        return Size { columns: usize::from(size.ws_col), lines: usize::from(size.ws_row) };
    }
    Size::USUAL
}

fn print_all(lines: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    stdout.write_all(lines.as_bytes())?;
    stdout.flush()
}

fn new_trace(path: &Path) -> anyhow::Result<File> {
    File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{} already exists; not overwritten: choose another name", path.display())
        }
        _ => anyhow::Error::new(error).context(format!("cannot create {}", path.display())),
    })
}
