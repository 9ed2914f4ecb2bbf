//! The configuration page: how a [`Config`] lies in flash and in the file that is flashed there.
//!
//! ```text
//! 0  magic "RLcf"   4  version   5  zero   6  length of the body (u16, little-endian)
//! 8  body: the configuration, in postcard's encoding
//! .. CRC-32 (ISO-HDLC) of everything before it, little-endian; the rest of the page is erased flash (0xFF)
//! ```
//! Flash contents are input like any other: an error names the byte or the field, and nothing of an invalid page is used.

use core::fmt;

use postcard::experimental::max_size::MaxSize;

use super::{Config, ConfigError};
use crate::Full;
use crate::checksum::CRC_32;

/// What a page begins with.
pub const MAGIC: [u8; 4] = *b"RLcf";

/// The version of the body's layout. Any other is refused.
pub const VERSION: u8 = 1;

/// The most that a page takes, in bytes.
pub const PAGE_MAX: usize = HEADER + Config::POSTCARD_MAX_SIZE + TAIL;

const HEADER: usize = 8;
const TAIL: usize = 4;

/// Why bytes are not a configuration page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageError {
    /// Erased flash: the board was never provisioned.
    Blank,
    /// The first four bytes are not the page's.
    Magic,
    /// A layout this image does not know.
    Version(u8),
    /// The length at byte 6 does not fit the page.
    Length(u16),
    /// The checksum behind the body is wrong: the page was torn or damaged.
    Checksum,
    /// The body is not a configuration, although its checksum is right.
    Body,
    /// A field has a value it may not have.
    Field(ConfigError),
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("the page is blank"),
            Self::Magic => f.write_str("byte 0: this is not a configuration page"),
            Self::Version(version) => write!(f, "byte 4: version {version} is not {VERSION}"),
            Self::Length(length) => write!(f, "byte 6: a body of {length} bytes does not fit"),
            Self::Checksum => f.write_str("the checksum behind the body is wrong"),
            Self::Body => write!(f, "byte {HEADER}: the body is not a configuration"),
            Self::Field(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PageError {}

/// Writes a configuration as a page to `buf`, and returns the part it takes.
pub fn encode<'b>(config: &Config, buf: &'b mut [u8]) -> Result<&'b [u8], Full> {
    let room = buf.get_mut(HEADER..).ok_or(Full)?;
    let length = postcard::to_slice(config, room).map_err(|_| Full)?.len();
    let header = buf.get_mut(..HEADER).ok_or(Full)?;
    let [low, high] = u16::try_from(length).map_err(|_| Full)?.to_le_bytes();
    header.copy_from_slice(&[MAGIC[0], MAGIC[1], MAGIC[2], MAGIC[3], VERSION, 0, low, high]);
    let sum = CRC_32.checksum(buf.get(..HEADER + length).ok_or(Full)?).to_le_bytes();
    buf.get_mut(HEADER + length..HEADER + length + TAIL).ok_or(Full)?.copy_from_slice(&sum);
    buf.get(..HEADER + length + TAIL).ok_or(Full)
}

/// The checksum that a page carries, which tells pages apart; none if there is no page.
pub fn checksum(page: &[u8]) -> Option<u32> {
    let (header, rest) = page.split_first_chunk::<HEADER>()?;
    let [m0, m1, m2, m3, _, _, low, high] = *header;
    let (_, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
    let (sum, _) = rest.split_first_chunk::<TAIL>()?;
    ([m0, m1, m2, m3] == MAGIC).then_some(u32::from_le_bytes(*sum))
}

/// Reads a page and checks everything in it.
pub fn decode(page: &[u8]) -> Result<Config, PageError> {
    let (header, rest) = page.split_first_chunk::<HEADER>().ok_or(PageError::Magic)?;
    if header.iter().all(|&byte| byte == 0xFF) {
        return Err(PageError::Blank);
    }
    let [m0, m1, m2, m3, version, _, low, high] = *header;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(PageError::Magic);
    }
    if version != VERSION {
        return Err(PageError::Version(version));
    }
    let length = u16::from_le_bytes([low, high]);
    let (body, rest) = rest.split_at_checked(usize::from(length)).ok_or(PageError::Length(length))?;
    let (sum, _) = rest.split_first_chunk::<TAIL>().ok_or(PageError::Length(length))?;
    let mut digest = CRC_32.digest();
    digest.update(header);
    digest.update(body);
    if digest.finalize() != u32::from_le_bytes(*sum) {
        return Err(PageError::Checksum);
    }
    match postcard::take_from_bytes::<Config>(body) {
        Ok((config, [])) => config.check().map(|()| config).map_err(PageError::Field),
        _ => Err(PageError::Body),
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE_MAX, PageError, checksum, decode, encode};
    use crate::config::{Config, NetworkKey, Protection};
    use crate::members::RingOrder;
    use crate::names::Algorithm;
    use crate::types::NodeId;

    fn config() -> Config {
        let ids: heapless::Vec<NodeId, 64> = (1..=64).map(NodeId).collect();
        let Ok(ring) = RingOrder::new(&ids) else { panic!("a ring") };
        let protection = Protection::Ascon(NetworkKey::new([7; 16]));
        Config::on_ring(NodeId(5), 0x1234, protection, Algorithm::Hs, ring)
    }

    #[test]
    fn what_was_written_is_read() {
        let mut buf = [0xFF; 4096];
        let used = encode(&config(), &mut buf).map(<[u8]>::len);
        assert!(used.is_ok_and(|used| used <= PAGE_MAX));
        assert_eq!(decode(&buf), Ok(config()));
        assert!(checksum(&buf).is_some() && checksum(&[0xFF; 64]).is_none());
        assert!(encode(&config(), &mut [0; 40]).is_err());
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let mut buf = [0xFF; PAGE_MAX];
        let Ok(used) = encode(&config(), &mut buf).map(<[u8]>::len) else { panic!("it fits") };
        for byte in 0..used {
            let mut torn = buf;
            torn[byte] ^= 0x41;
            assert!(decode(&torn).is_err(), "byte {byte}");
        }
        for length in 0..used {
            assert!(decode(&buf[..length]).is_err(), "cut at {length}");
        }
        assert_eq!(decode(&[0xFF; 64]), Err(PageError::Blank));
    }
}
