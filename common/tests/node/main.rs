//! Whole nodes on a lossy ether.

mod ether;
mod mesh;
