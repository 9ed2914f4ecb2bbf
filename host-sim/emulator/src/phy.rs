//! The port between a board's radio and the air: what one tells the other, as plain data.
//!
//! The radio says what it does, with the cycle at which it does it; whoever has the air answers. The times of the air are
//! those at the antenna; what its chain of filters adds the radio adds itself.
//!
//! | The radio says | The air does |
//! |---|---|
//! | [`Output::Listening`], [`Output::Deaf`] | may, or may no more, lock this radio on to a frame that begins |
//! | [`Output::TransmitBegins`] | begins a frame; sends [`Input::FrameFound`] to everybody who locked on, [`SYNC`] later, and [`Input::FrameEnds`] at `ends` |
//! | [`Output::TransmitAborted`] | ends it early; whoever locked on gets [`Input::FrameEnds`], damaged |
//! | [`Output::Assess`] | answers with [`Input::Assessed`], at `until` |
//! | [`Output::AssessAborted`] | forgets that question |
//! | [`Output::Measure`] | answers with [`Input::Measured`], at once |

use crate::io::CYCLES_PER_US;

/// Cycles that a byte takes on the air.
pub const BYTE: u64 = 32 * CYCLES_PER_US;

/// Cycles of preamble and delimiter, at whose end a receiver knows that a frame has begun.
pub const SYNC: u64 = 5 * BYTE;

/// The longest payload of a frame, checksum included.
pub const PSDU_MAX: usize = 127;

/// A frame as it is on the air.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The length byte. It is what the sender says, which need not be true: 0, 1 and more than 127 make no sense.
    pub length: u8,
    /// The payload, checksum included.
    pub psdu: Vec<u8>,
}

impl Frame {
    /// A frame with this payload, to which its checksum is added.
    pub fn new(payload: &[u8]) -> Self {
        let mut psdu = payload.to_vec();
        psdu.extend_from_slice(&checksum(payload).to_le_bytes());
        Self { length: u8::try_from(psdu.len()).unwrap_or(u8::MAX), psdu }
    }

    /// Whether the checksum at its end fits.
    pub fn is_intact(&self) -> bool {
        let Some((payload, sum)) = self.psdu.split_last_chunk::<2>() else { return false };
        usize::from(self.length) == self.psdu.len() && checksum(payload) == u16::from_le_bytes(*sum)
    }

    /// How many cycles it is on the air.
    pub fn airtime(&self) -> u64 {
        SYNC + (1 + self.psdu.len() as u64) * BYTE
    }
}

/// The checksum of IEEE 802.15.4: CRC-16 of ITU-T, from the low bit on, beginning with 0.
pub fn checksum(payload: &[u8]) -> u16 {
    payload.iter().fold(0, |sum, &byte| {
        (0..8).fold(sum ^ u16::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0x8408 } else { sum >> 1 })
    })
}

/// What a radio is set to. Two radios hear each other only if they are set alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// The middle of the channel in MHz.
    pub mhz: u16,
    /// The delimiter that begins a frame.
    pub delimiter: u8,
}

impl Tuning {
    /// The channel of IEEE 802.15.4, 11 to 26, if it is one.
    pub fn channel(self) -> Option<u8> {
        let offset = self.mhz.checked_sub(2405)?;
        let channel = u8::try_from(offset / 5 + 11).ok()?;
        (offset.is_multiple_of(5) && channel <= 26).then_some(channel)
    }
}

/// What a radio does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The receiver is on and waits for a frame.
    Listening {
        /// For what.
        tuning: Tuning,
    },
    /// It does not wait for a frame any more. A frame that it was receiving is lost.
    Deaf,
    /// The first bit of a frame leaves the antenna.
    TransmitBegins {
        /// The frame.
        frame: Frame,
        /// Transmit power.
        dbm: i8,
        /// On what.
        tuning: Tuning,
        /// When its last bit will have left.
        ends: u64,
    },
    /// The frame breaks off.
    TransmitAborted,
    /// Is the channel clear, and how loud is it, on average from now on?
    Assess {
        /// Where.
        tuning: Tuning,
        /// Until when.
        until: u64,
    },
    /// Never mind.
    AssessAborted,
    /// How loud is the channel now?
    Measure {
        /// Where.
        tuning: Tuning,
    },
}

/// What a radio does, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The cycle.
    pub at: u64,
    /// What.
    pub output: Output,
}

/// What the air does to a radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Preamble and delimiter of a frame that it locked on to are over.
    FrameFound {
        /// Received power.
        dbm: i8,
    },
    /// That frame is over.
    FrameEnds {
        /// What was sent.
        frame: Frame,
        /// Whether every bit arrived as it was sent.
        intact: bool,
        /// Received power.
        dbm: i8,
    },
    /// The answer to [`Output::Assess`].
    Assessed {
        /// Mean power, noise included.
        dbm: i8,
        /// Whether there was a frame that it could have decoded.
        carrier: bool,
    },
    /// The answer to [`Output::Measure`].
    Measured {
        /// Power, noise included.
        dbm: i8,
    },
}

#[cfg(test)]
mod tests {
    use super::{Frame, Tuning, checksum};

    #[test]
    fn the_checksum_is_the_published_one() {
        // CRC-16/KERMIT of "123456789", the check value that catalogues of checksums give.
        assert_eq!(checksum(b"123456789"), 0x2189);
        assert!(Frame::new(b"hello").is_intact());
        assert!(!Frame { length: 7, psdu: b"hello??".to_vec() }.is_intact());
        assert!(!Frame { length: 0, psdu: Vec::new() }.is_intact());
    }

    #[test]
    fn channels_are_five_megahertz_apart() {
        let channel = |mhz| Tuning { mhz, delimiter: 0xA7 }.channel();
        assert_eq!([2400, 2405, 2406, 2450, 2480, 2485].map(channel), [None, Some(11), None, Some(20), Some(26), None]);
    }

    #[test]
    fn airtime_counts_preamble_delimiter_and_length() {
        assert_eq!(Frame::new(&[0; 20]).airtime(), (6 + 22) * 32 * 64);
    }
}
