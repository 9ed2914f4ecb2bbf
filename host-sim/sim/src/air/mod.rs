//! The air: one shared, noisy, half-duplex medium, as IEEE 802.15.4 radios at 2.4 GHz have it.
//!
//! [`medium::Medium`] knows the physical layer only: frames that begin and end, received power, locking on and losing
//! lock, clear channel assessment. Anything with a radio can join it: a protocol node, a jammer, an emulated board.
//! [`propagation`] says how strong a transmitter arrives where, [`oqpsk`] what the noise then does to the bits, and
//! [`world`] puts nodes, clocks and a queue of events around it. [`pcapng`] and [`trace`] write down what happened,
//! [`energy`] says what it cost a battery.

pub mod beacons;
pub mod clock;
pub mod collector;
pub mod energy;
pub mod flash;
pub mod grid;
pub mod index;
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
pub mod talker;
pub mod timing;
pub mod trace;
pub mod world;

use common::mac::phy::{BYTE, SYNC, psdu_airtime};

/// The core's facts about the physical layer, in the microseconds that the world counts.
pub const BYTE_US: u64 = BYTE.as_micros();
pub const SYNC_US: u64 = SYNC.as_micros();

/// How long a frame with this many payload bytes, checksum included, is on the air.
pub const fn airtime_us(psdu: usize) -> u64 {
    psdu_airtime(psdu).as_micros()
}
