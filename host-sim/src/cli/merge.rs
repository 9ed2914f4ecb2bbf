//! `ringleader merge`: joins the shards of a sweep.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use sim::scenario::report::merge::join;
use sim::scenario::report::sweep::Sweep;

use super::sweep;

/// What the exit codes mean.
const EXIT_CODES: &str = "\
Exit codes, by the worst of the runs in the files:
  0  everything held
  1  bad input, shards that do not go together or are missing, or a file that cannot be read or written
  2  safety: something happened that never may
  3  liveness: no agreement in time";

/// Arguments of `merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// What `ringleader sweep --json` printed, one file for each shard
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Join them although seeds are missing
    #[arg(long)]
    pub partial: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs `merge`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let read = |file: &PathBuf| -> anyhow::Result<Sweep> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not what `ringleader sweep --json` of this version prints", file.display()))
    };
    let whole = join(args.files.iter().map(read).collect::<anyhow::Result<_>>()?, args.partial)?;
    sweep::report(whole, args.json)
}
