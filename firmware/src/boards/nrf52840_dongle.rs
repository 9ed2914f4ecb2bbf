//! nRF52840 dongle (PCA10059): the green LED and the red one of the three-coloured LED, one button, USB; no serial line.
//!
//! Flashed with a probe, the image starts at address 0 and replaces the bootloader with which the dongle comes. Built with
//! the feature `usb-bootloader` it starts at 0x1000 and leaves the bootloader in place.

use common::names::Board;
use embassy_nrf::config::LfclkSource;

/// The board's name.
pub const BOARD: Board = Board::Nrf52840Dongle;
/// A crystal of 32768 Hz.
pub const SLOW_CLOCK: LfclkSource = LfclkSource::ExternalXtal;
/// The coil of the voltage converter is fitted.
pub const HAS_CONVERTER: bool = true;
/// The chip's own USB plug.
pub const HAS_USB: bool = true;

macro_rules! pins {
    ($p:ident) => {
        $crate::boards::Pins {
            status: $p.P0_06.into(),
            fault: Some($p.P0_08.into()),
            common: None,
            lit: embassy_nrf::gpio::Level::Low,
            button: $p.P1_06.into(),
            second_button: None,
            serial: None,
        }
    };
}
pub(crate) use pins;
