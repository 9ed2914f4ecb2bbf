//! The bodies of frames: hellos, and what carries messages.
//!
//! ```text
//! HELLO  number 1 | log2 of the interval in ms 1 | names5 digest2 full1 | leader 2 | links 1 | age 1
//!        | names × { id 2, token12 quality4 2, echo 2 } | what ring mode tells, or nothing
//! REL    answer1 messages3 entries4 | challenge1 3 acks4 | [challenge 4] | entries × { [id 2], echo 2, number 1, ack 1 }
//!        | acks × { [id 2], echo 2, ack 1 } | messages × { length 1, bytes }
//! ```
//! Ids stand in a REL only where it is for everybody. All numbers are little-endian.

use heapless::Vec;

use super::digest::DIGEST_MAX;
use crate::Full;
use crate::limits::{BUNDLE_MAX, HELLO_NAMES_MAX, NAMED_MAX, PARCEL_MAX};
use crate::types::NodeId;

/// What a hello says of one neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name {
    pub id: NodeId,
    /// The token of the sender's end of the link, 12 bits; 0 says that two boards have this id.
    pub token: u16,
    /// Whether the sender wants the link.
    pub willing: bool,
    /// How many of eight hellos of that neighbour reach the sender, at most 7.
    pub heard: u8,
    /// The neighbour's incarnation of the link, as the sender knows it.
    pub echo: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// Counts the sender's hellos.
    pub number: u8,
    /// The time to the next one is about two to this power, in milliseconds.
    pub interval_log2: u8,
    /// Whether the sender has more neighbours than it can name.
    pub is_full: bool,
    /// The leader it follows; 0 is nobody.
    pub leader: NodeId,
    /// How many links the sender has. Those it names come first.
    pub links: u8,
    /// Two bits of what its election has told its links, another two in each hello; see [`digest`](super::digest).
    pub digest: u8,
    /// How long ago the leader is known to have been there, in units of 16 ms; 255 is longer or unknown.
    pub age: u8,
    pub names: Vec<Name, HELLO_NAMES_MAX, u8>,
}

impl Hello {
    /// Whether it leaves out links for brevity, and so says nothing of those.
    pub fn is_brief(&self) -> bool {
        self.names.len() < usize::from(self.links)
    }
}

/// What a frame with messages says to one neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: NodeId,
    /// Its end of the link, as the sender knows it.
    pub echo: u16,
    /// The number of the first message.
    pub number: u8,
    /// The number of the message that the sender expects next.
    pub ack: u8,
}

/// An acknowledgement that rides along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckEntry {
    pub id: NodeId,
    /// Its end of the link.
    pub echo: u16,
    /// The number of the message that the sender expects next.
    pub ack: u8,
}

/// A message as a frame carries it.
pub type Parcel = Vec<u8, PARCEL_MAX, u8>;

/// A frame with messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rel {
    /// Whether everybody in `entries` is to answer at once, one after the other.
    pub answer: bool,
    /// A random number, which makes the answers prove that this very frame was heard.
    pub challenge: Option<u32>,
    /// Whom the messages are for.
    pub entries: Vec<Entry, NAMED_MAX, u8>,
    /// Who else gets an acknowledgement.
    pub acks: Vec<AckEntry, NAMED_MAX, u8>,
    pub messages: Vec<Parcel, BUNDLE_MAX, u8>,
}

/// Bytes of a hello before its names.
pub const HELLO_BYTES: usize = 7;

pub const NAME_BYTES: usize = 6;

/// Bytes of a REL before its entries.
pub const REL_BYTES: usize = 2;

/// Bytes of a challenge.
const CHALLENGE_BYTES: usize = 4;

/// The bit of a REL's second byte that says that a challenge follows.
const REL_CHALLENGE: u8 = 0x80;

const HELLO_FULL: u8 = 1;

/// The digest is above this bit.
const HELLO_DIGEST: u8 = 1;

/// The number of names is above this many bits.
const HELLO_COUNT: u8 = 3;

