//! The files that commands write.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

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

#[cfg(test)]
mod tests {
    use sim::scenario::input::plan::Scenario;
    use sim::scenario::judge::observer::Recorders;
    use sim::scenario::report::recording::run_twice;

    use super::create;
    use crate::cli::scenario_file::find;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_that_cannot_be_written_is_named() {
        let short = Scenario { duration_us: 300_000, ..find("mesh16").unwrap() };
        let full = create(Some("/dev/full".as_ref())).unwrap();
        let error = run_twice(&short, 3, Recorders { trace: full, pcap: None }).unwrap_err();
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    }
}
