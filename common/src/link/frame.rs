//! The header of every frame, and acknowledgements. Every byte is described in `docs/wire.md`.
//!
//! ```text
//! 0 FCF 0x8841 | 2 DSN = counter[7:0] | 3 PAN | 5 destination | 7 source | 9 0 0 version2 key2 kind2 | 10 epoch
//! | 12 counter[23:8] | 14 device
//! ```
//! The first nine bytes are a data frame of IEEE 802.15.4 with short addresses, so that any sniffer shows who talks to whom. The
//! frame control is the same in every frame; the rest of the header is authenticated, and what follows is encrypted.
//!
//! Byte 9 is the first that is ours, and sniffers guess from it what follows. Two leading zeros are reserved by 6LoWPAN for
//! whatever is not 6LoWPAN (RFC 4944); with a version of at least 1 behind them, the byte names no version of Zigbee either.

use core::ops::Range;

use super::security::{Aead, Domain, Keys, Nonce, TAG_BYTES};
use crate::types::NodeId;

/// The version of everything in this module. Frames of another version are counted and ignored.
pub const VERSION: u8 = 2;

pub const HEADER_BYTES: usize = 16;

pub use crate::mac::phy::ACK_BYTES;

/// The last frame number of an epoch.
pub const COUNTER_MAX: u32 = 0x00FF_FFFF;

/// A data frame with short addresses, source network left out.
const FCF_DATA: [u8; 2] = 0x8841_u16.to_le_bytes();

const FCF_ACK: [u8; 2] = 0x0002_u16.to_le_bytes();

/// The version is above this many bits of byte 9; above it are two zeros.
const VERSION_AT: u8 = 4;

/// The key id is above this many bits of byte 9.
const KEY_AT: u8 = 2;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who is here and whom it hears.
    Hello,
    /// Messages of links, and acknowledgements of them.
    Rel,
    /// Blocks of samples on their way to the leader, and commits on their way back.
    Data,
}

impl Kind {
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Hello => 1,
            Self::Rel => 2,
            Self::Data => 3,
        }
    }

    const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Hello),
            2 => Some(Self::Rel),
            3 => Some(Self::Data),
            _ => None,
        }
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub pan: u16,
    /// Whom the frame is for.
    pub to: NodeId,
    pub from: NodeId,
    /// Which key protects it.
    pub key_id: u8,
    pub kind: Kind,
    pub epoch: u16,
    /// The frame's number in that epoch.
    pub counter: u32,
    /// A piece of the sender's serial number: two boards with one id differ in it, and so do their nonces.
    pub device: u16,
}

/// Why a frame is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Of another network, standard, version or key.
    Foreign,
    /// Too short, or with contents that make no sense.
    Malformed,
    Forged,
}

/// Which frame of a sender this is: later frames have greater numbers, over its reboots too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameNumber {
    pub epoch: u16,
    pub counter: u32,
}

