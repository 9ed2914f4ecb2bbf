//! Replays golden vectors against the core.
//!
//! A golden file lists what must happen, step by step; every expected field is compared. The file's `format` field gives
//! its format; files of the hierarchy have none and are recognised by their contents.

mod frlle;
mod height;
mod hierarchy;
mod hs;
mod verdict;

use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

pub use verdict::{Case, Mismatch, Report, Verdict};

/// What tells one kind of file from another.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    steps: Option<IgnoredAny>,
    edges: Option<IgnoredAny>,
}

pub fn replay_file(path: &Path) -> anyhow::Result<Report> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    replay_text(&text).with_context(|| format!("{} is not a usable golden file", path.display()))
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
        Head { .. } => {
            bail!("format: missing, and this is neither a scenario (with steps) nor a structure (with edges)")
        }
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
