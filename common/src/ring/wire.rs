//! The messages of ring mode, byte by byte.
//!
//! ```text
//! in hellos  leader 1 | its election 2 | entries × { position 1, epoch 1, count 2, hops 1 }
//! ENVELOPE   3 | to 1 | from 1 | left1 right1 hops6 | number 1 | an election message, or nothing
//! ```
//! Members are named by their position on the ring; 255 is nobody, and as hops it is "no route"; 254 hops ask the
//! member for a newer number. Of the number of an election the last two bytes are told. Numbers are little-endian. An empty envelope tells its receiver that something it sent was missed.
//! One of the two bits before the hops that are left says on which side of the sender the receiver stands, where the message is for
//! whoever stands there.

use super::number::{NUMBER_BYTES, Number};
use crate::Full;
use crate::limits::{MEMBERS_MAX, PARCEL_MAX};
use crate::link::body::Parcel;
use crate::members::Position;
use crate::types::Side;

/// Stands for no position.
pub const NOBODY: Position = Position(255);

/// In place of a number of hops: there is no route.
pub const NO_WAY: u8 = 255;

/// In place of a number of hops: a node without a route remembers this number, so the member is asked for a newer one.
pub const ASKED: u8 = 254;

/// No route is longer: it passes every member once.
pub const HOPS_MAX: u8 = 63;

const _: () = assert!(MEMBERS_MAX <= HOPS_MAX as usize + 1);

const RIGHT: u8 = 0x40;
const LEFT: u8 = 0x80;

/// Bytes of the longest message: that of a link, without the byte for the purpose.
const MESSAGE_MAX: usize = PARCEL_MAX - 1;

const LEAD_BYTES: usize = 3;
const ENTRY_BYTES: usize = 2 + NUMBER_BYTES;
const ENVELOPE_HEADER: usize = 5;

/// Bytes of the longest election message that ring mode carries.
pub const PAYLOAD_MAX: usize = MESSAGE_MAX - ENVELOPE_HEADER;

/// What a message says of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    pub position: Position,
    /// The newest number of the member's own that the sender's route stands for.
    pub number: Number,
    /// How many hops the member is away from the sender.
    pub hops: u8,
}

/// The part of an envelope before the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub to: Position,
    /// Who wrote it.
    pub from: Position,
    /// How often it may be passed on, at most [`HOPS_MAX`].
    pub hops: u8,
    /// The side of the sender on which the receiver stands, where the message is for whoever stands there.
    pub side: Option<Side>,
    /// Counts the envelopes from `from` to `to`.
    pub number: u8,
}

/// A message of ring mode as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'b> {
    /// Something for one member.
    Envelope(Envelope, &'b [u8]),
}

/// Whom the sender of a hello follows, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The leader's position; [`NOBODY`] where the sender knows none.
    pub leader: Position,
    /// The number of the sender's election.
    pub election: u16,
}

/// The entries of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries<'b>(&'b [u8]);

impl Entries<'_> {
    pub fn iter(&self) -> impl Iterator<Item = Entry> {
        self.0.as_chunks::<ENTRY_BYTES>().0.iter().map(|&[position, epoch, low, high, hops]| Entry {
            position: Position(position),
            number: Number::from_bytes([epoch, low, high]),
            hops,
        })
    }
}

impl<'b> Message<'b> {
    /// Reads a message; `None` if the bytes are not exactly one.
    pub fn decode(bytes: &'b [u8]) -> Option<Self> {
        match bytes {
            [3, to, from, way, number, payload @ ..] if payload.len() <= PAYLOAD_MAX => {
                let side = match way & !HOPS_MAX {
                    0 => None,
                    RIGHT => Some(Side::Right),
                    LEFT => Some(Side::Left),
                    _ => return None,
                };
                let outside =
                    Envelope { to: Position(*to), from: Position(*from), hops: way & HOPS_MAX, side, number: *number };
                Some(Self::Envelope(outside, payload))
            }
            _ => None,
        }
    }
}

/// Writes what a hello tells of the ring: whom the sender follows, and as many of the entries as fit. Returns how many bytes
/// that took.
pub fn tell(lead: Lead, entries: impl Iterator<Item = Entry>, room: &mut [u8]) -> usize {
    let Some((first, rest)) = room.split_first_chunk_mut::<LEAD_BYTES>() else { return 0 };
    let [low, high] = lead.election.to_le_bytes();
    *first = [lead.leader.0, low, high];
    let slots = rest.as_chunks_mut::<ENTRY_BYTES>().0.iter_mut();
    let written = slots.zip(entries).map(|(slot, Entry { position, number, hops })| {
        let [epoch, low, high] = number.to_bytes();
        *slot = [position.0, epoch, low, high, hops];
    });
    LEAD_BYTES + ENTRY_BYTES * written.count()
}