impl Header {
    pub const fn number(&self) -> FrameNumber {
        FrameNumber { epoch: self.epoch, counter: self.counter }
    }

    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let [f0, f1] = FCF_DATA;
        let [p0, p1] = self.pan.to_le_bytes();
        let [t0, t1] = self.to.0.to_le_bytes();
        let [s0, s1] = self.from.0.to_le_bytes();
        let [e0, e1] = self.epoch.to_le_bytes();
        let [c0, c1, c2, _] = self.counter.to_le_bytes();
        let [d0, d1] = self.device.to_le_bytes();
        let kind = VERSION << VERSION_AT | (self.key_id & 3) << KEY_AT | self.kind.number();
        [f0, f1, c0, p0, p1, t0, t1, s0, s1, kind, e0, e1, c1, c2, d0, d1]
    }

    pub fn read(frame: &[u8]) -> Result<Self, Refusal> {
        let header = frame.first_chunk::<HEADER_BYTES>().ok_or(Refusal::Malformed)?;
        let [f0, f1, c0, p0, p1, t0, t1, s0, s1, kind, e0, e1, c1, c2, d0, d1] = *header;
        if [f0, f1] != FCF_DATA || kind >> VERSION_AT != VERSION {
            return Err(Refusal::Foreign);
        }
        Ok(Self {
            pan: u16::from_le_bytes([p0, p1]),
            to: NodeId(u16::from_le_bytes([t0, t1])),
            from: NodeId(u16::from_le_bytes([s0, s1])),
            key_id: kind >> KEY_AT & 3,
            kind: Kind::of(kind & 3).ok_or(Refusal::Foreign)?,
            epoch: u16::from_le_bytes([e0, e1]),
            counter: u32::from_le_bytes([c0, c1, c2, 0]),
            device: u16::from_le_bytes([d0, d1]),
        })
    }

    fn nonce(&self) -> Nonce {
        let Self { from: source, to: other, epoch, counter, device, .. } = *self;
        Nonce { source, other, epoch, counter, domain: Domain::Frame, status: 0, device }
    }

    /// Encrypts the body of `length` bytes that stands in `buf` behind the space for the header, and writes header and tag;
    /// returns the frame's length.
    pub fn seal(&self, keys: &Keys, buf: &mut [u8], length: usize) -> Option<usize> {
        let (space, rest) = buf.split_first_chunk_mut::<HEADER_BYTES>()?;
        *space = self.bytes();
        let (body, rest) = rest.split_at_mut_checked(length)?;
        let tag = keys.cipher(Domain::Frame).seal(self.nonce(), associated(space), body);
        *rest.first_chunk_mut::<TAG_BYTES>()? = tag;
        Some(HEADER_BYTES + length + TAG_BYTES)
    }

    /// Decrypts the body of the frame that this header was read from, in place.
    pub fn open<'f>(&self, keys: &Keys, frame: &'f mut [u8]) -> Result<&'f [u8], Refusal> {
        let (header, rest) = frame.split_first_chunk_mut::<HEADER_BYTES>().ok_or(Refusal::Malformed)?;
        let (body, tag) = rest.split_last_chunk_mut::<TAG_BYTES>().ok_or(Refusal::Malformed)?;
        keys.cipher(Domain::Frame).open(self.nonce(), associated(header), body, *tag).map_err(|_| Refusal::Forged)?;
        Ok(body)
    }

    /// Where the body stands in a frame of this many bytes.
    pub const fn body(length: usize) -> Range<usize> {
        HEADER_BYTES..length.saturating_sub(TAG_BYTES)
    }
}

/// The header behind its frame control, of which only one value is ever read. That leaves 14 bytes: with its padding, a header
/// of 16 would take the cipher two blocks, which is a fifteenth of the time in which a frame is answered.
fn associated(header: &[u8; HEADER_BYTES]) -> &[u8] {
    header.split_first_chunk::<{ FCF_DATA.len() }>().map_or(&[], |(_, rest)| rest)
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Status {
    /// The receiver has the frame's messages.
    Accepted,
    /// The receiver had no room for them, or its end of the link is not up yet; the sender tries again.
    NoRoom,
    /// The receiver knows of no such session; the sender takes its end of the link down.
    NoSession,
}

impl Status {
    const fn number(self) -> u8 {
        match self {
            Self::Accepted => 0,
            Self::NoRoom => 1,
            Self::NoSession => 2,
        }
    }

    const fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Accepted),
            1 => Some(Self::NoRoom),
            2 => Some(Self::NoSession),
            _ => None,
        }
    }
}

/// The tag of a frame; none where it has no room for one.
pub fn tag_of(frame: &[u8]) -> Option<[u8; TAG_BYTES]> {
    frame.last_chunk().copied()
}

/// The frame that an acknowledgement answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Answered {
    pub sender: NodeId,
    pub device: u16,
    pub epoch: u16,
    pub counter: u32,
    /// Its tag. Whoever puts a random number into a frame knows by the acknowledgement that it is not an old one, even if
    /// frame numbers have started over.
    pub tag: [u8; TAG_BYTES],
}

impl Answered {
    fn nonce(self, acker: NodeId, status: u8) -> Nonce {
        let Self { sender: source, device, epoch, counter, tag: _ } = self;
        Nonce { source, other: acker, epoch, counter, domain: Domain::Ack, status, device }
    }

    /// What is authenticated: the acknowledgement without its tag, and the tag of the frame.
    fn associated(self, status: u8) -> [u8; ACK_BYTES] {
        let ([f0, f1], [t0, t1, t2, t3]) = (FCF_ACK, self.tag);
        [f0, f1, self.dsn(), status, t0, t1, t2, t3]
    }

    fn dsn(self) -> u8 {
        self.counter.to_le_bytes()[0]
    }

