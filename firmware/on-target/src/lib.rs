//! What only a real chip can tell: how long it takes to answer, how its crystal starts, whether two radios hear each other,
//! and what its flash keeps. `tests/hardware.rs` runs it.
//!
//! The parts of the image that touch the chip are the image's own files, so that what is measured is what is shipped.
#![no_std]
#![deny(unsafe_code)]

pub mod answers;
pub mod crystal;
pub mod cycles;
pub mod pair;
pub mod storage;

#[allow(dead_code, reason = "an image needs more of it")]
#[path = "../../src/clock.rs"]
mod clock;
#[path = "../../src/copying.rs"]
mod copying;
#[allow(dead_code, reason = "an image needs more of it")]
mod radio;
#[path = "../../src/stopwatch.rs"]
mod stopwatch;

use defmt_rtt as _;
use embassy_nrf::Peripherals;
use embassy_nrf::config::{Config, HfclkSource, LfclkSource};

/// Starts the clocks as an image does, but for the slow one: every board can make it from the fast one.
pub fn start() -> Peripherals {
    let mut config = Config::default();
    config.hfclk_source = HfclkSource::Internal;
    config.lfclk_source = LfclkSource::Synthesized;
    crystal::start();
    let peripherals = embassy_nrf::init(config);
    stopwatch::start();
    cycles::start();
    peripherals
}
