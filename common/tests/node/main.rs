//! Whole nodes on a lossy ether.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test stops where it fails")]

mod again;
mod crowd;
mod data;
mod dense;
mod ether;
mod faults;
mod fleet;
mod hostile;
mod insider;
mod keys;
mod mesh;
mod replays;
mod rings;
mod twins;
