//! Firmware for a fleet: the right image and page on each board, and proof that they are there.

pub mod image;
pub mod probe;
