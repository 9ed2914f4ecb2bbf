//! The link layer: what turns a lossy radio into channels that go up and down and deliver in order while up.
pub mod security;
