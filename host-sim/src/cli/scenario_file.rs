//! Finds scenarios by name or in files, for every command that takes one.

use std::path::Path;

use anyhow::{Context, bail};
use sim::scenario::input::catalogue::{BUILT_IN, built_in};
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read_with;
use sim::scenario::input::toml_section::{Problem, nearest};

/// Reads a scenario, which may refer to other files on disk.
pub fn read(file: &str, text: &str) -> Result<Scenario, Problem> {
    read_with(file, text, &|path| std::fs::read_to_string(path))
}

/// Built-in names come first; anything else must look like a file.
pub fn find(name: &str) -> anyhow::Result<Scenario> {
    if let Some(scenario) = built_in(name) {
        return Ok(scenario?);
    }
    let is_file = Path::new(name).extension().is_some_and(|end| end == "toml") || name.contains(['/', '\\']);
    if is_file {
        let text = std::fs::read_to_string(name).with_context(|| format!("cannot read the scenario {name}"))?;
        return Ok(read(name, &text)?);
    }
    match nearest(name, BUILT_IN.iter().map(|(known, _)| *known)) {
        Some(known) => bail!("there is no scenario \"{name}\"; did you mean \"{known}\"?"),
        None => bail!("there is no scenario \"{name}\"; see `ringleader scenarios`, or give a .toml file"),
    }
}

/// The file that a scenario is in, unless it is built in.
pub fn file_of(name: &str) -> Option<&Path> {
    BUILT_IN.iter().all(|(known, _)| *known != name).then(|| Path::new(name))
}

/// A name that works in any directory: built-in scenarios keep theirs, files get their absolute path.
pub fn lasting_name(name: &str) -> String {
    let path = file_of(name).and_then(|file| std::path::absolute(file).ok());
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}
