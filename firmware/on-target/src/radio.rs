//! The image's own driver of the radio, without the task that an image runs around it.

#[path = "../../src/radio/buffers.rs"]
pub mod buffers;
#[path = "../../src/radio/chip.rs"]
pub mod chip;
#[path = "../../src/radio/wiring.rs"]
mod wiring;

use common::time::Instant;

/// As the driver hands it on.
pub struct Received {
    pub at: Instant,
    pub rssi_dbm: i8,
    pub buffer: &'static mut buffers::Buffer,
}

/// As the driver wants it.
pub struct Settings {
    pub channel: u8,
    pub power_dbm: i8,
}
