//! Watches boards on cables live and records a trace.
//!
//! Boards speak [`common::host_link`]. A [`mod@line`] is a cable, [`watch`] serves several of them, [`boards`] keeps what the
//! boards reported and turns it into trace records, and [`screen`] shows it.

mod board_clock;
pub mod boards;
pub mod describe;
pub mod gathered;
pub mod hearing;
pub mod line;
mod log_reader;
pub mod mac;
mod readers;
pub mod screen;
pub mod watch;
