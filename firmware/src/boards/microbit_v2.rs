//! BBC micro:bit v2: the middle LED of the matrix, the microphone's LED for faults, buttons A and B, and the serial line of
//! its interface chip, to which the USB socket belongs as well.

use common::names::Board;
use embassy_nrf::config::LfclkSource;

/// The board's name.
pub const BOARD: Board = Board::MicrobitV2;
/// There is no crystal of 32768 Hz. The radio keeps the fast one running, from which the slow clock is made.
pub const SLOW_CLOCK: LfclkSource = LfclkSource::Synthesized;
/// Whether the coil of the voltage converter is fitted is not documented, and a board without it would lose its supply.
pub const HAS_CONVERTER: bool = false;
/// The USB socket is the interface chip's.
pub const HAS_USB: bool = false;

macro_rules! pins {
    ($p:ident) => {
        $crate::boards::Pins {
            // Row 3; column 3 is held low.
            status: $p.P0_15.into(),
            fault: Some($p.P0_20.into()),
            common: Some(($p.P0_31.into(), embassy_nrf::gpio::Level::Low)),
            lit: embassy_nrf::gpio::Level::High,
            button: $p.P0_14.into(),
            second_button: Some($p.P0_23.into()),
            serial: Some($crate::boards::Serial { send: $p.P0_06.into(), receive: $p.P1_08.into() }),
        }
    };
}
pub(crate) use pins;