    /// The acknowledgement of this frame by `acker`.
    pub fn acknowledge(self, keys: &Keys, acker: NodeId, status: Status) -> [u8; ACK_BYTES] {
        let number = status.number();
        let [f0, f1] = FCF_ACK;
        let tag = keys.cipher(Domain::Ack).seal(self.nonce(acker, number), &self.associated(number), &mut []);
        let [t0, t1, t2, t3] = tag;
        [f0, f1, self.dsn(), number, t0, t1, t2, t3]
    }

    /// What an acknowledgement says, if it is `acker`'s and answers this frame.
    pub fn status(self, keys: &Keys, acker: NodeId, ack: [u8; ACK_BYTES]) -> Option<Status> {
        let [f0, f1, dsn, number, t0, t1, t2, t3] = ack;
        if [f0, f1] != FCF_ACK || dsn != self.dsn() {
            return None;
        }
        let (nonce, associated) = (self.nonce(acker, number), self.associated(number));
        keys.cipher(Domain::Ack).open(nonce, &associated, &mut [], [t0, t1, t2, t3]).ok()?;
        Status::of(number)
    }
}

/// Whether bytes have the form of an acknowledgement.
pub fn as_ack(frame: &[u8]) -> Option<[u8; ACK_BYTES]> {
    let bytes = <[u8; ACK_BYTES]>::try_from(frame).ok()?;
    (bytes.first_chunk() == Some(&FCF_ACK)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Answered, HEADER_BYTES, Header, Kind, Refusal, Status, as_ack};
    use crate::config::{NetworkKey, Protection};
    use crate::link::security::Keys;
    use crate::types::NodeId;

    fn keys() -> Keys {
        Keys::new(&Protection::Ascon(NetworkKey::new([3; 16])))
    }

    const HEADER: Header = Header {
        pan: 0x1234,
        to: NodeId(0xFFFF),
        from: NodeId(7),
        key_id: 2,
        kind: Kind::Rel,
        epoch: 9,
        counter: 0x0012_3456,
        device: 0xBEEF,
    };

    #[test]
    fn a_frame_is_opened_by_whoever_has_the_key() {
        let mut buf = [0; 40];
        buf[HEADER_BYTES..HEADER_BYTES + 5].copy_from_slice(b"hello");
        let Some(length) = HEADER.seal(&keys(), &mut buf, 5) else { panic!("it fits") };
        let sealed = buf;
        assert_eq!(Header::read(&buf[..length]), Ok(HEADER));
        assert_eq!(HEADER.open(&keys(), &mut buf[..length]), Ok(&b"hello"[..]));
        assert_eq!(&buf[Header::body(length)], b"hello");
        let other = Keys::new(&Protection::Ascon(NetworkKey::new([4; 16])));
        buf = sealed;
        assert_eq!(HEADER.open(&other, &mut buf[..length]), Err(Refusal::Forged));
        buf = sealed;
        assert_eq!(HEADER.open(&keys(), &mut buf[..HEADER_BYTES + 3]), Err(Refusal::Malformed));
        assert_eq!(Header::read(&buf[..15]), Err(Refusal::Malformed));
        buf[9] ^= 0x10;
        assert_eq!(Header::read(&buf[..length]), Err(Refusal::Foreign), "another version");
    }

    #[test]
    fn an_acknowledgement_names_frame_acker_and_status() {
        let frame = Answered { sender: NodeId(1), device: 5, epoch: 2, counter: 3, tag: [1, 2, 3, 4] };
        let ack = frame.acknowledge(&keys(), NodeId(9), Status::NoSession);
        assert_eq!(as_ack(&ack), Some(ack));
        assert_eq!(frame.status(&keys(), NodeId(9), ack), Some(Status::NoSession));
        assert_eq!(frame.status(&keys(), NodeId(8), ack), None, "another node's");
        assert_eq!(Answered { counter: 259, ..frame }.status(&keys(), NodeId(9), ack), None, "of another frame");
        let other = Answered { tag: [1, 2, 3, 5], ..frame };
        assert_eq!(other.status(&keys(), NodeId(9), ack), None, "of a frame with the same number and other contents");
        assert_eq!(Answered { device: 6, ..frame }.status(&keys(), NodeId(9), ack), None, "of a twin's frame");
        let mut other = ack;
        other[3] = 0;
        assert_eq!(frame.status(&keys(), NodeId(9), other), None, "with another status");
    }
}
