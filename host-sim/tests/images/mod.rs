//! Images, built and run on emulated boards.

mod bare;
mod firmware;
pub mod models;
mod peripherals;
mod selftest;
mod test_boards;
