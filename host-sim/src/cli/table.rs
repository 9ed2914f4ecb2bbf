//! `ringleader table`: reproduces the comparison tables of message and time costs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::lab::table::{SIZES, measure_all, text, write_figures};
use crate::note;
use crate::output;

/// A run that takes longer than this reports its progress.
const QUIET_FOR: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Tables 3.1 (messages) and 3.2 (time steps) of Biswas et al. 2021 for N = 10, 20 .. 100. The core itself
runs every election on an ideal synchronous network that loses nothing; no measured value comes from a
formula.

Columns of the text output:
  case      best or worst; the messages and steps of one case may come from different scenarios,
            named in the notes below the tables
  printed formula
            the formula in the published table
  N=10 ..   measured / value of the printed formula
  verdict   how they compare over all ten N; 'measured = ...' gives the formula that holds

A step is the time one message takes. Steps are counted until the last message has arrived, or for
Timer-based until the last node has decided. Bully and Modified Bully have N live nodes and a crashed
leader above them; the rings consist of the N live nodes.

Fields of --json: algorithm, case, n, measured_messages, formula_messages, measured_steps,
formula_steps, messages_equal, steps_equal, scenario_messages, scenario_steps, reason.

Examples:
  ringleader table
  ringleader table --svg figures
  ringleader table --json | jq '.[] | select(.messages_equal | not) | {algorithm, case, n}'")]
pub struct Args {
    /// Print a JSON array with one object per algorithm, case and N instead of the tables
    #[arg(long)]
    json: bool,
    /// Also draw figures 3.4 and 3.5 (a: best case, b: worst case) from the measured values into this directory
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let rows = measure_all(|n| {
        if started.elapsed() > QUIET_FOR {
            note!("measured N = {n} of {}", SIZES[SIZES.len() - 1]);
        }
    })?;
    let text = if args.json { serde_json::to_string_pretty(&rows)? + "\n" } else { text(&rows)? };
    output::print(&text)?;
    if let Some(dir) = &args.svg {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot create the directory {}", dir.display()))?;
        for file in write_figures(&rows, dir)? {
            note!("wrote {}", file.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}
