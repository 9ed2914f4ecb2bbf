//! An outsider's recording of one node, in the order of frame numbers.
//!
//! It keeps what it will play and nothing else. Which frames those are is one more thing that every order of events is tried
//! for, so nothing is lost by that, and there are far fewer states. At most one frame is under way in each direction.

use crate::end::Frame;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tape {
    frames: Vec<Frame>,
    /// How many of them are no later than the last that the other node has accepted.
    old: usize,
    /// Whether the last of them is still under way.
    is_under_way: bool,
}

impl Tape {
    pub const fn new() -> Self {
        Self { frames: Vec::new(), old: 0, is_under_way: false }
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Keeps the frame that is under way.
    pub fn record(&mut self, frame: Frame) {
        self.frames.push(frame);
        self.is_under_way = true;
    }

    /// The frame under way is there, or lost.
    pub fn land(&mut self) {
        self.is_under_way = false;
    }

    /// The frame under way arrives at a node that knows its sender; whether it is newer than the last.
    pub fn accept(&mut self) -> bool {
        let is_new = !self.is_under_way || self.old < self.frames.len();
        self.old = self.frames.len();
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
