//! One line to a host: frames wait here until they are sent. A frame that does not fit is dropped whole.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::host_link::{Decoder, ToBoard, ToHost, encode};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::pipe::Pipe;

use super::commands;

/// The byte that ends a frame. It goes first over every line, because the board may have been reset in the middle of a
/// frame: otherwise the hello, which says why, would be taken for the rest of that frame and be lost with it.
const FRAME_END: &[u8] = &[0];

/// The size of the frame that reports losses.
const LOSS_FRAME_MAX: usize = 24;

/// How many messages were lost and not yet reported.
pub struct Losses(AtomicU32);

impl Losses {
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number, if it is not zero, and counts them as reported.
    pub fn take(&self) -> Option<u32> {
        Some(self.0.swap(0, Ordering::Relaxed)).filter(|&lost| lost > 0)
    }

    /// Offers a frame to `take`, which takes it whole or not at all. Losses are reported first.
    pub fn offer(&self, frame: &[u8], mut take: impl FnMut(&[u8]) -> bool) {
        if let Some(lost) = self.take() {
            let mut bytes = [0; LOSS_FRAME_MAX];
            let is_reported = encode(&ToHost::Lost(lost), &mut bytes).is_ok_and(&mut take);
            if !is_reported {
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

/// A line whose bytes a task carries, and on which `WAITING_MAX` of them can wait.
pub struct Line<const WAITING_MAX: usize> {
    waiting: Pipe<CriticalSectionRawMutex, WAITING_MAX>,
    losses: Losses,
    is_open: AtomicBool,
}

impl<const WAITING_MAX: usize> Line<WAITING_MAX> {
    /// At first, nobody listens.
    pub const fn new() -> Self {
        Self { waiting: Pipe::new(), losses: Losses::new(), is_open: AtomicBool::new(false) }
    }

    /// Whether somebody listens. What the last listener did not receive is discarded.
    pub fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Relaxed);
        if is_open {
            self.write_all(FRAME_END);
        } else {
            self.waiting.clear();
        }
    }

    /// Offers a frame. If nobody listens, it does not count as lost.
    pub fn offer(&self, frame: &[u8]) {
        if self.is_open.load(Ordering::Relaxed) {
            self.losses.offer(frame, |frame| {
                // There is only one writer, so the free space does not shrink meanwhile.
                self.waiting.free_capacity() >= frame.len() && self.write_all(frame)
            });
        }
    }

    /// Writes a frame for which there is space. The pipe is a ring, and each call only writes up to its end.
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

    /// Waits for bytes to send.
    pub async fn collect(&self, bytes: &mut [u8]) -> usize {
        self.waiting.read(bytes).await
    }
}

/// Decodes and executes the commands that arrive over one line.
pub struct CommandDecoder(Decoder<ToBoard>);

impl CommandDecoder {
    pub const fn new() -> Self {
        Self(Decoder::new())
    }

    #[inline(never)]
    pub fn accept(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if let Some(command) = self.0.push(byte) {
                commands::execute(&command);
            }
        }
    }
}
