//! What the proof tests share: rings, initial states of the height algorithm, and the four conditions it must end in.

pub mod oriented;
pub mod ring;
