//! The log of a board: defmt frames, decoded to text with time, level and source location.

use std::collections::BTreeMap;
use std::fmt;

use defmt_decoder::{DecodeError, Encoding, Table};

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
    locations: BTreeMap<u64, defmt_decoder::Location>,
}

impl Dictionary {
    /// Reads the dictionary of an ELF file. An image that does not log has none.
    pub fn parse(elf: &[u8]) -> Result<Option<Self>, String> {
        let explain = |error| format!("the image's log cannot be decoded: {error:#}");
        let Some(table) = Table::parse(elf).map_err(explain)? else { return Ok(None) };
        // Without debug information there are no locations, but the messages are still worth reading.
        let locations = table.get_locations(elf).unwrap_or_default();
        Ok(Some(Self { table, locations }))
    }

    fn line(&self, frame: &defmt_decoder::Frame<'_>) -> Line {
        let location = self.locations.get(&frame.index());
        Line {
            time: frame.display_timestamp().map(|time| time.to_string()).unwrap_or_default(),
            level: frame.level().map(|level| level.as_str().to_string()).unwrap_or_default(),
            text: frame.display_message().to_string(),
            location: location.map(|at| Location { file: at.file.display().to_string(), line: at.line }),
        }
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
        match dictionary.table.encoding() {
            Encoding::Rzcobs => self.read_delimited(dictionary),
            Encoding::Raw => self.read_raw(dictionary),
            _ => Vec::new(),
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
        let mut decoder = dictionary.table.new_stream_decoder();
        decoder.received(&complete);
        let mut lines = Vec::new();
        loop {
            match decoder.decode() {
                Ok(frame) => lines.push(dictionary.line(&frame)),
                Err(DecodeError::UnexpectedEof) => return lines,
                Err(DecodeError::Malformed) => self.damaged += 1,
            }
        }
    }

    fn read_raw(&mut self, dictionary: &Dictionary) -> Vec<Line> {
        let mut lines = Vec::new();
        loop {
            match dictionary.table.decode(&self.pending) {
                Ok((frame, consumed)) => {
                    lines.push(dictionary.line(&frame));
                    drop(frame);
                    self.pending.drain(..consumed);
                }
                Err(DecodeError::UnexpectedEof) => return lines,
                Err(DecodeError::Malformed) => {
                    // Without delimiters, the start of the next frame cannot be found.
                    self.damaged += 1;
                    self.pending.clear();
                    return lines;
                }
            }
        }
    }
}
