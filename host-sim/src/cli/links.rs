//! `ringleader links`: who hears whom in a trace, and how well.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::files::ensure_apart;
use crate::field::check::trace_file;
use crate::field::links::Matrix;
use crate::{out, outln};

const DETAILS: &str = "\
Reads a recording of `ringleader monitor --frames --record`, or a trace of the simulator. Each cell is the
mean strength of the frames that arrived and the share that was lost; `?` is what nobody could observe.

With --csv it writes rows of from, to, loss in dB, for `model = \"table\"` in a scenario.

Examples:
  ringleader links field.jsonl
  ringleader links field.jsonl --csv field.csv --power 8";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// The trace, one JSON object per line
    trace: PathBuf,
    /// Write the loss of each link, in dB, to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// The boards' transmit power in dBm
    #[arg(long, value_name = "DBM", default_value_t = 0.0, allow_hyphen_values = true)]
    power: f64,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    ensure_apart(&[("the trace", Some(&args.trace))], &[("--csv", args.csv.as_deref())])?;
    let matrix = Matrix::of(&trace_file::read(&args.trace)?);
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&matrix)?)?;
    } else {
        out!("{}", matrix.text())?;
    }
    if let Some(path) = &args.csv {
        std::fs::write(path, matrix.csv(args.power)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
