//! The port between a board's radio and the air: what one tells the other, as plain data.
//!
//! The radio says what it does and at which cycle, and the air answers. All times are those at the antenna; the radio adds
//! the delay of its receiver itself.
//!
//! | The radio says | The air does |
//! |---|---|
//! | [`Output::Listening`], [`Output::Deaf`] | may, or may no longer, lock this radio on to a frame that begins |
//! | [`Output::TransmitBegins`] | starts a frame; sends every radio that locks on [`Input::FrameFound`] after [`SYNC`], and [`Input::FrameEnds`] at `ends` |
//! | [`Output::TransmitAborted`] | breaks the frame off; radios that locked on get it as damaged at `ends` |
//! | [`Output::Assess`] | answers with [`Input::Assessed`], at `until` |
//! | [`Output::AssessAborted`] | forgets that question |
//! | [`Output::Measure`] | answers with [`Input::Measured`], at once |

pub use common::mac::phy::PSDU_MAX;
use common::mac::phy::{self, FCS_BYTES};

use crate::io::CYCLES_PER_US;

/// Cycles that a byte takes on the air.
pub const BYTE: u64 = phy::BYTE.as_micros() * CYCLES_PER_US;

/// Cycles of preamble and delimiter, after which a receiver has found the frame.
pub const SYNC: u64 = phy::SYNC.as_micros() * CYCLES_PER_US;

/// Cycles of a channel assessment: eight symbols, the time of four bytes.
pub const ASSESSMENT: u64 = 4 * BYTE;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The length byte. It is what the sender claims: 0, 1 and more than 127 are invalid.
    pub length: u8,
    /// Payload and checksum.
    pub psdu: Vec<u8>,
}

impl Frame {
    /// Adds the checksum to a payload.
    pub fn new(payload: &[u8]) -> Self {
        let mut psdu = payload.to_vec();
        psdu.extend_from_slice(&phy::fcs(payload).to_le_bytes());
        Self { length: u8::try_from(psdu.len()).unwrap_or(u8::MAX), psdu }
    }

    /// Whether length byte and checksum are correct.
    pub fn is_intact(&self) -> bool {
        let Some((payload, sum)) = self.psdu.split_last_chunk::<FCS_BYTES>() else { return false };
        usize::from(self.length) == self.psdu.len() && phy::fcs(payload) == u16::from_le_bytes(*sum)
    }

    /// In cycles.
    pub fn airtime(&self) -> u64 {
        phy::psdu_airtime(self.psdu.len()).as_micros() * CYCLES_PER_US
    }
}

/// Two radios hear each other only with equal tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// The centre frequency.
    pub mhz: u16,
    /// The start-of-frame delimiter.
    pub delimiter: u8,
}

impl Tuning {
    /// The channel of IEEE 802.15.4, 11 to 26, if the frequency is that of one.
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
    Listening { tuning: Tuning },
    /// The receiver no longer waits for a frame. A frame that it was receiving is lost.
    Deaf,
    /// The first bit of a frame leaves the antenna.
    TransmitBegins {
        frame: Frame,
        /// Transmit power.
        dbm: i8,
        tuning: Tuning,
        /// When its last bit will have left.
        ends: u64,
    },
    /// The transmission breaks off.
    TransmitAborted,
    /// Asks for the mean power on the channel from now until then, and whether there was a frame.
    Assess { tuning: Tuning, until: u64 },
    /// Withdraws the question.
    AssessAborted,
    /// Asks for the power on the channel now.
    Measure { tuning: Tuning },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// In cycles.
    pub at: u64,
    pub output: Output,
}

/// What the air does to a radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Preamble and delimiter of a frame to which the radio locked on are over.
    FrameFound {
        /// Received power.
        dbm: i8,
    },
    /// That frame is over.
    FrameEnds {
        /// As it was sent.
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
        /// Whether there was a frame that the radio could have decoded.
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
    use super::{Frame, Tuning};

    #[test]
    fn a_frame_carries_its_length_and_its_checksum() {
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
