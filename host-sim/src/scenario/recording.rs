//! The files that a run is written to, and the comparison of two runs event by event.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, bail};
use serde::Serialize;

use super::drive;
use super::observer::Recorders;
use super::outcome::Outcome;
use super::plan::Scenario;
use crate::fnv;

/// A file whose errors say which one it is.
#[derive(Debug)]
struct NamedFile {
    path: PathBuf,
    file: File,
}

impl NamedFile {
    fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| io::Error::new(error.kind(), format!("cannot write {}: {error}", self.path.display())))
    }
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.named(flushed)
    }
}

/// Where a path leads, however it is written. A file that is yet to be made goes by its directory.
fn place(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.canonicalize().ok().or_else(|| Some(absolute.parent()?.canonicalize().ok()?.join(absolute.file_name()?)))
}

/// Fails where something would be written over what is read, or over something else that is written. Each path comes
/// with what it is to people. Making a file empties it, so this is asked before any is made.
pub fn ensure_apart(read: &[(&str, Option<&Path>)], written: &[(&str, Option<&Path>)]) -> anyhow::Result<()> {
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    for (index, &(what, path)) in read.iter().chain(written).enumerate() {
        // A device or a pipe, such as /dev/null, keeps nothing that could be lost. A place that is none is told later.
        let is_kept = |path: &&Path| path.metadata().map_or(true, |found| found.is_file());
        let Some((path, place)) = path.filter(is_kept).and_then(|path| Some((path, place(path)?))) else { continue };
        let other = taken.iter().find(|(_, other)| index >= read.len() && *other == place);
        if let Some((other, _)) = other {
            bail!("{other} and {what} are the same file, and one would overwrite the other: {}", path.display());
        }
        taken.push((what, place));
    }
    Ok(())
}

/// A file for a recorder, or none. It is made at once, so that a path that cannot be written is told before the run.
pub fn create(path: Option<&Path>) -> anyhow::Result<Option<Box<dyn Write>>> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(Box::new(NamedFile { path: path.to_owned(), file })))
}

/// Takes a fingerprint of what goes to a file, or to none.
struct Fingerprint {
    hash: Rc<Cell<u64>>,
    file: Option<Box<dyn Write>>,
}

impl Write for Fingerprint {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.as_mut().map_or(Ok(bytes.len()), |file| file.write(bytes))?;
        self.hash.set(fnv::extend(self.hash.get(), bytes.iter().take(written).copied()));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// How two runs of the same compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Whether they were the same, event by event and in what came of them.
    pub same: bool,
    /// The fingerprint of the trace of each.
    pub traces: [String; 2],
    /// The fingerprint of all frames of each.
    pub frames: [String; 2],
}

impl Comparison {
    fn of(first: &(Outcome, u64), second: &(Outcome, u64)) -> Self {
        let shown = |hash: u64| format!("{hash:016x}");
        Self {
            same: first == second,
            traces: [shown(first.1), shown(second.1)],
            frames: [first.0.digest.clone(), second.0.digest.clone()],
        }
    }

    /// What is said about it.
    pub fn text(&self) -> String {
        let [first, second] = &self.traces;
        if self.same {
            return format!("Two runs were the same, event by event ({first}).");
        }
        let [frames, other_frames] = &self.frames;
        format!(
            "DETERMINISM VIOLATED: two runs with the same seed differ: traces {first} and {second}, frames {frames} and {other_frames}"
        )
    }
}

/// Runs a scenario twice, writes the first run down, and compares both. Fails only where writing does.
pub fn run_twice(scenario: &Scenario, seed: u64, recorders: Recorders) -> io::Result<(Outcome, Comparison)> {
    let traced = |recorders: Recorders| -> io::Result<(Outcome, u64)> {
        let hash = Rc::new(Cell::new(fnv::EMPTY));
        let trace: Box<dyn Write> = Box::new(Fingerprint { hash: Rc::clone(&hash), file: recorders.trace });
        let outcome = drive::run_recorded(scenario, seed, Recorders { trace: Some(trace), ..recorders })?;
        Ok((outcome, hash.get()))
    };
    let (first, second) = (traced(recorders)?, traced(Recorders::default())?);
    let comparison = Comparison::of(&first, &second);
    Ok((first.0, comparison))
}

#[cfg(test)]
mod tests {
    use super::{Comparison, create, run_twice};
    use crate::scenario::catalogue::find;
    use crate::scenario::observer::Recorders;
    use crate::scenario::plan::Scenario;

    #[test]
    fn runs_that_differ_are_told_apart() {
        let short = Scenario { duration_us: 300_000, ..find("mesh16").unwrap() };
        let (outcome, comparison) = run_twice(&short, 3, Recorders::default()).unwrap();
        assert!(comparison.same && comparison.text().contains("the same"), "{comparison:?}");
        let other = Comparison::of(&(outcome.clone(), 1), &(outcome, 2));
        assert!(!other.same && other.text().starts_with("DETERMINISM VIOLATED"), "{other:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_that_cannot_be_written_is_named() {
        let short = Scenario { duration_us: 300_000, ..find("mesh16").unwrap() };
        let full = create(Some("/dev/full".as_ref())).unwrap();
        let error = run_twice(&short, 3, Recorders { trace: full, pcap: None }).unwrap_err();
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    }
}
