//! `ringleader conform`: replays golden vectors against the core.
//!
//! A golden file says what must happen, step by step; every expected field is compared. The format is recognised by the
//! file's `format` field; files of the hierarchy have none and are recognised by what they hold.

mod frlle;
mod height;
mod hierarchy;
mod hs;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::{note, out, outln};

pub use verdict::{Case, Mismatch, Report, Verdict};

/// Arguments of `conform`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Formats: hs-golden-1, hs-extremes-1, height-golden-1, frlle-golden-1; and, without a name, scenarios of the hierarchy
(queue, K, nodes, steps) and structures (n, edges, K, expect), one in a file or a list of them.
The exit code is 0 when everything matches, 1 when something does not or a file cannot be read.

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

/// What tells one kind of file from another.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    steps: Option<IgnoredAny>,
    edges: Option<IgnoredAny>,
}

/// Replays all files and reports. A file that cannot be read is an error, after the others were replayed.
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
        outln!("{} cases, {} mismatches", total.cases.len(), total.mismatches())?;
    }
    Ok(if broken.is_empty() && total.mismatches() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Replays one file.
pub fn replay_file(path: &Path) -> anyhow::Result<Report> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    replay_text(&text).with_context(|| format!("{} is no usable golden file", path.display()))
}

/// Replays a golden file's text.
pub fn replay_text(text: &str) -> anyhow::Result<Report> {
    if text.trim_start().starts_with('[') {
        let heads: Vec<Head> = parse(text)?;
        return match heads.first() {
            Some(Head { steps: Some(_), .. }) => hierarchy::replay_scenarios(&parse::<Vec<_>>(text)?),
            Some(Head { edges: Some(_), .. }) => hierarchy::replay_structures(&parse::<Vec<_>>(text)?),
            Some(_) => bail!("[0]: neither a scenario (with steps) nor a structure (with edges)"),
            None => bail!("the list is empty"),
        };
    }
    match parse::<Head>(text)? {
        Head { format: Some(format), .. } => replay_format(&format, text),
        Head { steps: Some(_), .. } => hierarchy::replay_scenarios(&[parse(text)?]),
        Head { edges: Some(_), .. } => hierarchy::replay_structures(&[parse(text)?]),
        Head { .. } => bail!("format: missing, and this is no scenario (with steps) nor a structure (with edges)"),
    }
}

fn replay_format(format: &str, text: &str) -> anyhow::Result<Report> {
    match format {
        "hs-golden-1" => hs::replay_cases(&parse(text)?),
        "hs-extremes-1" => hs::replay_extremes(&parse(text)?),
        "height-golden-1" => height::replay(&parse(text)?),
        "frlle-golden-1" => frlle::replay(&parse(text)?),
        other => {
            bail!(
                "format: \"{other}\" is unknown; known are hs-golden-1, hs-extremes-1, height-golden-1, frlle-golden-1"
            )
        }
    }
}

/// Decodes JSON; an error names the line and the path of the field.
fn parse<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        if path == "." { anyhow::anyhow!("{inner}") } else { anyhow::anyhow!("{path}: {inner}") }
    })
}