/// Writes numbers one after the other.
struct Writer<'b> {
    buf: &'b mut [u8],
    used: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let end = self.used + bytes.len();
        self.buf.get_mut(self.used..end).ok_or(Full)?.copy_from_slice(bytes);
        self.used = end;
        Ok(())
    }
}

/// Reads numbers one after the other.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn half(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn slice(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

impl Hello {
    /// Writes it; the number of bytes.
    pub fn write(&self, buf: &mut [u8]) -> Result<usize, Full> {
        let mut writer = Writer { buf, used: 0 };
        let count = u8::try_from(self.names.len()).map_err(|_| Full)?;
        let digest = (self.digest & DIGEST_MAX) << HELLO_DIGEST;
        let flags = count << HELLO_COUNT | digest | if self.is_full { HELLO_FULL } else { 0 };
        writer.put(&[self.number, self.interval_log2, flags])?;
        writer.put(&self.leader.0.to_le_bytes())?;
        writer.put(&[self.links, self.age])?;
        for name in &self.names {
            let quality = u16::from(name.willing) << 3 | u16::from(name.heard & 7);
            writer.put(&name.id.0.to_le_bytes())?;
            writer.put(&(name.token << 4 | quality).to_le_bytes())?;
            writer.put(&name.echo.to_le_bytes())?;
        }
        Ok(writer.used)
    }

    /// Reads a hello; none where bytes are left over.
    pub fn read(body: &[u8]) -> Option<Self> {
        Self::split(body).filter(|(_, more)| more.is_empty()).map(|(hello, _)| hello)
    }

    /// Reads a hello; returns it with the bytes behind it.
    pub fn split(body: &[u8]) -> Option<(Self, &[u8])> {
        let mut reader = Reader(body);
        let [number, interval_log2, flags] = reader.array()?;
        let leader = NodeId(reader.half()?);
        let [links, age] = reader.array()?;
        let (count, is_full) = (flags >> HELLO_COUNT, flags & HELLO_FULL != 0);
        let digest = flags >> HELLO_DIGEST & DIGEST_MAX;
        if interval_log2 > 20 {
            return None;
        }
        let mut names = Vec::new();
        for &[i0, i1, q0, q1, e0, e1] in reader.slice(usize::from(count) * NAME_BYTES)?.as_chunks().0 {
            let (id, packed, echo) = (u16::from_le_bytes([i0, i1]), u16::from_le_bytes([q0, q1]), [e0, e1]);
            let name = Name {
                id: NodeId(id),
                token: packed >> 4,
                willing: packed & 8 != 0,
                heard: q0 & 7,
                echo: u16::from_le_bytes(echo),
            };
            names.push(name).ok()?;
        }
        Some((Self { number, interval_log2, is_full, leader, links, digest, age, names }, reader.0))
    }
}

impl Rel {
    /// Bytes it takes when written for everybody (`to_all`) or for one neighbour.
    pub fn length(&self, to_all: bool) -> usize {
        let id = if to_all { 2 } else { 0 };
        let messages: usize = self.messages.iter().map(|message| 1 + message.len()).sum();
        let challenge = if self.challenge.is_some() { CHALLENGE_BYTES } else { 0 };
        REL_BYTES + challenge + self.entries.len() * (4 + id) + self.acks.len() * (3 + id) + messages
    }

    /// Writes it; the number of bytes.
    pub fn write(&self, to_all: bool, buf: &mut [u8]) -> Result<usize, Full> {
        let small = |length: usize| u8::try_from(length).map_err(|_| Full);
        let mut writer = Writer { buf, used: 0 };
        let counts = small(self.messages.len())? << 4 | small(self.entries.len())?;
        let challenge = if self.challenge.is_some() { REL_CHALLENGE } else { 0 };
        writer.put(&[u8::from(self.answer) << 7 | counts, challenge | small(self.acks.len())?])?;
        if let Some(challenge) = self.challenge {
            writer.put(&challenge.to_le_bytes())?;
        }
        for entry in &self.entries {
            if to_all {
                writer.put(&entry.id.0.to_le_bytes())?;
            }
            writer.put(&entry.echo.to_le_bytes())?;
            writer.put(&[entry.number, entry.ack])?;
        }
        for entry in &self.acks {
            if to_all {
                writer.put(&entry.id.0.to_le_bytes())?;
            }
            writer.put(&entry.echo.to_le_bytes())?;
            writer.put(&[entry.ack])?;
        }
        for message in &self.messages {
            writer.put(&[small(message.len())?])?;
            writer.put(message)?;
        }
        Ok(writer.used)
    }

