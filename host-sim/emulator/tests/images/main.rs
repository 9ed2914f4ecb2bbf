//! Images, built and run on emulated boards.
//!
//! Modules run in the order of their names. Building the images of [`models`] takes one core about a minute, so they come late
//! and are built while the tests of [`firmware`] run.

mod bare;
mod firmware;
mod models;
mod peripherals;
mod selftest;
mod test_boards;
