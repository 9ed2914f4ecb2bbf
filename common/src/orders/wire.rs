//! The messages of orders, byte by byte.
//!
//! ```text
//! SYNC    1 | mandate 8 | index 2 | digest 4
//! RUN     2 | mandate 8 | after 2 | up to 2 | entries × { index 2, code 1, value 4, key 6 }
//! MERGE   3 | mandate 8 | entries × { the same }
//! SUBMIT  4 | hops left 1 | flags 1 | age 1 | key 6 | code 1 | value 4
//! RESULT  5 | hops left 1 | key 6 | status 1 | leader 2 | index 2 | applied 1 | known 1
//! REPORT  6 | number 4 | rows × { id 2, index 2 }
//! ```
//! A mandate is number 4, leader 2, epoch 2; a key is origin 2, device 1, epoch 2, number 1. Codes 0 to 15 set the register of
//! that number; 16, 17 and 18 are identify, restart and elect, whose value is target 2, age 1, 0. Ages count quarters
//! of a second; 255 is anything older. Flag 1 only asks what became of a command. Numbers are little-endian.

use heapless::Vec;

use super::command::{Action, Command, Key, Register};
use super::stamp::{Mandate, Stamp};
use crate::Full;
use crate::limits::PARCEL_MAX;
use crate::types::NodeId;

/// Bytes of the longest message: that of a link, without the byte for the purpose.
pub const ORDERS_MESSAGE_MAX: usize = PARCEL_MAX - 1;

/// Entries in one message.
pub const CHUNK_MAX: usize = 2;

/// Rows in one report.
pub const ROWS_MAX: usize = 8;

const SYNC: u8 = 1;
const RUN: u8 = 2;
const MERGE: u8 = 3;
const SUBMIT: u8 = 4;
const RESULT: u8 = 5;
const REPORT: u8 = 6;

const ENTRY_BYTES: usize = 13;
const ONLY_ASKS: u8 = 1;

/// An encoded message.
pub type Bytes = Vec<u8, ORDERS_MESSAGE_MAX, u8>;

/// An order as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub index: u16,
    pub command: Command,
    /// Quarters of a second since it was ordered; actions only.
    pub age: u8,
    pub key: Key,
}

pub type Chunk = Vec<Told, CHUNK_MAX, u8>;

/// How far a node has applied the orders of a mandate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub id: NodeId,
    pub index: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submit {
    /// How often it may be passed on.
    pub hops: u8,
    /// Whether it must not be ordered: its origin knows that it was.
    pub only_asks: bool,
    pub age: u8,
    pub key: Key,
    pub command: Command,
}

/// What a leader reports of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Unknown,
    Ordered,
    Superseded,
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub hops: u8,
    pub key: Key,
    pub status: Status,
    /// Who gave the order that stands, and its number.
    pub leader: NodeId,
    pub index: u16,
    /// How many are known to have applied it, of how many.
    pub applied: u8,
    pub known: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// How far the sender has come, and a number that stands for all it knows.
    Sync {
        newest: Stamp,
        digest: u32,
    },
    /// Orders of one mandate: all that still matter of those behind `after`, up to `upto`.
    Run {
        mandate: Mandate,
        after: u16,
        upto: u16,
        chunk: Chunk,
    },
    /// Orders of an earlier mandate, one by one.
    Merge {
        mandate: Mandate,
        chunk: Chunk,
    },
    Submit(Submit),
    Result(Verdict),
    Report {
        number: u32,
        rows: Vec<Row, ROWS_MAX, u8>,
    },
}

impl Message {
    pub fn encode(&self) -> Result<Bytes, Full> {
        let mut writer = Writer(Bytes::new());
        match self {
            Self::Sync { newest, digest } => {
                writer.put(&[SYNC])?;
                writer.mandate(newest.mandate)?;
                writer.put(&newest.index.to_le_bytes())?;
                writer.put(&digest.to_le_bytes())?;
            }
            Self::Run { mandate, after, upto, chunk } => {
                writer.put(&[RUN])?;
                writer.mandate(*mandate)?;
                writer.put(&after.to_le_bytes())?;
                writer.put(&upto.to_le_bytes())?;
                writer.chunk(chunk)?;
            }
            Self::Merge { mandate, chunk } => {
                writer.put(&[MERGE])?;
                writer.mandate(*mandate)?;
                writer.chunk(chunk)?;
            }
            Self::Submit(Submit { hops, only_asks, age, key, command }) => {
                writer.put(&[SUBMIT, *hops, if *only_asks { ONLY_ASKS } else { 0 }, *age])?;
                writer.key(*key)?;
                writer.command(*command, 0)?;
            }
            Self::Result(Verdict { hops, key, status, leader, index, applied, known }) => {
                writer.put(&[RESULT, *hops])?;
                writer.key(*key)?;
                writer.put(&[*status as u8])?;
                writer.put(&leader.0.to_le_bytes())?;
                writer.put(&index.to_le_bytes())?;
                writer.put(&[*applied, *known])?;
            }
            Self::Report { number, rows } => {
                writer.put(&[REPORT])?;
                writer.put(&number.to_le_bytes())?;
                for row in rows {
                    writer.put(&row.id.0.to_le_bytes())?;
                    writer.put(&row.index.to_le_bytes())?;
                }
            }
        }
        Ok(writer.0)
    }

