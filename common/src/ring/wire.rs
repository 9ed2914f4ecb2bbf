//! The messages of ring mode, byte by byte.
//!
//! ```text
//! in hellos  leader 1 | entries × { position 1, epoch 1, count 2, hops 1 }
//! ENVELOPE   3 | to 1 | from 1 | hops left 1 | number 1 | an election message, or nothing
//! ```
//! Members are named by their position on the ring; 255 is nobody, and as hops it is "no route"; 254 hops ask the
//! member for a newer number. Numbers are little-endian. An empty envelope tells its receiver that something it sent was missed.

use super::number::{NUMBER_BYTES, Number};
use crate::Full;
use crate::limits::PARCEL_MAX;
use crate::link::body::Parcel;

/// Stands for no position.
pub const NOBODY: u8 = 255;

/// Stands for no number of hops: there is no route.
pub const NO_WAY: u8 = 255;

/// Stands for no number of hops: somebody remembers this number and has no route, so the member is asked for a newer one.
pub const ASKED: u8 = 254;

/// Bytes of the longest message: a link's, without the byte that says what it is for.
const MESSAGE_MAX: usize = PARCEL_MAX - 1;

const ENTRY_BYTES: usize = 2 + NUMBER_BYTES;
const ENVELOPE_HEADER: usize = 5;

/// Bytes of the longest election message that ring mode carries.
pub const PAYLOAD_MAX: usize = MESSAGE_MAX - ENVELOPE_HEADER;

/// What a message says of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    pub position: u8,
    /// The newest number of the member's own that the sender's route stands for.
    pub number: Number,
    /// How many hops the member is away from the sender.
    pub hops: u8,
}

/// What an envelope says on its outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub to: u8,
    /// Who wrote it.
    pub from: u8,
    /// How often it may be passed on.
    pub hops: u8,
    /// Counts the envelopes from `from` to `to`.
    pub number: u8,
}

/// A message of ring mode as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'b> {
    /// Something for one member.
    Envelope(Envelope, &'b [u8]),
}

/// The entries of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries<'b>(&'b [u8]);

impl Entries<'_> {
    pub fn iter(&self) -> impl Iterator<Item = Entry> {
        self.0.as_chunks::<ENTRY_BYTES>().0.iter().map(|&[position, epoch, low, high, hops]| Entry {
            position,
            number: Number::from_bytes([epoch, low, high]),
            hops,
        })
    }
}

impl<'b> Message<'b> {
    /// Reads a message; none where the bytes are not exactly one.
    pub fn decode(bytes: &'b [u8]) -> Option<Self> {
        match bytes {
            [3, to, from, hops, number, payload @ ..] if payload.len() <= PAYLOAD_MAX => {
                Some(Self::Envelope(Envelope { to: *to, from: *from, hops: *hops, number: *number }, payload))
            }
            _ => None,
        }
    }
}

/// Writes what a hello tells of the ring: whom the sender follows, and as many of the entries as fit. Returns how many bytes
/// that took.
pub fn tell(leader: u8, entries: impl Iterator<Item = Entry>, room: &mut [u8]) -> usize {
    let Some((first, rest)) = room.split_first_mut() else { return 0 };
    *first = leader;
    let slots = rest.as_chunks_mut::<ENTRY_BYTES>().0.iter_mut();
    let written = slots.zip(entries).map(|(slot, Entry { position, number, hops })| {
        let [epoch, low, high] = number.to_bytes();
        *slot = [position, epoch, low, high, hops];
    });
    1 + ENTRY_BYTES * written.count()
}

/// How many entries fit into this many bytes of a hello.
pub fn fitting(room: usize) -> usize {
    room.saturating_sub(1) / ENTRY_BYTES
}

/// Reads what a hello tells of the ring; none where it is cut short.
pub fn told(bytes: &[u8]) -> Option<(Option<u8>, Entries<'_>)> {
    let (&leader, entries) = bytes.split_first()?;
    let is_whole = entries.len().is_multiple_of(ENTRY_BYTES);
    is_whole.then_some((Some(leader).filter(|&leader| leader != NOBODY), Entries(entries)))
}

/// Writes an envelope with an election message in it.
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
    use super::{Entry, Envelope, Message, PAYLOAD_MAX, envelope, fitting, tell, told};
    use crate::ring::number::Number;

    fn entry(position: u8, epoch: u8, count: u16, hops: u8) -> Entry {
        Entry { position, number: Number { epoch, count }, hops }
    }

    #[test]
    fn what_is_written_is_read() {
        let entries = [entry(3, 0x56, 0x1234, 2), entry(127, 1, 9, 255)];
        let mut room = [0; 14];
        assert_eq!(tell(7, entries.into_iter(), &mut room), 11);
        assert_eq!(room[..11], [7, 3, 0x56, 0x34, 0x12, 2, 127, 1, 9, 0, 255]);
        let Some((Some(7), read)) = told(&room[..11]) else { panic!("a word on two") };
        assert!(read.iter().eq(entries));
        let outside = Envelope { to: 1, from: 2, hops: 3, number: 4 };
        let parcel = envelope(outside, b"abc").unwrap();
        assert_eq!(Message::decode(&parcel), Some(Message::Envelope(outside, b"abc")));
        assert!(envelope(outside, &[0; PAYLOAD_MAX]).is_ok());
        assert!(envelope(outside, &[0; PAYLOAD_MAX + 1]).is_err());
    }

    #[test]
    fn no_more_is_written_than_fits_and_what_is_no_message_is_refused() {
        let many = || (0..100).map(|position| entry(position, 0, 0, 1));
        let mut room = [0; 40];
        assert_eq!(tell(super::NOBODY, many(), &mut room), 1 + 5 * fitting(40));
        let Some((None, read)) = told(&room[..36]) else { panic!("a word on seven") };
        assert_eq!(read.iter().count(), 7);
        assert_eq!((tell(0, many(), &mut []), told(&[]), told(&[1, 2, 3])), (0, None, None));
        for bytes in [&[][..], &[0], &[4, 1, 2, 3, 4], &[1, 2, 3, 4, 5], &[2, 0, 0, 0, 0], &[3, 1, 2, 3]] {
            assert_eq!(Message::decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(Message::decode(&[3; 64]), None, "longer than a link carries");
    }
}
