//! Firmware onto a fleet: the right image and page for each board, and proof that they are there.

pub mod image;
pub mod probe;
