//! The simulator and desktop tools of Ringleader: thin drivers of the core in `common`.
//!
//! [`cli`] has the commands. The work behind them is in the other modules: [`emulated`] boards on the simulated air,
//! [`field`] tools for real boards, [`lab`] measurements and comparisons, [`draw`] for pictures, [`output`] for what
//! all of them print. The simulated air and its scenarios are the package `sim`, the ideal network is `ideal`, the emulated
//! board is `emulator`.

pub mod cli;
pub mod draw;
pub mod emulated;
pub mod field;
pub mod interrupt;
pub mod lab;
pub mod output;
pub mod view;
