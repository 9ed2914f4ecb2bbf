//! Images, built and run on emulated boards.

mod bare;
mod boards;
mod firmware;
mod peripherals;
mod selftest;
mod test_boards;
