//! How frames get on the air: the physical layer's facts ([`phy`]), the waits of CSMA-CA ([`backoff`]), and the words in
//! which the links and a radio's driver speak of frames to send.

pub mod backoff;
pub mod phy;

use crate::time::Instant;

/// How a frame gets on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Access {
    /// When the channel is clear. Its end is told with `handle_sent`.
    Csma,
    /// At this time, whatever is on the channel. Too late is never; nobody asks what became of it.
    At(Instant),
}

/// A frame to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Transmit {
    /// How many bytes of the buffer it takes.
    pub length: usize,
    /// How it gets on the air.
    pub access: Access,
}

/// What became of a frame that was sent with [`Access::Csma`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Sent {
    /// It was on the air.
    Done,
    /// The channel was never clear.
    ChannelBusy,
}
