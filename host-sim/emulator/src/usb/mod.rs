//! USB on the PC's side: what goes over the cable, as plain data, and a host that enumerates a board and opens its serial
//! port.
//!
//! Like the air, a cable has no clock of its own: [`UsbHost`] says when it wants to act and what it does, and is told what
//! the board answered. `soc::usbd` is the board's side.

mod control;
mod enumeration;
mod host;
#[cfg(test)]
mod tests;

pub use enumeration::Description;
pub use host::{HostState, UsbHost};

/// The size of a packet on the control endpoint and on the bulk endpoints, at full speed.
pub const PACKET_MAX: usize = 64;

/// What a host does to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Holds both wires low, which takes the device's address away.
    Reset,
    /// Has been silent for three milliseconds.
    Suspend,
    /// Ends the silence.
    Resume,
    /// Begins a transfer on the control endpoint.
    Setup([u8; 8]),
    /// Asks an endpoint for a packet, and acknowledges it.
    In { endpoint: u8 },
    /// Sends a packet to an endpoint.
    Out { endpoint: u8, bytes: Vec<u8> },
}

/// What the device answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing at all: no device, no such endpoint, or nothing that needs an answer.
    Silence,
    /// Not now.
    Nak,
    /// Never.
    Stall,
    Ack,
    Data(Vec<u8>),
}
