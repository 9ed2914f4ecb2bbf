//! The log of a board: defmt's frames, decoded to text with time, level and place.

use std::collections::BTreeMap;
use std::fmt;

use defmt_decoder::{DecodeError, Encoding, Location, Table};

/// A line of a board's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The board's own time stamp, as it formats it.
    pub time: String,
    /// "info", "warn" and so on; empty for what has none.
    pub level: String,
    /// The message.
    pub text: String,
    /// File and line of the statement, where the image says so.
    pub place: Option<(String, u64)>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:5} {}", self.time, self.level, self.text)?;
        match &self.place {
            Some((file, line)) => write!(f, "  ({file}:{line})"),
            None => Ok(()),
        }
    }
}

/// What it takes to read the logs of one image.
pub struct Dictionary {
    table: Table,
    places: BTreeMap<u64, Location>,
}

impl Dictionary {
    /// Reads the dictionary in an ELF file. There is none where the image does not log.
    pub fn parse(elf: &[u8]) -> Result<Option<Self>, String> {
        let explain = |error| format!("the image's log cannot be decoded: {error:#}");
        let Some(table) = Table::parse(elf).map_err(explain)? else { return Ok(None) };
        // Without debug information there are no places, and the messages are still worth reading.
        let places = table.get_locations(elf).unwrap_or_default();
        Ok(Some(Self { table, places }))
    }

    fn line(&self, frame: &defmt_decoder::Frame<'_>) -> Line {
        let place = self.places.get(&frame.index());
        Line {
            time: frame.display_timestamp().map(|time| time.to_string()).unwrap_or_default(),
            level: frame.level().map(|level| level.as_str().to_string()).unwrap_or_default(),
            text: frame.display_message().to_string(),
            place: place.map(|place| (place.file.display().to_string(), place.line)),
        }
    }
}

/// Bytes of a log that do not make a whole frame yet.
#[derive(Clone, Debug, Default)]
pub struct LogReader {
    pending: Vec<u8>,
    damaged: u64,
}

impl LogReader {
    /// Adds bytes and gives the lines that are complete.
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

    /// Frames that could not be decoded: lost bytes.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Frames that end with a zero byte.
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
                    // Without delimiters there is no way back into step.
                    self.damaged += 1;
                    self.pending.clear();
                    return lines;
                }
            }
        }
    }
}
