//! Readings as lines of a file, or of standard output.
//!
//! The cursor records the file's length. Anything beyond it was written by a gateway that was killed before it could
//! move the cursor; it is cut off and written again. So every reading is in the file once. A file that is missing or
//! shorter is written again from the first reading.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::lines::Format;
use crate::spool::{Cursor, Spool};

/// How many rows are read at once.
const ROWS: usize = 1_000;

#[derive(Debug)]
pub struct TextFile {
    /// The name of its cursor.
    name: String,
    format: Format,
    /// `None` is standard output.
    file: Option<File>,
    path: PathBuf,
    cursor: Cursor,
}

impl TextFile {
    /// `-` is standard output.
    pub fn open(path: &Path, format: Format, spool: &Spool) -> anyhow::Result<Self> {
        let is_stdout = path == Path::new("-");
        let place = if is_stdout { path.to_path_buf() } else { std::path::absolute(path)? };
        let name = format!("{}:{}", format.name(), place.display());
        let known = spool.cursor(&name)?;
        let mut output = Self { name, format, file: None, path: path.to_path_buf(), cursor: known.unwrap_or_default() };
        if is_stdout {
            return Ok(output);
        }
        output.ready_file(known.is_some(), spool).with_context(|| format!("cannot use {}", path.display()))?;
        Ok(output)
    }

    fn ready_file(&mut self, is_known: bool, spool: &Spool) -> anyhow::Result<()> {
        let there = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        ensure!(is_known || there == 0, "it exists and was not written from this database: choose another name");
        // Checked before opening: a file without a cursor is not this gateway's.
        spool.set_cursor(&self.name, self.cursor)?;
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&self.path)?;
        if there < self.cursor.bytes || self.cursor.bytes == 0 {
            file.set_len(0)?;
            file.write_all(self.format.header().as_bytes())?;
            self.cursor = Cursor { row: 0, bytes: self.format.header().len() as u64 };
        } else {
            file.set_len(self.cursor.bytes)?;
            file.seek(SeekFrom::End(0))?;
        }
        file.sync_data()?;
        spool.set_cursor(&self.name, self.cursor)?;
        self.file = Some(file);
        Ok(())
    }

    /// Writes what has been committed since the last time.
    pub fn deliver(&mut self, spool: &Spool) -> anyhow::Result<()> {
        loop {
            let rows = spool.after(self.cursor.row, ROWS)?;
            let Some(last) = rows.last().map(|stored| stored.row) else { return Ok(()) };
            let text: String = rows.iter().map(|stored| self.format.line(&stored.reading)).collect();
            let written = match &mut self.file {
                Some(file) => file.write_all(text.as_bytes()).and_then(|()| file.sync_data()),
                None => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
            };
            written.with_context(|| format!("cannot write to {}", self.path.display()))?;
            self.cursor = Cursor { row: last, bytes: self.cursor.bytes + text.len() as u64 };
            spool.set_cursor(&self.name, self.cursor)?;
        }
    }
}
