//! What a board and a PC say to each other over a cable: USB or UART.
//!
//! One message is one frame:
//!
//! ```text
//! COBS( version | direction | message in postcard's encoding | CRC-16 of everything before it, little-endian )  0
//! ```
//!
//! COBS (Cheshire and Baker 1999) takes the zeros out, so that a zero is always the end of a frame. A reader that joins late
//! or loses bytes is in step again after the next zero. The direction is there because a terminal may echo: a board must not
//! take its own words for a command.
//!
//! Neither end waits for the other. A board drops what a host does not collect and says so with [`ToHost::Lost`]; a host
//! that hears of no loss has everything. No message carries a key off a board: configurations only go in.
//!
//! # Readings of all nodes
//!
//! A leader gathers the readings of all nodes into a log in its flash (`docs/collection.md`) and says each entry as it writes it
//! ([`ToHost::Logged`]). A host that comes later asks with [`ToBoard::ReadLog`] from position 0 on, again and again from where the
//! answer ended ([`ToHost::LogTold`]), until it has all. An entry is read by
//! [`LogEntry::read`](crate::data::log_entry::LogEntry::read), and its samples, with quantity and age, are in
//! [`LogEntry::readings`](crate::data::log_entry::LogEntry::readings). Entries of several logs are put together by their key;
//! two logs may have the same block. Once a host has entries safe it says so with [`ToBoard::ReleaseLog`]: a log that is full of
//! entries that nobody has taken over takes no more, and the origins keep their blocks.
//!
//! [`encode`] writes a frame, a [`Decoder`] takes bytes as they come. Nothing here reads, writes or waits.

mod contents;
mod frame;
mod message;

pub use contents::{Bytes, Page, Text};
pub use frame::{BODY_MAX, Decoder, FRAME_BYTES_MAX, VERSION, encode};
pub use message::{
    BuildId, Call, ConfigAnswer, Crash, CrashKind, Did, Hello, Message, Question, Refusal, ResetReason, ToBoard,
    ToHost, Warning,
};

pub use crate::quantity::Quantity;
