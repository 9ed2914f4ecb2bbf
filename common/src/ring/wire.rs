//! The messages of ring mode, byte by byte.
//!
//! ```text
//! UPDATE    1 | leader 1 | entries × { position 1, number 2, hops 1 }
//! REQUEST   2 | entries × { position 1, number 2, hops left 1 }
//! ENVELOPE  3 | to 1 | from 1 | hops left 1 | number 1 | an election message, or nothing
//! ```
//! Members are named by their position on the ring; 255 is nobody, and as hops it is "no way". Numbers are
//! little-endian. An envelope with nothing in it says that something of the receiver's was missed.

use crate::Full;
use crate::limits::PARCEL_MAX;
use crate::link::body::Parcel;

/// No position: nobody.
pub const NOBODY: u8 = 255;

/// No number of hops: there is no way.
pub const NO_WAY: u8 = 255;

/// Bytes of the longest message: a link's, without the byte that says what it is for.
const MESSAGE_MAX: usize = PARCEL_MAX - 1;

const ENTRY_BYTES: usize = 4;
const UPDATE_HEADER: usize = 2;
const ENVELOPE_HEADER: usize = 5;

/// Entries in one message.
pub const ENTRIES_MAX: usize = (MESSAGE_MAX - UPDATE_HEADER) / ENTRY_BYTES;

/// Bytes of the longest election message that ring mode carries.
pub const PAYLOAD_MAX: usize = MESSAGE_MAX - ENVELOPE_HEADER;

/// What a message says of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The member.
    pub position: u8,
    /// Of an update: the newest number of the member's own that the sender's route stands for. Of a request: the number
    /// asked for.
    pub number: u16,
    /// Of an update: how many hops the member is away from the sender. Of a request: how often it may be passed on.
    pub hops: u8,
}

/// What an envelope says on its outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Whom it is for.
    pub to: u8,
    /// Who wrote it.
    pub from: u8,
    /// How often it may be passed on.
    pub hops: u8,
    /// Counts what `from` writes to `to`.
    pub number: u8,
}

/// A message of ring mode as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'b> {
    /// What the sender knows of some members, and whom it follows.
    Update(Option<u8>, Entries<'b>),
    /// Newer numbers are asked for.
    Request(Entries<'b>),
    /// Something for one member.
    Envelope(Envelope, &'b [u8]),
}

/// The entries of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries<'b>(&'b [u8]);

impl Entries<'_> {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Entry> {
        self.0.as_chunks::<ENTRY_BYTES>().0.iter().map(|&[position, low, high, hops]| Entry {
            position,
            number: u16::from_le_bytes([low, high]),
            hops,
        })
    }
}

impl<'b> Message<'b> {
    /// Reads a message; nothing where the bytes are none, or more than one.
    pub fn decode(bytes: &'b [u8]) -> Option<Self> {
        match bytes {
            [1, leader, entries @ ..] => {
                Some(Self::Update(Some(*leader).filter(|&leader| leader != NOBODY), sound(entries)?))
            }
            [2, entries @ ..] => Some(Self::Request(sound(entries)?)),
            [3, to, from, hops, number, payload @ ..] if payload.len() <= PAYLOAD_MAX => {
                Some(Self::Envelope(Envelope { to: *to, from: *from, hops: *hops, number: *number }, payload))
            }
            _ => None,
        }
    }
}

fn sound(entries: &[u8]) -> Option<Entries<'_>> {
    let is_sound =
        entries.len().is_multiple_of(ENTRY_BYTES) && (1..=ENTRIES_MAX).contains(&(entries.len() / ENTRY_BYTES));
    is_sound.then_some(Entries(entries))
}

/// An update with as many of the entries as fit.
pub fn update(leader: Option<u8>, entries: impl Iterator<Item = Entry>) -> Result<Parcel, Full> {
    let mut parcel = Parcel::from_slice(&[1, leader.unwrap_or(NOBODY)]).map_err(|_| Full)?;
    put(&mut parcel, entries)?;
    Ok(parcel)
}

/// A request with as many of the entries as fit.
pub fn request(entries: impl Iterator<Item = Entry>) -> Result<Parcel, Full> {
    let mut parcel = Parcel::from_slice(&[2]).map_err(|_| Full)?;
    put(&mut parcel, entries)?;
    Ok(parcel)
}

fn put(parcel: &mut Parcel, entries: impl Iterator<Item = Entry>) -> Result<(), Full> {
    for Entry { position, number, hops } in entries.take(ENTRIES_MAX) {
        let [low, high] = number.to_le_bytes();
        parcel.extend_from_slice(&[position, low, high, hops]).map_err(|_| Full)?;
    }
    Ok(())
}

/// An envelope with an election message in it.
pub fn envelope(outside: Envelope, payload: &[u8]) -> Result<Parcel, Full> {
    if payload.len() > PAYLOAD_MAX {
        return Err(Full);
    }
    let Envelope { to, from, hops, number } = outside;
    let mut parcel = Parcel::from_slice(&[3, to, from, hops, number]).map_err(|_| Full)?;
    parcel.extend_from_slice(payload).map_err(|_| Full)?;
    Ok(parcel)
}

#[cfg(test)]
mod tests {
    use super::{ENTRIES_MAX, Entry, Envelope, Message, PAYLOAD_MAX, envelope, request, update};

    #[test]
    fn what_is_written_is_read() {
        let entries = [Entry { position: 3, number: 0x1234, hops: 2 }, Entry { position: 127, number: 9, hops: 255 }];
        let parcel = update(Some(7), entries.into_iter()).unwrap();
        assert_eq!(*parcel, [1, 7, 3, 0x34, 0x12, 2, 127, 9, 0, 255]);
        let Some(Message::Update(Some(7), read)) = Message::decode(&parcel) else { panic!("an update of two") };
        assert!(read.iter().eq(entries));
        let parcel = request(entries.into_iter()).unwrap();
        let Some(Message::Request(read)) = Message::decode(&parcel) else { panic!("a request of two") };
        assert!(read.iter().eq(entries));
        let outside = Envelope { to: 1, from: 2, hops: 3, number: 4 };
        let parcel = envelope(outside, b"abc").unwrap();
        assert_eq!(Message::decode(&parcel), Some(Message::Envelope(outside, b"abc")));
        assert!(envelope(outside, &[0; PAYLOAD_MAX]).is_ok());
        assert!(envelope(outside, &[0; PAYLOAD_MAX + 1]).is_err());
    }

    #[test]
    fn a_full_update_fits_and_what_is_no_message_is_refused() {
        let many = (0..100).map(|position| Entry { position, number: 0, hops: 1 });
        let parcel = update(None, many).unwrap();
        let Some(Message::Update(None, read)) = Message::decode(&parcel) else { panic!("a full update") };
        assert_eq!(read.iter().count(), ENTRIES_MAX);
        for bytes in [&[][..], &[0], &[4, 1, 2, 3, 4], &[1, 2], &[1, 2, 3, 4, 5], &[2, 0, 0, 0], &[3, 1, 2, 3]] {
            assert_eq!(Message::decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(Message::decode(&[3; 64]), None, "longer than a link carries");
    }
}
