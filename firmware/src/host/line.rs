//! One line to a host: frames wait here until they are sent, and are lost whole where there is no room.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::host_link::{Decoder, ToBoard, ToHost, encode};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::pipe::Pipe;

use super::commands;

/// Bytes that wait on one line: some dozens of messages.
const WAITING_MAX: usize = 1_024;

/// What ends a frame. It goes first over every line, since the board may have been reset in the middle of one: otherwise the
/// hello, which tells why, would be taken for its end and be lost with it.
pub const FRAME_END: &[u8] = &[0];

/// Bytes of the frame that tells of a loss.
const LOSS_FRAME_MAX: usize = 24;

/// How many messages were lost and not yet told.
pub struct Losses(AtomicU32);

impl Losses {
    /// None yet.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// One more.
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// All of them, if there are any; they count as told.
    pub fn take(&self) -> Option<u32> {
        Some(self.0.swap(0, Ordering::Relaxed)).filter(|&lost| lost > 0)
    }

    /// Offers a frame to something that takes it whole or not at all; before it, what was lost.
    pub fn offer(&self, frame: &[u8], mut take: impl FnMut(&[u8]) -> bool) {
        if let Some(lost) = self.take() {
            let mut bytes = [0; LOSS_FRAME_MAX];
            let is_told = encode(&ToHost::Lost(lost), &mut bytes).is_ok_and(&mut take);
            if !is_told {
                self.0.fetch_add(lost, Ordering::Relaxed);
                self.count();
                return;
            }
        }
        if !take(frame) {
            self.count();
        }
    }
}

/// A line with somebody who carries its bytes.
pub struct Line {
    waiting: Pipe<CriticalSectionRawMutex, WAITING_MAX>,
    losses: Losses,
    is_open: AtomicBool,
}

impl Line {
    /// A line that nobody listens to.
    pub const fn new() -> Self {
        Self { waiting: Pipe::new(), losses: Losses::new(), is_open: AtomicBool::new(false) }
    }

    /// Somebody listens from now on, or no longer. What was meant for the last listener is forgotten.
    pub fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Relaxed);
        if is_open {
            self.write_all(FRAME_END);
        } else {
            self.waiting.clear();
        }
    }

    /// Offers a frame. Where nobody listens it is not even lost.
    pub fn offer(&self, frame: &[u8]) {
        if self.is_open.load(Ordering::Relaxed) {
            self.losses.offer(frame, |frame| {
                // There is one writer, so the room does not shrink meanwhile.
                self.waiting.free_capacity() >= frame.len() && self.write_all(frame)
            });
        }
    }

    /// Writes a frame for which there is room. The pipe is a ring and takes bytes only up to its end at a time.
    fn write_all(&self, frame: &[u8]) -> bool {
        let mut rest = frame;
        while let Ok(written) = self.waiting.try_write(rest) {
            rest = rest.get(written..).unwrap_or_default();
            if rest.is_empty() {
                return true;
            }
        }
        false
    }

    /// Waits for bytes to carry.
    pub async fn collect(&self, bytes: &mut [u8]) -> usize {
        self.waiting.read(bytes).await
    }
}

/// Obeys what arrives over one line.
pub struct Ear(Decoder<ToBoard>);

impl Ear {
    /// One that has heard nothing.
    pub const fn new() -> Self {
        Self(Decoder::new())
    }

    /// Hears some bytes.
    #[inline(never)]
    pub fn hear(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if let Some(command) = self.0.push(byte) {
                commands::obey(&command);
            }
        }
    }
}
