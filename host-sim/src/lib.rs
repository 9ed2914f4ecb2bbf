//! The simulator and desktop tools of Ringleader: thin drivers of the core in `common`.
//!
//! [`cli`] has the commands. The work behind them is in the other modules: [`emulated`] boards on the simulated air,
//! [`field`] tools for real boards, [`lab`] measurements and comparisons, and [`draw`] for pictures. The simulated air and
//! its scenarios are the package `sim`, the ideal network is `ideal`, the emulated board is `emulator`.

pub mod cli;
pub mod draw;
pub mod emulated;
pub mod field;
pub mod lab;
