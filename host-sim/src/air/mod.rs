//! The air: one shared, noisy, half-duplex medium, as IEEE 802.15.4 radios at 2.4 GHz have it.
//!
//! [`medium::Medium`] speaks of the physical layer only: frames that begin and end, received power, locking on and losing
//! lock, clear channel assessment. Whatever has a radio can join it: a protocol node, a jammer, an emulated board.
//! [`propagation`] says how strong a transmitter arrives where, [`oqpsk`] what the noise then does to the bits, and
//! [`world`] puts nodes, clocks and a queue of events around it. [`pcapng`] and [`trace`] write down what happened,
//! [`energy`] says what it cost a battery.

pub mod clock;
pub mod csma;
pub mod energy;
pub mod grid;
pub mod medium;
mod memo;
pub mod node_station;
mod opening;
pub mod oqpsk;
pub mod pcapng;
pub mod power;
pub mod propagation;
pub mod sink;
pub mod soft_state;
pub mod station;
#[cfg(test)]
pub(crate) mod talker;
pub mod trace;
pub mod world;

/// Microseconds that one byte takes on the air.
pub const BYTE_US: u64 = 32;

/// Bytes before the payload: preamble, start-of-frame delimiter and length.
pub const HEADER_BYTES: u64 = 6;

/// How long preamble and delimiter take; a receiver locks on during them.
pub const SYNC_US: u64 = 5 * BYTE_US;

/// The longest payload of the physical layer, checksum included.
pub const PSDU_MAX: usize = 127;

/// How long a frame with this many payload bytes is on the air.
pub const fn airtime_us(psdu: usize) -> u64 {
    (HEADER_BYTES + psdu as u64) * BYTE_US
}
