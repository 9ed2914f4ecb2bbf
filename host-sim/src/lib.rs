//! The simulator and desktop tools of Ringleader: thin drivers of the core in `common`.
//!
//! [`cli`] has the commands. What they command is in the other rooms: [`emulated`] boards, tools for the [`field`], the
//! [`lab`], and what is drawn with, [`draw`]. The air and its scenarios are the package `sim`, the ideal network is
//! `ideal`, the boards are `emulator`.

pub mod cli;
pub mod draw;
pub mod emulated;
pub mod field;
pub mod lab;