    /// Reads a message; none if the bytes are not exactly one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let mut reader = Reader(rest);
        let message = match kind {
            SYNC => {
                let (mandate, index) = (reader.mandate()?, reader.half()?);
                Self::Sync { newest: Stamp { mandate, index }, digest: reader.word()? }
            }
            RUN => {
                let (mandate, after, upto) = (reader.mandate()?, reader.half()?, reader.half()?);
                let chunk = reader.chunk()?;
                let mut last = after;
                let is_rising = chunk.iter().all(|told| core::mem::replace(&mut last, told.index) < told.index);
                if mandate.is_none() || chunk.is_empty() || !is_rising || last > upto {
                    return None;
                }
                Self::Run { mandate, after, upto, chunk }
            }
            MERGE => {
                let (mandate, chunk) = (reader.mandate()?, reader.chunk()?);
                if mandate.is_none() || chunk.is_empty() || chunk.iter().any(|told| told.index == 0) {
                    return None;
                }
                Self::Merge { mandate, chunk }
            }
            SUBMIT => {
                let [hops, flags, age] = reader.array()?;
                let (key, (command, zero)) = (reader.key()?, reader.command()?);
                (flags & !ONLY_ASKS == 0 && zero == 0).then_some(())?;
                Self::Submit(Submit { hops, only_asks: flags == ONLY_ASKS, age, key, command })
            }
            RESULT => {
                let ([hops], key) = (reader.array()?, reader.key()?);
                let status = match reader.array()? {
                    [0] => Status::Unknown,
                    [1] => Status::Ordered,
                    [2] => Status::Superseded,
                    [3] => Status::Refused,
                    [_] => return None,
                };
                let (leader, index, [applied, known]) = (NodeId(reader.half()?), reader.half()?, reader.array()?);
                Self::Result(Verdict { hops, key, status, leader, index, applied, known })
            }
            REPORT => {
                let number = reader.word()?;
                let mut rows = Vec::new();
                while !reader.0.is_empty() {
                    rows.push(Row { id: NodeId(reader.half()?), index: reader.half()? }).ok()?;
                }
                Self::Report { number, rows }
            }
            _ => return None,
        };
        reader.0.is_empty().then_some(message)
    }
}

struct Writer(Bytes);

impl Writer {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.0.extend_from_slice(bytes).map_err(|_| Full)
    }

    fn mandate(&mut self, Mandate { number, leader, epoch }: Mandate) -> Result<(), Full> {
        self.put(&number.to_le_bytes())?;
        self.put(&leader.0.to_le_bytes())?;
        self.put(&epoch.to_le_bytes())
    }

    fn key(&mut self, Key { origin, device, epoch, number }: Key) -> Result<(), Full> {
        let ([o0, o1], [e0, e1]) = (origin.0.to_le_bytes(), epoch.to_le_bytes());
        self.put(&[o0, o1, device, e0, e1, number])
    }

    fn command(&mut self, command: Command, age: u8) -> Result<(), Full> {
        let (code, [a, b, c, d]) = match command {
            Command::Set { register, value } => (register.number(), value.to_le_bytes()),
            Command::Act { action, target } => {
                let [low, high] = target.0.to_le_bytes();
                let code = match action {
                    Action::Identify => 16,
                    Action::Restart => 17,
                    Action::Elect => 18,
                };
                (code, [low, high, age, 0])
            }
        };
        self.put(&[code, a, b, c, d])
    }

    fn chunk(&mut self, chunk: &Chunk) -> Result<(), Full> {
        chunk.iter().try_for_each(|told| {
            self.put(&told.index.to_le_bytes())?;
            self.command(told.command, told.age)?;
            self.key(told.key)
        })
    }
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(first)
    }

    fn half(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn mandate(&mut self) -> Option<Mandate> {
        Some(Mandate { number: self.word()?, leader: NodeId(self.half()?), epoch: self.half()? })
    }

    fn key(&mut self) -> Option<Key> {
        let [o0, o1, device, e0, e1, number] = self.array()?;
        let (origin, epoch) = (u16::from_le_bytes([o0, o1]), u16::from_le_bytes([e0, e1]));
        Some(Key { origin: NodeId(origin), device, epoch, number })
    }

    /// A command and, of an action, its age.
    fn command(&mut self) -> Option<(Command, u8)> {
        let [code, value @ ..] = self.array::<5>()?;
        let [low, high, age, zero] = value;
        if let Some(register) = Register::new(code) {
            return Some((Command::Set { register, value: u32::from_le_bytes(value) }, 0));
        }
        let action = match code {
            16 => Action::Identify,
            17 => Action::Restart,
            18 => Action::Elect,
            _ => return None,
        };
        (zero == 0).then_some((Command::Act { action, target: NodeId(u16::from_le_bytes([low, high])) }, age))
    }

    fn chunk(&mut self) -> Option<Chunk> {
        let mut chunk = Chunk::new();
        while !self.0.is_empty() {
            let (index, (command, age)) = (self.half()?, self.command()?);
            chunk.push(Told { index, command, age, key: self.key()? }).ok()?;
        }
        Some(chunk)
    }
}

const _: () = assert!(1 + 8 + 4 + CHUNK_MAX * ENTRY_BYTES <= ORDERS_MESSAGE_MAX, "a run fits a parcel");
const _: () = assert!(1 + 4 + ROWS_MAX * 4 <= ORDERS_MESSAGE_MAX, "a report fits a parcel");
