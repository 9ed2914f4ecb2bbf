//! A whole node: discovery, links, election and timers behind one driver contract.
//!
//! # The driver contract
//!
//! The driver has a radio, a clock and something that keeps two bytes over a restart. It
//!
//! 1. makes a [`Node`] from a checked [`Config`] and the epoch of this boot, which it has stored *before*: one more than at
//!    the last boot. Without an epoch (its storage failed) the node only listens;
//! 2. tells it what happens, with the time: `handle_start`, `handle_frame`, `handle_sent`, `handle_timeout`,
//!    `handle_signal`, `handle_epoch`;
//! 3. after each of these asks, in this order: [`poll_transmit`](Node::poll_transmit) until there is nothing more or the radio
//!    is busy, [`poll_notice`](Node::poll_notice) until there is nothing more, [`poll_timeout`](Node::poll_timeout) once.
//!
//! A frame that was given out is the driver's until it is through: sent after carrier sensing ([`Access::Csma`], one at a
//! time, its end told by [`handle_sent`](Node::handle_sent)), or at a given time without ([`Access::At`]; only
//! acknowledgements, whose end nobody asks for). A driver that has a frame waiting for a free channel asks on and gets only
//! acknowledgements. Bytes are what is between the length and the checksum of the physical layer; the radio adds and checks
//! the latter.

pub mod snapshot;

use self::snapshot::Snapshot;
use crate::config::{Config, ConfigError};
use crate::notice::Notice;
use crate::protocol::Signal;
use crate::time::Instant;
use crate::types::NodeId;

/// Bytes of the longest frame, without the checksum that the radio adds.
pub const FRAME_MAX: usize = 125;

/// How a frame gets on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Access {
    /// When the channel is clear. Its end is told with [`Node::handle_sent`].
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

/// What only the driver knows at a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Boot {
    /// The number of this boot, already stored; none where storing it failed.
    pub epoch: Option<u16>,
    /// Randomness, different at every boot.
    pub seed: u64,
    /// A number of this very board, such as a piece of its serial number: it tells two boards with one id apart.
    pub device: u16,
}

/// One node.
pub struct Node {
    id: NodeId,
}

impl Node {
    /// A node that has not started.
    pub fn new(config: &Config, _boot: Boot) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { id: config.id })
    }

    /// Starts the node.
    pub fn handle_start(&mut self, _now: Instant) {}

    /// A frame with a right checksum has arrived, with this strength.
    pub fn handle_frame(&mut self, _now: Instant, _frame: &[u8], _rssi_dbm: i8) {}

    /// The frame given out with [`Access::Csma`] is through.
    pub fn handle_sent(&mut self, _now: Instant, _sent: Sent) {}

    /// The time [`poll_timeout`](Self::poll_timeout) asked for has come. Spurious calls are harmless.
    pub fn handle_timeout(&mut self, _now: Instant) {}

    /// Something else happened: a button, a command, a new coefficient.
    pub fn handle_signal(&mut self, _now: Instant, _signal: Signal) {}

    /// A new epoch was stored, because [`Notice::EpochNeeded`] asked for it.
    pub fn handle_epoch(&mut self, _now: Instant, _epoch: u16) {}

    /// The next frame to send, written to `buf`.
    pub fn poll_transmit(&mut self, _now: Instant, _buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        None
    }

    /// The oldest notice not yet collected.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next wanted.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// This node's id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The leader this node follows, itself included.
    pub fn leader(&self) -> Option<NodeId> {
        None
    }

    /// How the node stands.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }
}
