//! The physical layer of IEEE 802.15.4 at 2.4 GHz: how long bytes take, how many a frame may have, and their checksum.

use crate::time::Duration;

/// The time of one byte on the air.
pub const BYTE: Duration = Duration::from_micros(32);

/// Bytes before the payload: preamble, start-of-frame delimiter and length.
pub const HEADER_BYTES: usize = 6;

/// The time of preamble and delimiter, during which a receiver locks on.
pub const SYNC: Duration = BYTE.times(5);

/// Bytes of the longest payload, checksum included.
pub const PSDU_MAX: usize = 127;

/// Bytes of the checksum that the radio adds and checks.
pub const FCS_BYTES: usize = 2;

/// Bytes of the longest frame, without the checksum.
pub const FRAME_MAX: usize = PSDU_MAX - FCS_BYTES;

/// Bytes of an acknowledgement, the one frame that is sent at a set time, without the checksum.
pub const ACK_BYTES: usize = 8;

/// How long a frame of this many bytes, checksum not counted, is on the air.
pub const fn airtime(bytes: usize) -> Duration {
    psdu_airtime(bytes + FCS_BYTES)
}

/// The same for a payload with its checksum. A faulty or hostile frame may be shorter than a checksum.
pub const fn psdu_airtime(psdu: usize) -> Duration {
    Duration::from_micros(BYTE.as_micros() * (HEADER_BYTES + psdu) as u64)
}

/// The checksum of a frame. A frame followed by its checksum, low byte first, has the checksum 0.
pub fn fcs(bytes: &[u8]) -> u16 {
    const CRC: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_KERMIT);
    CRC.checksum(bytes)
}

/// The frame in a buffer that the radio filled: its length, what was received, and where the checksum was. None if the
/// length, which comes from the air, is impossible.
pub fn received(buffer: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = buffer.split_first()?;
    let length = usize::from(length).checked_sub(FCS_BYTES)?;
    if length == 0 || length > FRAME_MAX { None } else { rest.get(..length) }
}

/// The same, to be decrypted where it is.
pub fn received_mut(buffer: &mut [u8]) -> Option<&mut [u8]> {
    let length = received(buffer)?.len();
    buffer.get_mut(1..=length)
}

#[cfg(test)]
mod tests {
    use super::{airtime, fcs, received, received_mut};
    use crate::time::Duration;

    #[test]
    fn airtime_is_the_standards() {
        assert_eq!(airtime(125), Duration::from_micros(4_256));
        assert_eq!(airtime(8), Duration::from_micros(512));
    }

    #[test]
    fn the_checksum_is_the_standards() {
        assert_eq!(fcs(&[0x02, 0x00, 0x6A]).to_le_bytes(), [0xE4, 0x79]);
        assert_eq!(fcs(b"123456789"), 0x2189);
        assert_eq!(fcs(&[]), 0);
    }

    #[test]
    fn impossible_lengths_are_refused() {
        let mut buffer = [7; 128];
        for length in 0..=u8::MAX {
            buffer[0] = length;
            let expected = if (3..=127).contains(&length) { Some(usize::from(length) - 2) } else { None };
            assert_eq!(received(&buffer).map(<[u8]>::len), expected, "length {length}");
        }
        buffer[0] = 5;
        assert_eq!(received_mut(&mut buffer).map(|frame| frame.len()), Some(3));
        assert_eq!(received(&[]), None);
        assert_eq!(received(&[10, 1, 2]), None);
    }
}
