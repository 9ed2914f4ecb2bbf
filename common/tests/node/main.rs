//! Whole nodes on a lossy ether.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test stops where it fails")]

mod dense;
mod ether;
mod faults;
mod hostile;
mod keys;
mod mesh;
mod twins;
