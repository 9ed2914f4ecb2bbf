//! The gateway against real files, a real broker and boards on pseudo-terminals. One program: linking takes longest.

mod broker;
mod collected;
mod files;
mod killed;
mod support;

#[cfg(unix)]
mod boards;
#[cfg(unix)]
mod cables;
#[cfg(unix)]
mod document;
#[cfg(unix)]
#[path = "../../tests/monitor/fake_board.rs"]
mod fake_board;
#[cfg(unix)]
mod rehearsal;
#[cfg(feature = "tls")]
mod tls;
