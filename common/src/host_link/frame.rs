//! Frames: from messages to bytes on a cable and back.

use core::marker::PhantomData;

use cobs::{DecodeResult, DecoderState};
use postcard::experimental::max_size::MaxSize;

use super::message::{Message, ToBoard, ToHost};
use crate::Full;
use crate::checksum::CRC_16;

/// The version of the messages' layout. A frame of another version counts as damaged: neither end guesses.
pub const VERSION: u8 = 1;

/// Bytes of the largest frame before COBS: what a decoder keeps.
pub const BODY_MAX: usize = HEADER + larger(ToHost::POSTCARD_MAX_SIZE, ToBoard::POSTCARD_MAX_SIZE) + TAIL;

/// Bytes of the largest frame on the cable, its zero included.
pub const FRAME_BYTES_MAX: usize = cobs::max_encoding_length(BODY_MAX) + 1;

const HEADER: usize = 2;
const TAIL: usize = 2;

// A board keeps a few of these; a USB packet is 64 bytes, so that a large one is eight or nine of them.
const _: () = assert!(FRAME_BYTES_MAX <= 576);
const _: () = assert!(ToHost::POSTCARD_MAX_SIZE <= 192, "what boards say all the time is small");

const fn larger(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// Writes a message as a frame to `out`, and returns the part it takes. [`FRAME_BYTES_MAX`] bytes are always enough.
pub fn encode<'b, M: Message>(message: &M, out: &'b mut [u8]) -> Result<&'b [u8], Full> {
    let mut body = [0; BODY_MAX];
    let [version, direction, rest @ ..] = &mut body;
    (*version, *direction) = (VERSION, M::DIRECTION);
    let length = HEADER + postcard::to_slice(message, rest).map_err(|_| Full)?.len();
    let sum = CRC_16.checksum(body.get(..length).ok_or(Full)?).to_le_bytes();
    body.get_mut(length..length + TAIL).ok_or(Full)?.copy_from_slice(&sum);
    let body = body.get(..length + TAIL).ok_or(Full)?;
    // The encoder would have to be trusted not to panic in a slice that is too small.
    let room = cobs::max_encoding_length(body.len());
    let frame = out.get_mut(..room).ok_or(Full)?;
    let used = cobs::try_encode(body, frame).map_err(|_| Full)?;
    *out.get_mut(used).ok_or(Full)? = 0;
    out.get(..=used).ok_or(Full)
}

/// Takes bytes as they come and gives out the messages in them.
///
/// Whatever the bytes are, it goes on after the next zero; invalid frames are counted.
#[derive(Debug)]
pub struct Decoder<M> {
    body: [u8; BODY_MAX],
    used: usize,
    state: DecoderState,
    /// The frame is longer than any may be; the rest of it is passed over.
    overlong: bool,
    damaged: u32,
    message: PhantomData<M>,
}

impl<M: Message> Default for Decoder<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message> Decoder<M> {
    /// A decoder that has seen nothing.
    pub const fn new() -> Self {
        Self {
            body: [0; BODY_MAX],
            used: 0,
            state: DecoderState::Idle,
            overlong: false,
            damaged: 0,
            message: PhantomData,
        }
    }

    /// Takes the next byte. Returns a message if that byte completes one.
    pub fn push(&mut self, byte: u8) -> Option<M> {
        if self.overlong {
            if byte == 0 {
                self.overlong = false;
                self.begin();
            }
            return None;
        }
        match self.state.feed(byte) {
            Ok(DecodeResult::NoData | DecodeResult::DataStart) => None,
            Ok(DecodeResult::DataContinue(byte)) => {
                if let Some(free) = self.body.get_mut(self.used) {
                    *free = byte;
                    self.used += 1;
                } else {
                    self.overlong = true;
                    self.count_damaged();
                }
                None
            }
            Ok(DecodeResult::DataComplete) => {
                let message = self.body.get(..self.used).and_then(message_in);
                self.begin();
                if message.is_none() {
                    self.count_damaged();
                }
                message
            }
            // Only a zero that comes too early is an error, so the next byte begins a frame.
            Err(_) => {
                self.begin();
                self.count_damaged();
                None
            }
        }
    }

    /// Whether a frame has begun and not ended.
    pub const fn is_within_frame(&self) -> bool {
        self.overlong || !matches!(self.state, DecoderState::Idle)
    }

    /// Invalid frames: cut, damaged, too long, of the other direction or of another version.
    pub const fn damaged(&self) -> u32 {
        self.damaged
    }

    fn begin(&mut self) {
        (self.used, self.state) = (0, DecoderState::Idle);
    }

    fn count_damaged(&mut self) {
        self.damaged = self.damaged.saturating_add(1);
    }
}

fn message_in<M: Message>(body: &[u8]) -> Option<M> {
    let (checked, sum) = body.split_last_chunk::<TAIL>()?;
    if CRC_16.checksum(checked) != u16::from_le_bytes(*sum) {
        return None;
    }
    let (header, bytes) = checked.split_first_chunk::<HEADER>()?;
    if *header != [VERSION, M::DIRECTION] {
        return None;
    }
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Some(message),
        _ => None,
    }
}
