//! BBC micro:bit v2: the middle LED of the matrix, the microphone's LED for faults, buttons A and B, and the serial line of
//! the interface chip, which also owns the USB socket.

use common::names::Board;
use embassy_nrf::config::{LfclkSource, Reg0Voltage};

pub const BOARD: Board = Board::MicrobitV2;
/// There is no 32 kHz crystal. The slow clock is derived from the fast crystal, which runs for the radio anyway.
pub const SLOW_CLOCK: LfclkSource = LfclkSource::Synthesized;
/// It is not documented whether the inductor of the DC/DC converter is fitted; a board without it would lose its supply.
pub const HAS_CONVERTER: bool = false;
/// The chip is supplied past its first regulator.
pub const REGULATOR: Option<Reg0Voltage> = None;
/// The USB socket belongs to the interface chip.
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
            #[cfg(feature = "sensor-sht4x")]
            wires: $crate::boards::Wires { data: $p.P1_00.into(), clock: $p.P0_26.into() },
        }
    };
}
pub(crate) use pins;
