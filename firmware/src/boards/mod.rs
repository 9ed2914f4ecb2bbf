//! The boards: what is connected where. A board file holds only data; the code is the same for all boards.

#[cfg(feature = "board-nrf52840-dk")]
pub mod nrf52840_dk;
#[cfg(feature = "board-nrf52840-dk")]
pub use nrf52840_dk as board;

#[cfg(feature = "board-nrf52840-dongle")]
pub mod nrf52840_dongle;
#[cfg(feature = "board-nrf52840-dongle")]
pub use nrf52840_dongle as board;

#[cfg(feature = "board-nrf52833-dk")]
pub mod nrf52833_dk;
#[cfg(feature = "board-nrf52833-dk")]
pub use nrf52833_dk as board;

#[cfg(feature = "board-microbit-v2")]
pub mod microbit_v2;
#[cfg(feature = "board-microbit-v2")]
pub use microbit_v2 as board;

#[cfg(feature = "board-xiao-nrf52840")]
pub mod xiao_nrf52840;
#[cfg(feature = "board-xiao-nrf52840")]
pub use xiao_nrf52840 as board;

#[cfg(feature = "board-feather-nrf52840")]
pub mod feather_nrf52840;
#[cfg(feature = "board-feather-nrf52840")]
pub use feather_nrf52840 as board;

use common::board::flash_map::FlashMap;
use embassy_nrf::Peri;
use embassy_nrf::gpio::{AnyPin, Level};

#[cfg(feature = "chip-nrf52840")]
pub const FLASH: FlashMap = FlashMap::NRF52840;
#[cfg(feature = "chip-nrf52833")]
pub const FLASH: FlashMap = FlashMap::NRF52833;

pub struct Pins {
    /// The light that shows the condition of the node.
    pub status: Peri<'static, AnyPin>,
    /// A second light, which shows a fault.
    pub fault: Option<Peri<'static, AnyPin>>,
    /// A pin that must be held at a level to power the lights.
    pub common: Option<(Peri<'static, AnyPin>, Level)>,
    /// The level at which a light is on.
    pub lit: Level,
    /// All buttons pull to ground.
    pub button: Peri<'static, AnyPin>,
    pub second_button: Option<Peri<'static, AnyPin>>,
    /// Absent if nothing is connected to a serial port.
    pub serial: Option<Serial>,
    /// Two pins for a sensor, for those who connect one.
    #[cfg(feature = "sensor-sht4x")]
    pub wires: Wires,
}

pub struct Serial {
    pub send: Peri<'static, AnyPin>,
    pub receive: Peri<'static, AnyPin>,
}

/// A bus on two wires (I2C), with resistors in the chip that pull them up while nothing is connected.
#[cfg(feature = "sensor-sht4x")]
pub struct Wires {
    pub data: Peri<'static, AnyPin>,
    pub clock: Peri<'static, AnyPin>,
}
