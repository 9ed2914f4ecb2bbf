//! nRF52840 dongle (PCA10059): the green LED, the red part of the RGB LED, one button, USB; no serial line.
//!
//! An image flashed with a probe starts at address 0 and replaces the bootloader that the dongle comes with. An image built
//! with the feature `usb-bootloader` starts at 0x1000 and leaves the bootloader in place.

use common::names::Board;
use embassy_nrf::config::{LfclkSource, Reg0Voltage};

pub const BOARD: Board = Board::Nrf52840Dongle;
pub const SLOW_CLOCK: LfclkSource = LfclkSource::ExternalXtal;
/// The inductor of the DC/DC converter is fitted.
pub const HAS_CONVERTER: bool = true;
/// USB feeds the chip through its first regulator, which would otherwise give 1.8 V: too little for the lights, and for
/// many probes.
pub const REGULATOR: Option<Reg0Voltage> = Some(Reg0Voltage::_3V0);
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
            #[cfg(feature = "sensor-sht4x")]
            wires: $crate::boards::Wires { data: $p.P0_13.into(), clock: $p.P0_15.into() },
        }
    };
}
pub(crate) use pins;
