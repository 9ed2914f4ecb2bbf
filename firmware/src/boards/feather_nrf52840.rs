//! Adafruit Feather nRF52840 Express: the blue LED, the red one for faults, the user switch, the serial line on TX and RX,
//! and USB.
//!
//! The image starts behind the `SoftDevice` S140 v6 and leaves the UF2 bootloader in place.

use common::names::Board;
use embassy_nrf::config::{LfclkSource, Reg0Voltage};

pub const BOARD: Board = Board::FeatherNrf52840;
pub const SLOW_CLOCK: LfclkSource = LfclkSource::ExternalXtal;
/// The inductor of the DC/DC converter is fitted.
pub const HAS_CONVERTER: bool = true;
/// The chip is supplied past its first regulator.
pub const REGULATOR: Option<Reg0Voltage> = None;
pub const HAS_USB: bool = true;

macro_rules! pins {
    ($p:ident) => {
        $crate::boards::Pins {
            status: $p.P1_10.into(),
            fault: Some($p.P1_15.into()),
            common: None,
            lit: embassy_nrf::gpio::Level::High,
            button: $p.P1_02.into(),
            second_button: None,
            serial: Some($crate::boards::Serial { send: $p.P0_25.into(), receive: $p.P0_24.into() }),
            #[cfg(feature = "sensor-sht4x")]
            wires: $crate::boards::Wires { data: $p.P0_12.into(), clock: $p.P0_11.into() },
        }
    };
}
pub(crate) use pins;
