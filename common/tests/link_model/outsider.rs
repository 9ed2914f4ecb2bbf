//! An outsider's recording of one node, in all of its boots.
//!
//! The recording is a set of frames, each new to the other node or old: the other node refuses what is not later than the last
//! frame it has accepted, for as long as it knows the sender. Which of the new frames was sent first is not kept, and none of
//! them becomes old by being played, so the outsider can do more than number by number. What holds against it holds against
//! one that keeps to that.

use std::collections::BTreeMap;

use crate::end::Frame;

/// What is recorded, of both nodes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorder {
    Nobody,
    Everything,
    /// Any frames, up to so many different ones.
    Some(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tape {
    /// Whether each frame is later than the last that the other node has accepted.
    frames: BTreeMap<Frame, bool>,
}

impl Tape {
    pub fn record(&mut self, frame: Frame) {
        self.frames.insert(frame, true);
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The node has accepted a frame that was sent after all of these.
    pub fn grow_old(&mut self) {
        self.frames.values_mut().for_each(|is_new| *is_new = false);
    }

    /// The node no longer knows which frame was the last.
    pub fn rewind(&mut self) {
        self.frames.values_mut().for_each(|is_new| *is_new = true);
    }

    /// What the node would accept.
    pub fn playable(&self) -> impl Iterator<Item = Frame> {
        self.frames.iter().filter(|(_, is_new)| **is_new).map(|(frame, _)| *frame)
    }
}
