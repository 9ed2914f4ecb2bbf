//! An outsider's recording of one node: every frame that it has sent, in the order of their numbers.

use crate::end::Frame;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tape {
    /// Frames that say the same are as good as the latest of them, which has the highest number.
    frames: Vec<Frame>,
    /// So many of them are not later than the last that the other node has accepted.
    old: usize,
}

impl Tape {
    pub const fn new() -> Self {
        Self { frames: Vec::new(), old: 0 }
    }

    pub fn record(&mut self, frame: Frame) {
        if let Some(at) = self.frames.iter().position(|kept| *kept == frame) {
            self.frames.remove(at);
            self.old -= usize::from(at < self.old);
        }
        self.frames.push(frame);
    }

    /// A frame arrives at a node that knows its sender; whether it is newer than the last.
    pub fn accept(&mut self, frame: Frame) -> bool {
        // One that was not recorded is under way in the usual order.
        let Some(at) = self.frames.iter().position(|kept| *kept == frame) else { return true };
        let is_new = at >= self.old;
        self.old = self.old.max(at + 1);
        is_new
    }

    /// The node no longer knows which frame of this tape was the last.
    pub fn rewind(&mut self) {
        self.old = 0;
    }

    /// What the node would accept: everything, where it does not know the sender.
    pub fn playable(&self, is_known: bool) -> impl Iterator<Item = usize> {
        (if is_known { self.old } else { 0 })..self.frames.len()
    }

    pub fn play(&mut self, at: usize) -> Option<Frame> {
        let frame = *self.frames.get(at)?;
        self.old = at + 1;
        Some(frame)
    }
}
