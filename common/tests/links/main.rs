//! Links by themselves: what they promise to the election above them.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test stops where it fails")]

mod directed;
mod fifo;
mod net;
mod rules;
