//! Seeed XIAO nRF52840, also the Sense: the green and the red part of its LED, the serial line on D6 and D7, USB. It has no
//! button but reset; one between D1 and ground counts, as Seeed's expansion board has it.
//!
//! The image starts behind the `SoftDevice` S140 v7 and leaves the UF2 bootloader in place.

use common::names::Board;
use embassy_nrf::config::{LfclkSource, Reg0Voltage};

pub const BOARD: Board = Board::XiaoNrf52840;
pub const SLOW_CLOCK: LfclkSource = LfclkSource::ExternalXtal;
/// The inductor of the DC/DC converter is fitted.
pub const HAS_CONVERTER: bool = true;
/// The chip is supplied past its first regulator.
pub const REGULATOR: Option<Reg0Voltage> = None;
pub const HAS_USB: bool = true;

macro_rules! pins {
    ($p:ident) => {
        $crate::boards::Pins {
            status: $p.P0_30.into(),
            fault: Some($p.P0_26.into()),
            common: None,
            lit: embassy_nrf::gpio::Level::Low,
            button: $p.P0_03.into(),
            second_button: None,
            serial: Some($crate::boards::Serial { send: $p.P1_11.into(), receive: $p.P1_12.into() }),
            #[cfg(feature = "sensor-sht4x")]
            wires: $crate::boards::Wires { data: $p.P0_04.into(), clock: $p.P0_05.into() },
        }
    };
}
pub(crate) use pins;