/// How many entries fit into this many bytes of a hello.
pub fn fitting(room: usize) -> usize {
    room.saturating_sub(LEAD_BYTES) / ENTRY_BYTES
}

/// Reads what a hello tells of the ring; `None` if it is cut short.
pub fn told(bytes: &[u8]) -> Option<(Lead, Entries<'_>)> {
    let (&[leader, low, high], entries) = bytes.split_first_chunk::<LEAD_BYTES>()?;
    let is_whole = entries.len().is_multiple_of(ENTRY_BYTES);
    is_whole.then_some((Lead { leader: Position(leader), election: u16::from_le_bytes([low, high]) }, Entries(entries)))
}

/// Writes an envelope with an election message in it.
pub fn envelope(outside: Envelope, payload: &[u8]) -> Result<Parcel, Full> {
    if payload.len() > PAYLOAD_MAX {
        return Err(Full);
    }
    let Envelope { to, from, hops, side, number } = outside;
    let way = hops.min(HOPS_MAX) | side.map_or(0, |side| if side == Side::Right { RIGHT } else { LEFT });
    let mut parcel = Parcel::from_slice(&[3, to.0, from.0, way, number]).map_err(|_| Full)?;
    parcel.extend_from_slice(payload).map_err(|_| Full)?;
    Ok(parcel)
}

#[cfg(test)]
mod tests {
    use super::{Entry, Envelope, Lead, Message, PAYLOAD_MAX, envelope, fitting, tell, told};
    use crate::members::Position;
    use crate::ring::number::Number;
    use crate::types::Side;

    fn entry(position: u8, epoch: u8, count: u16, hops: u8) -> Entry {
        Entry { position: Position(position), number: Number { epoch, count }, hops }
    }

    #[test]
    fn what_is_written_is_read() {
        let entries = [entry(3, 0x56, 0x1234, 2), entry(127, 1, 9, 255)];
        let mut room = [0; 16];
        let lead = Lead { leader: Position(7), election: 0x0102 };
        assert_eq!(tell(lead, entries.into_iter(), &mut room), 13);
        assert_eq!(room[..13], [7, 2, 1, 3, 0x56, 0x34, 0x12, 2, 127, 1, 9, 0, 255]);
        let Some((read_lead, read)) = told(&room[..13]) else { panic!("a word on two") };
        assert!(read_lead == lead && read.iter().eq(entries));
        let outside = Envelope { to: Position(1), from: Position(2), hops: 63, side: None, number: 4 };
        for side in [None, Some(Side::Left), Some(Side::Right)] {
            let outside = Envelope { side, ..outside };
            let parcel = envelope(outside, b"abc").unwrap();
            assert_eq!(Message::decode(&parcel), Some(Message::Envelope(outside, b"abc")));
        }
        assert_eq!(Message::decode(&[3, 1, 2, 0xC1, 4]), None, "on both sides");
        assert!(envelope(outside, &[0; PAYLOAD_MAX]).is_ok());
        assert!(envelope(outside, &[0; PAYLOAD_MAX + 1]).is_err());
    }

    #[test]
    fn no_more_is_written_than_fits_and_what_is_no_message_is_refused() {
        let many = || (0..100).map(|position| entry(position, 0, 0, 1));
        let mut room = [0; 40];
        let lead = Lead { leader: super::NOBODY, election: 0 };
        assert_eq!(tell(lead, many(), &mut room), 3 + 5 * fitting(40));
        let Some((_, read)) = told(&room[..38]) else { panic!("a word on seven") };
        assert_eq!(read.iter().count(), 7);
        assert_eq!((tell(lead, many(), &mut []), told(&[]), told(&[1, 2]), told(&[1, 2, 3, 4])), (0, None, None, None));
        for bytes in [&[][..], &[0], &[4, 1, 2, 3, 4], &[1, 2, 3, 4, 5], &[2, 0, 0, 0, 0], &[3, 1, 2, 3]] {
            assert_eq!(Message::decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(Message::decode(&[3; 64]), None, "longer than a link carries");
    }
}
