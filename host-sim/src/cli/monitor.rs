//! `ringleader monitor`: boards on cables, live, and a trace of what they do.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sim::air::trace::Record;

use super::output;
use crate::field::monitor::line::Place;
use crate::field::monitor::screen::Screen;
use crate::field::monitor::watch::{Options, Watch};

/// Where the RTT server is, if it was started as the help shows.
const RTT_SERVER: &str = "127.0.0.1:9090";

/// Arguments of `monitor`.
///
/// Shows what boards on serial ports say: who they are, whom they follow, links, readings and alarms, with a table of all
/// boards. A port that vanishes is waited for. With --record everything goes into a trace like the simulator's, which
/// `ringleader check` checks.
///
/// Over a debug probe, let a server pass on RTT channel 1, and give its address. With OpenOCD:
///   openocd -f interface/jlink.cfg -c "transport select swd" -f target/nrf52.cfg -c init \
///     -c 'rtt setup 0x20000000 0x40000 "SEGGER RTT"' -c "rtt start" -c "rtt server start 9090 1"
///   ringleader monitor --rtt
#[expect(clippy::doc_markdown, reason = "the help is plain text")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// A serial port; may be given several times. Without any: every /dev/ttyACM* or /dev/cu.usbmodem*
    #[arg(short, long, value_name = "PORT")]
    port: Vec<PathBuf>,
    /// A server that passes on RTT channel 1, HOST:PORT; may be given several times
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = RTT_SERVER)]
    rtt: Vec<String>,
    /// Write a trace (one JSON object per line) to this file, which must not be there yet
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Ask boards to report every frame they send and receive, for the trace
    #[arg(long)]
    frames: bool,
    /// Boards live from their cable: a port that vanishes is a board switched off
    #[arg(long)]
    cable_is_power: bool,
    /// Stop after so many seconds, instead of with Ctrl-C
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Show readings, snapshots and steps of the algorithm too
    #[arg(short, long)]
    verbose: bool,
    /// Print the lines of the trace instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut places: Vec<Place> = args.port.iter().cloned().map(Place::Serial).collect();
    places.extend(args.rtt.iter().cloned().map(Place::Rtt));
    if places.is_empty() {
        places = found_ports(Path::new("/dev")).into_iter().map(Place::Serial).collect();
    }
    if places.is_empty() {
        bail!("there is no board on USB here: plug one in, or name its port with --port, or use --rtt (see --help)");
    }
    let mut record = args.record.as_deref().map(new_trace).transpose()?;
    let mut watch = Watch::new(places, Options { cable_is_power: args.cable_is_power, frames: args.frames });
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
        // Written at once, so that whatever ends the recording leaves whole lines.
        if let Some(file) = &mut record {
            file.write_all(lines.as_bytes()).context("cannot write the trace")?;
        }
        let shown = if args.json { print_all(&lines) } else { screen.show(&happened, &watch) };
        if shown.is_err() {
            break shown;
        }
    };
    // Whoever read the output may have gone, and so does this.
    output::written(written).map(|()| ExitCode::SUCCESS)
}

fn print_all(lines: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    stdout.write_all(lines.as_bytes())?;
    stdout.flush()
}

fn new_trace(path: &Path) -> anyhow::Result<File> {
    File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{} is there already; a recording is not written over: choose another name", path.display())
        }
        _ => anyhow::Error::new(error).context(format!("cannot create {}", path.display())),
    })
}

/// The serial ports of boards on USB, in order.
fn found_ports(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_board = |name: &str| name.starts_with("ttyACM") || name.starts_with("cu.usbmodem");
    let mut ports: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_board))
        .map(|entry| entry.path())
        .collect();
    ports.sort();
    ports
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use common::host_link::RTT_CHANNEL;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        _args: super::Args,
    }

    #[test]
    fn the_help_names_the_channel_that_boards_use() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains(&format!("rtt server start 9090 {RTT_CHANNEL}")), "{help}");
        assert!(help.contains(&format!("passes on RTT channel {RTT_CHANNEL}")), "{help}");
    }
}
