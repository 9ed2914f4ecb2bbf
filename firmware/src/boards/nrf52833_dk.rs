//! nRF52833-DK (PCA10100): LEDs 1 and 2, buttons 1 and 2, the serial line of its on-board probe, and a USB socket of the
//! chip's own.

use common::names::Board;
use embassy_nrf::config::LfclkSource;

/// The board's name.
pub const BOARD: Board = Board::Nrf52833Dk;
/// A crystal of 32768 Hz.
pub const SLOW_CLOCK: LfclkSource = LfclkSource::ExternalXtal;
/// The coil of the voltage converter is fitted.
pub const HAS_CONVERTER: bool = true;
/// The chip's own USB socket.
pub const HAS_USB: bool = true;

macro_rules! pins {
    ($p:ident) => {
        $crate::boards::Pins {
            status: $p.P0_13.into(),
            fault: Some($p.P0_14.into()),
            common: None,
            lit: embassy_nrf::gpio::Level::Low,
            button: $p.P0_11.into(),
            second_button: Some($p.P0_12.into()),
            serial: Some($crate::boards::Serial { send: $p.P0_06.into(), receive: $p.P0_08.into() }),
        }
    };
}
pub(crate) use pins;
