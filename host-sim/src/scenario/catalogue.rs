//! The scenarios that come with the program, and those in files.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::plan::Scenario;
use super::read::read;
use super::toml_section::nearest;
use crate::outln;

/// Name and text of each scenario that is built in.
pub const BUILT_IN: [(&str, &str); 18] = [
    ("ring16", include_str!("../../../scenarios/ring16.toml")),
    ("ring64-with-dead-nodes", include_str!("../../../scenarios/ring64-with-dead-nodes.toml")),
    ("mesh25", include_str!("../../../scenarios/mesh25.toml")),
    ("mesh16", include_str!("../../../scenarios/mesh16.toml")),
    ("partition-merge", include_str!("../../../scenarios/partition-merge.toml")),
    ("mobile40", include_str!("../../../scenarios/mobile40.toml")),
    ("weak-link", include_str!("../../../scenarios/weak-link.toml")),
    ("saturation", include_str!("../../../scenarios/saturation.toml")),
    ("dense60", include_str!("../../../scenarios/dense60.toml")),
    ("hidden-terminals", include_str!("../../../scenarios/hidden-terminals.toml")),
    ("wifi-interference", include_str!("../../../scenarios/wifi-interference.toml")),
    ("crash-storm", include_str!("../../../scenarios/crash-storm.toml")),
    ("field36", include_str!("../../../scenarios/field36.toml")),
    ("hostile", include_str!("../../../scenarios/hostile.toml")),
    ("bad-flash", include_str!("../../../scenarios/bad-flash.toml")),
    ("wild-clocks", include_str!("../../../scenarios/wild-clocks.toml")),
    ("boards5", include_str!("../../../scenarios/boards5.toml")),
    ("mixed", include_str!("../../../scenarios/mixed.toml")),
];

/// A scenario by its name, or from a file.
pub fn find(name: &str) -> anyhow::Result<Scenario> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok(read(&format!("{name} (built in)"), text)?);
    }
    let is_file = Path::new(name).extension().is_some_and(|end| end == "toml") || name.contains(['/', '\\']);
    if is_file {
        let text = std::fs::read_to_string(name).with_context(|| format!("cannot read the scenario {name}"))?;
        return Ok(read(name, &text)?);
    }
    match nearest(name, BUILT_IN.iter().map(|(known, _)| *known)) {
        Some(known) => bail!("there is no scenario \"{name}\"; did you mean \"{known}\"?"),
        None => bail!("there is no scenario \"{name}\"; see `ringleader scenarios`, or give a file that ends in .toml"),
    }
}

/// The file that a scenario is in; none where it is built in.
pub fn file_of(name: &str) -> Option<&Path> {
    BUILT_IN.iter().all(|(known, _)| *known != name).then(|| Path::new(name))
}

/// A name that means the same scenario wherever one is: built-in ones keep theirs, files get their whole path.
pub fn lasting_name(name: &str) -> String {
    let path = file_of(name).and_then(|file| std::path::absolute(file).ok());
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

/// Lists the built-in scenarios.
pub fn list() -> anyhow::Result<ExitCode> {
    for (name, text) in BUILT_IN {
        let scenario = read(name, text)?;
        outln!("{name:<22} {}", scenario.summary)?;
    }
    Ok(ExitCode::SUCCESS)
}
