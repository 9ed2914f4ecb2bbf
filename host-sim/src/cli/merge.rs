//! `ringleader merge`: joins the shards of a sweep.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use sim::scenario::report::merge::join;
use sim::scenario::report::sweep::Sweep;

use super::sweep;

const EXIT_CODES: &str = "\
Exit codes, by the worst run in the files:
  0  everything held
  1  bad input, shards that do not match or are missing, or a file that cannot be read or written
  2  safety: something happened that must never happen
  3  liveness: no agreement in time";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// The output of `ringleader sweep --json`, one file per shard
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Join the files even if seeds are missing
    #[arg(long)]
    pub partial: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let read = |file: &PathBuf| -> anyhow::Result<Sweep> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| {
            format!("{} is not the output of this version's `ringleader sweep --json`", file.display())
        })
    };
    let whole = join(args.files.iter().map(read).collect::<anyhow::Result<_>>()?, args.partial)?;
    sweep::report(whole, args.json)
}
