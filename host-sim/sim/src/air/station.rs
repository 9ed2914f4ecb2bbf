//! What a station with a radio is to the world, and what onlookers may see of it.

use common::mac::phy::FRAME_MAX;
pub use common::mac::{Access, Sent, Transmit};
use common::mac::{Decision, MacEvent};
use common::time::Instant;

use super::index::{NodeIndex, RadioIndex};
use super::medium::Reception;

/// Which frames the radio has room for: at most one of each kind may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// No frame is waiting for a clear channel.
    pub csma: bool,
    /// No frame is waiting for its time.
    pub timed: bool,
}

/// Anything that has a radio and decides what to do with it: the shape of the core's driver contract. Times are those of the
/// station's own clock.
pub trait Station {
    fn handle_start(&mut self, now: Instant);
    /// A frame with a correct checksum was received.
    fn handle_frame(&mut self, now: Instant, psdu: &[u8], rssi_dbm: f64);
    /// The frame that it handed over with [`Access::Csma`] was sent or given up. Acknowledgements are not reported.
    fn handle_sent(&mut self, now: Instant, sent: Sent);
    /// The time it asked for has come.
    fn handle_timeout(&mut self, now: Instant);
    /// Writes the next frame to send to `buf`, without its checksum. Called after every input while there is room for any frame;
    /// one that there is no room for is dropped and counted.
    fn poll_transmit(&mut self, now: Instant, room: Room, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit>;
    fn poll_timeout(&self) -> Option<Instant>;
    /// Until when, by all that it has heard, others answer each other.
    fn quiet_until(&self) -> Instant {
        Instant::ZERO
    }
    /// A frame arrived with an impossible length byte: too short for a checksum, or with its highest bit set. A driver drops it
    /// before any node sees it, so most stations have nothing to do; an emulated board meets it in its own driver.
    fn handle_bad_length(&mut self, _now: Instant, _length: u8) {}
}

/// Sees everything that happens and changes nothing.
pub trait Watcher<S> {
    /// A frame begins: its sender and its bytes.
    fn frame(&mut self, _world_us: u64, _from: RadioIndex, _psdu: &[u8]) {}
    /// A frame ended at a radio that had locked on to it.
    fn reception(&mut self, _world_us: u64, _from: RadioIndex, _reception: Reception) {}
    /// A station was handed a frame with wrong bits and a right checksum.
    fn corrupted(&mut self, _world_us: u64, _node: NodeIndex, _psdu: &[u8]) {}
    /// A station's frame was given up because the channel was never clear.
    fn busy(&mut self, _world_us: u64, _node: NodeIndex) {}
    /// A station's MAC was told something at this time of its clock and decided; `next` is when it wants to be called again.
    fn mac(&mut self, _node: NodeIndex, _now: Instant, _event: MacEvent, _decision: Decision, _next: Option<Instant>) {}
    /// A station was given an input; this is its state afterwards.
    fn station(&mut self, _world_us: u64, _node: NodeIndex, _station: &S) {}
}

/// A watcher that ignores everything.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl<S> Watcher<S> for Nobody {}

/// What a radio has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub sent: u64,
    pub received: u64,
    pub damaged: u64,
    /// Frames that reached the station with wrong bits and a right checksum; received ones are counted with them.
    pub corrupted: u64,
    /// Frames with an impossible length, dropped by the driver.
    pub malformed: u64,
    /// Frames given up because the channel was never clear.
    pub busy: u64,
    /// Acknowledgements whose time had passed or came while the radio was sending something else.
    pub late: u64,
    /// Frames that a station handed over although there was no room.
    pub refused: u64,
    pub tx_us: u64,
    /// Time with the receiver on, ramping, or turning round after sending.
    pub rx_us: u64,
    /// Time with power.
    pub on_us: u64,
}
