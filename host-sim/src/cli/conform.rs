//! `ringleader conform`: replays golden vectors against the core and reports every mismatch.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::lab::conform::{Report, replay_file};
use crate::output::{counted, counted_as};
use crate::{note, out, outln};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Formats: hs-golden-1, hs-extremes-1, height-golden-1, frlle-golden-1. Hierarchy scenarios (queue, K,
nodes, steps) and structures (n, edges, K, expect) have no format name; a file holds one or a list.
The exit code is 0 if everything matches, 1 if something does not or a file cannot be read.

Example:
  ringleader conform host-sim/tests/golden/*.json")]
pub struct Args {
    /// Golden files (JSON)
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A file that cannot be read is an error, but only after the others have been replayed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut total = Report::default();
    let mut broken = Vec::new();
    for path in &args.files {
        match replay_file(path) {
            Ok(report) => {
                if !args.json {
                    out!("{}", report.text(path))?;
                }
                total.absorb(path, report);
            }
            Err(error) => broken.push(format!("{error:#}")),
        }
    }
    for error in &broken {
        note!("error: {error}");
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&total.json(&broken))?)?;
    } else {
        let mismatches = counted_as(total.mismatches(), "mismatch", "mismatches");
        outln!("{}, {mismatches}", counted(total.cases.len(), "case"))?;
    }
    Ok(if broken.is_empty() && total.mismatches() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
