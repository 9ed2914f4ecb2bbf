//! The log of a board: defmt frames, decoded to text with time, level and source location.

use std::collections::BTreeMap;
use std::fmt;

mod locations;
mod message;
mod rzcobs;
mod table;

use crate::elf::Elf;
use message::Undecodable;
use table::{Encoding, Table};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The time stamp as the board formats it.
    pub time: String,
    /// "info", "warn" and so on; may be empty.
    pub level: String,
    pub text: String,
    /// Known if the image has debug information.
    pub location: Option<Location>,
}

/// Where a log statement stands in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub file: String,
    pub line: u64,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:5} {}", self.time, self.level, self.text)?;
        match &self.location {
            Some(Location { file, line }) => write!(f, "  ({file}:{line})"),
            None => Ok(()),
        }
    }
}

/// What is needed to decode the logs of one image.
pub struct Dictionary {
    table: Table,
    locations: BTreeMap<u16, Location>,
}

impl Dictionary {
    /// Reads the dictionary of an image. One that does not log has none.
    pub fn parse(elf: &[u8]) -> Result<Option<Self>, String> {
        let explain = |error| format!("the image's log cannot be decoded: {error}");
        let elf = Elf::parse(elf).map_err(|error| explain(error.to_string()))?;
        let symbols = elf.symbols().map_err(|error| explain(error.to_string()))?;
        let Some(table) = Table::parse(symbols).map_err(explain)? else { return Ok(None) };
        // Without debug information there are no locations, but the messages are still worth reading.
        let locations = locations::locations(&elf, &table).unwrap_or_default();
        Ok(Some(Self { table, locations }))
    }

    /// Decodes the frame at the start of `bytes`, and leaves what follows it.
    fn line(&self, bytes: &mut &[u8]) -> Result<Line, Undecodable> {
        let frame = message::decode(&self.table, bytes)?;
        Ok(Line {
            time: frame.time,
            level: frame.level,
            text: frame.text,
            location: self.locations.get(&frame.index).cloned(),
        })
    }
}

/// Decodes the bytes of one log, and keeps those of an incomplete frame.
#[derive(Clone, Debug, Default)]
pub struct LogReader {
    pending: Vec<u8>,
    damaged: u64,
}

impl LogReader {
    /// Adds bytes and returns the lines that are now complete.
    pub fn read(&mut self, dictionary: &Dictionary, bytes: &[u8]) -> Vec<Line> {
        self.pending.extend_from_slice(bytes);
        match dictionary.table.encoding {
            Encoding::Rzcobs => self.read_delimited(dictionary),
            Encoding::Raw => self.read_raw(dictionary),
        }
    }

    /// The board was reset, perhaps in the middle of a frame.
    pub fn reset(&mut self) {
        self.pending.clear();
    }

    /// The number of frames that could not be decoded because bytes were lost.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Decodes frames that end with a zero byte.
    fn read_delimited(&mut self, dictionary: &Dictionary) -> Vec<Line> {
        let Some(last) = self.pending.iter().rposition(|&byte| byte == 0) else { return Vec::new() };
        let complete: Vec<u8> = self.pending.drain(..=last).collect();
        let mut lines = Vec::new();
        for frame in complete.split(|&byte| byte == 0).filter(|frame| !frame.is_empty()) {
            let line = rzcobs::decode(frame).and_then(|bytes| dictionary.line(&mut bytes.as_slice()).ok());
            match line {
                Some(line) => lines.push(line),
                None => self.damaged += 1,
            }
        }
        lines
    }

    fn read_raw(&mut self, dictionary: &Dictionary) -> Vec<Line> {
        let mut lines = Vec::new();
        loop {
            let mut rest = self.pending.as_slice();
            match dictionary.line(&mut rest) {
                Ok(line) => {
                    let consumed = self.pending.len() - rest.len();
                    lines.push(line);
                    self.pending.drain(..consumed);
                }
                Err(Undecodable::Incomplete) => return lines,
                Err(Undecodable::Malformed) => {
                    // Without delimiters, the start of the next frame cannot be found.
                    self.damaged += 1;
                    self.pending.clear();
                    return lines;
                }
            }
        }
    }
}
