//! The boards: what is connected where. Everything that a board file says is data; the code is the same for all.

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

use common::board::flash_map::FlashMap;
use embassy_nrf::Peri;
use embassy_nrf::gpio::{AnyPin, Level};

/// The chip's flash.
#[cfg(feature = "chip-nrf52840")]
pub const FLASH: FlashMap = FlashMap::NRF52840;
/// The chip's flash.
#[cfg(feature = "chip-nrf52833")]
pub const FLASH: FlashMap = FlashMap::NRF52833;

/// What is connected to the pins.
pub struct Pins {
    /// The light that shows the node's condition.
    pub status: Peri<'static, AnyPin>,
    /// The light that shows a fault, where there is a second one.
    pub fault: Option<Peri<'static, AnyPin>>,
    /// A pin that must be held at a level for the lights to have current.
    pub common: Option<(Peri<'static, AnyPin>, Level)>,
    /// The level at which a light is on.
    pub lit: Level,
    /// The first button. All buttons pull to ground.
    pub button: Peri<'static, AnyPin>,
    /// The second button.
    pub second_button: Option<Peri<'static, AnyPin>>,
    /// The pins on which the board sends and receives, where something listens.
    pub serial: Option<Serial>,
}

/// A serial line.
pub struct Serial {
    /// From the board.
    pub send: Peri<'static, AnyPin>,
    /// To the board.
    pub receive: Peri<'static, AnyPin>,
}
