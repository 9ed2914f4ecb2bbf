//! How frames get on the air, the same on a board and on the simulated air: the physical layer's facts ([`phy`]), the waits
//! of CSMA-CA ([`backoff`]), the decisions when to send ([`Mac`]), and the words in which links and drivers speak of frames.

mod access_control;
pub mod backoff;
pub mod phy;

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

pub use self::access_control::{
    ANSWER_LEAD, ANSWER_SET_UP, ANSWER_SLOT, Decision, HEARD_HOLD, Mac, MacEvent, TURN_ROUND,
};
use crate::time::Instant;

/// How a frame gets on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Access {
    /// When the channel is clear. The driver reports the outcome with `handle_sent`.
    Csma,
    /// At this time, whatever is on the channel. A driver that is too late drops the frame and reports nothing.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Sent {
    /// It was on the air.
    Done,
    /// The channel was never clear.
    ChannelBusy,
}
