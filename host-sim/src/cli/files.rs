//! The files that commands write.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// A file whose errors name it.
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

/// The same for every spelling of a path. A file that does not exist yet is resolved through its directory.
fn resolved(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.canonicalize().ok().or_else(|| Some(absolute.parent()?.canonicalize().ok()?.join(absolute.file_name()?)))
}

/// Fails if an output file is also an input or another output. Each path comes with its name for the error message.
/// Call this before creating any of the files, since creating one empties it.
pub fn ensure_apart(read: &[(&str, Option<&Path>)], written: &[(&str, Option<&Path>)]) -> anyhow::Result<()> {
    let is_scenario = |path: &&Path| path.extension().is_some_and(|ending| ending == "toml") && path.exists();
    if let Some((what, path)) = written.iter().find_map(|&(what, path)| Some((what, path.filter(is_scenario)?))) {
        bail!("{what} would overwrite {}, which looks like a scenario: choose another name", path.display());
    }
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    for (index, &(what, path)) in read.iter().chain(written).enumerate() {
        // A device or a pipe, such as /dev/null, has nothing to lose. A path that cannot be resolved fails when opened.
        let is_kept = |path: &&Path| path.metadata().map_or(true, |found| found.is_file());
        let Some((path, file)) = path.filter(is_kept).and_then(|path| Some((path, resolved(path)?))) else { continue };
        let other = taken.iter().find(|(_, other)| index >= read.len() && *other == file);
        if let Some((other, _)) = other {
            bail!("{other} and {what} are the same file, and one would overwrite the other: {}", path.display());
        }
        taken.push((what, file));
    }
    Ok(())
}

/// Creates a recorder's file, if there is to be one. Done before the run, so that a bad path fails early.
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
        let error = run_twice(&short, 3, Recorders { trace: full, ..Recorders::default() }).unwrap_err();
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    }
}
