//! nRF52833-DK (PCA10100): LEDs 1 and 2, buttons 1 and 2, the serial line of its on-board probe, and a USB
//! socket of the chip itself.

use common::names::Board;
use embassy_nrf::config::{LfclkSource, Reg0Voltage};

pub const BOARD: Board = Board::Nrf52833Dk;
pub const SLOW_CLOCK: LfclkSource = LfclkSource::ExternalXtal;
/// The inductor of the DC/DC converter is fitted.
pub const HAS_CONVERTER: bool = true;
/// The chip is supplied past its first regulator.
pub const REGULATOR: Option<Reg0Voltage> = None;
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
            #[cfg(feature = "sensor-sht4x")]
            wires: $crate::boards::Wires { data: $p.P0_26.into(), clock: $p.P0_27.into() },
        }
    };
}
pub(crate) use pins;
