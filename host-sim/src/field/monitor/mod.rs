//! Boards on cables, live, and a trace of what they do.
//!
//! Boards speak [`common::host_link`]. [`mod@line`] is a cable, [`watch`] keeps several of them, [`boards`] knows what was said
//! and makes the trace's lines of it, [`screen`] shows it.

mod board_clock;
pub mod boards;
pub mod describe;
pub mod line;
pub mod mac;
pub mod screen;
pub mod watch;
