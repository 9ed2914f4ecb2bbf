//! `ringleader join`: several recordings of one field test as one, and its readings as a table.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use sim::air::trace::Record;

use super::files::ensure_apart;
use crate::field::check::trace_file;
use crate::field::clocks::Correction;
use crate::field::join::{Joined, began, join, readings_csv};
use crate::output::counted;
use crate::{note, outln};

const DETAILS: &str = "\
Recordings of `ringleader monitor --record` begin with the wall-clock time, which aligns them. Where boards
of two laptops heard the same frames (`--frames`), those show how far the laptops' clocks were apart; that is
corrected and reported. Boards are known by their chips, so a board that was at two laptops is one board.

Examples:
  ringleader join north.jsonl south.jsonl --out field.jsonl && ringleader check field.jsonl
  ringleader join field.jsonl --csv readings.csv";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// The recordings
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// Write the joined recording to this new file
    #[arg(long, value_name = "FILE", required_unless_present = "csv")]
    out: Option<PathBuf>,
    /// Write all readings to this file as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let read: Vec<_> = args.recordings.iter().map(|path| ("a recording", Some(path.as_path()))).collect();
    ensure_apart(&read, &[("--out", args.out.as_deref()), ("--csv", args.csv.as_deref())])?;
    let mut traces = Vec::new();
    for path in &args.recordings {
        let trace = trace_file::read(path)?;
        began(&trace).with_context(|| path.display().to_string())?;
        traces.push(trace);
    }
    let Joined { records, began, corrections } = join(&traces)?;
    if traces.len() > 1 {
        for (path, correction) in args.recordings.iter().zip(corrections) {
            note!("{}: {}", path.display(), clock(correction));
        }
    }
    if let Some(path) = &args.out {
        ensure!(!path.exists(), "{} already exists; not overwritten: choose another name", path.display());
        let text: String = records.iter().map(Record::to_line).collect();
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        let from = counted(traces.len(), "recording");
        outln!("{}: {} from {from}", path.display(), counted(records.len(), "line"))?;
    }
    if let Some(path) = &args.csv {
        let text = readings_csv(&records, began);
        std::fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        outln!("{}: {}", path.display(), counted(text.lines().count() - 1, "reading"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is known of a laptop's clock.
fn clock(correction: Option<Correction>) -> String {
    let Some(Correction { late_us, frames }) = correction else {
        return "no frames in common with the others; joined by the clock on the wall".to_owned();
    };
    let by = counted(frames, "frame");
    #[expect(clippy::cast_precision_loss, reason = "laptops are not centuries apart")]
    let seconds = late_us as f64 / 1e6;
    match late_us {
        0 => format!("the others' clocks are compared with this one's, by {by} that they have in common"),
        1.. => format!("its clock was {seconds:.3} s behind, by {by} that both have; corrected"),
        _ => format!("its clock was {:.3} s ahead, by {by} that both have; corrected", -seconds),
    }
}
