//! Images for boards, built and run on emulated ones.

mod bare;
mod firmware;
mod peripherals;
mod selftest;
mod test_boards;