    /// Reads a REL that was sent to everybody or, with an id, to that node alone; none where bytes are left over.
    pub fn read(body: &[u8], to: Option<NodeId>) -> Option<Self> {
        let rel = RelBytes::read(body, to)?;
        let mut messages = Vec::new();
        for message in rel.messages() {
            messages.push(Vec::from_slice(message).ok()?).ok()?;
        }
        let (answer, challenge) = (rel.answer, rel.challenge);
        Some(Self { answer, challenge, entries: rel.entries().collect(), acks: rel.acks().collect(), messages })
    }
}

/// A received REL, borrowed from its frame: checked once as a whole, then read piece by piece, so that nothing is
/// copied.
#[derive(Clone, Copy, Debug)]
pub struct RelBytes<'b> {
    /// Whether everybody in [`entries`](Self::entries) is to answer at once, one after the other.
    pub answer: bool,
    /// See [`Rel::challenge`].
    pub challenge: Option<u32>,
    /// Whom it is for, where it is for one alone.
    to: Option<NodeId>,
    entries: &'b [u8],
    acks: &'b [u8],
    messages: &'b [u8],
    /// How many messages there are.
    pub messages_len: u8,
}

impl<'b> RelBytes<'b> {
    /// As [`Rel::read`].
    pub fn read(body: &'b [u8], to: Option<NodeId>) -> Option<Self> {
        let mut reader = Reader(body);
        let [counts, more] = reader.array()?;
        let (entries_len, messages_len, acks_len) = (counts & 15, counts >> 4 & 7, more & 15);
        if more & !REL_CHALLENGE > 15 || usize::from(messages_len) > BUNDLE_MAX {
            return None;
        }
        let challenge = if more & REL_CHALLENGE == 0 { None } else { Some(u32::from_le_bytes(reader.array()?)) };
        if to.is_some() && entries_len + acks_len != 1 {
            return None;
        }
        let id = if to.is_some() { 0 } else { 2 };
        let entries = reader.slice(usize::from(entries_len) * (4 + id))?;
        let acks = reader.slice(usize::from(acks_len) * (3 + id))?;
        let messages = reader.0;
        for _ in 0..messages_len {
            let length = usize::from(reader.byte()?);
            if length > PARCEL_MAX {
                return None;
            }
            reader.slice(length)?;
        }
        let rel = Self { answer: counts >> 7 != 0, challenge, to, entries, acks, messages, messages_len };
        reader.0.is_empty().then_some(rel)
    }

    /// Whom the messages are for.
    pub fn entries(self) -> impl Iterator<Item = Entry> {
        let mut reader = Reader(self.entries);
        core::iter::from_fn(move || {
            let id = self.id(&mut reader)?;
            let (echo, [number, ack]) = (reader.half()?, reader.array()?);
            Some(Entry { id, echo, number, ack })
        })
    }

    /// Who else gets an acknowledgement.
    pub fn acks(self) -> impl Iterator<Item = AckEntry> {
        let mut reader = Reader(self.acks);
        core::iter::from_fn(move || {
            let id = self.id(&mut reader)?;
            let (echo, ack) = (reader.half()?, reader.byte()?);
            Some(AckEntry { id, echo, ack })
        })
    }

    fn id(self, reader: &mut Reader<'_>) -> Option<NodeId> {
        if self.to.is_some() { self.to } else { reader.half().map(NodeId) }
    }

    pub fn messages(self) -> impl Iterator<Item = &'b [u8]> {
        let mut reader = Reader(self.messages);
        core::iter::from_fn(move || {
            let length = reader.byte()?;
            reader.slice(usize::from(length))
        })
    }
}
