//! Boards' settings, the page that holds them, and the ways to get it onto a board.

pub mod cable;
pub mod network;
pub mod page_file;
pub mod secret_file;
pub mod settings;
pub mod target;
