//! `ringleader journal`: what a board without a cable has kept of a field test.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use sim::air::trace::Record;

use super::ports::OnePort;
use crate::field::journal;
use crate::output::counted;
use crate::{out, outln};

const DETAILS: &str = "\
A board whose image was built with a journal keeps in flash who led, which links came and went, and every two
minutes how many hellos of each neighbour arrived and how strong they were: about a day of it on an nRF52840.
After the test, connect each board and read it. The recording is like that of `ringleader monitor`, for `check`,
`links` and `join`. Times within the present boot are true. How long a board was off before is not known.

Examples:
  ringleader journal --port /dev/ttyACM0
  ringleader journal --port /dev/ttyACM0 --record node-7.jsonl
  ringleader join node-*.jsonl --out field.jsonl";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    #[command(flatten)]
    from: OnePort,
    /// Write a recording (one JSON object per line) to this new file; an existing file is never overwritten
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.record {
        ensure!(!path.exists(), "{} already exists; not overwritten: choose another name", path.display());
    }
    let journal = journal::read(&args.from.endpoint()?)?;
    out!("{}", journal.text())?;
    if let Some(path) = &args.record {
        let records = journal.records();
        let text: String = records.iter().map(Record::to_line).collect();
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        outln!("{}: {}", path.display(), counted(records.len(), "line"))?;
    }
    Ok(ExitCode::SUCCESS)
}
