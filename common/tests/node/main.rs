//! Whole nodes on a lossy ether.

#![allow(clippy::indexing_slicing, clippy::panic, reason = "a test stops where it fails")]

mod ether;
mod mesh;
mod rings;
