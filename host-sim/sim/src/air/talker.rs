//! A small station for tests, here and of readers of traces: it broadcasts who it is once in a while, and follows the lowest
//! id that it has heard of.

use common::mac::phy::{FCS_BYTES, FRAME_MAX};
use common::time::{Duration, Instant};
use common::types::NodeId;

use super::index::NodeIndex;
use super::medium::{Medium, Tuning};
use super::propagation::{Point, Propagation, Spreading};
use super::timing::RadioTiming;
use super::trace::Leads;
use super::world;
use super::world::{Access, Room, Sent, Station, Transmit, World};

/// Bytes of a talker's frame: header, three bytes of payload.
pub const FRAME: usize = 12;

/// The same with its checksum.
pub const PSDU: usize = FRAME + FCS_BYTES;

/// Everybody's network.
pub const PAN: u16 = 0xBEEF;

/// Broadcasts its id and follows the lowest.
#[derive(Clone, Debug)]
pub struct Talker {
    id: NodeId,
    leader: Option<NodeId>,
    next: Instant,
    period: Duration,
    count: u8,
    waiting: bool,
}

/// A data frame with short addresses on one network; the checksum is left to the radio.
pub fn data_frame(sequence: u8, from: u16, to: u16, payload: [u8; 3]) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..2].copy_from_slice(&0x8841_u16.to_le_bytes());
    frame[2] = sequence;
    frame[3..5].copy_from_slice(&PAN.to_le_bytes());
    frame[5..7].copy_from_slice(&to.to_le_bytes());
    frame[7..9].copy_from_slice(&from.to_le_bytes());
    frame[9..12].copy_from_slice(&payload);
    frame
}

impl Station for Talker {
    fn handle_start(&mut self, _now: Instant) {
        self.leader = Some(self.id);
    }

    fn handle_frame(&mut self, _now: Instant, psdu: &[u8], _rssi_dbm: f64) {
        let heard = NodeId(u16::from_le_bytes([psdu[7], psdu[8]]));
        self.leader = self.leader.map(|leader| leader.min(heard));
    }

    fn handle_sent(&mut self, _now: Instant, _sent: Sent) {}

    fn handle_timeout(&mut self, _now: Instant) {
        self.next = self.next + self.period;
        self.waiting = true;
    }

    fn poll_transmit(&mut self, _now: Instant, room: Room, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        if !room.csma || !std::mem::take(&mut self.waiting) {
            return None;
        }
        self.count += 1;
        buf[..FRAME].copy_from_slice(&data_frame(self.count, self.id.0, 0xFFFF, *b"hey"));
        Some(Transmit { length: FRAME, access: Access::Csma })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next)
    }
}

impl Leads for Talker {
    fn leader(&self) -> Option<NodeId> {
        self.leader
    }
}

/// Talkers in a room, switched on: the index-th has the id 100 less its index, so that leadership moves as they speak.
pub fn room(talkers: u16, watcher: &mut impl world::Watcher<Talker>) -> World<Talker> {
    let propagation = Propagation { spreading: Spreading::Disc { reach: 10.0 }, ..Propagation::plain(1) };
    let mut world = World::new(Medium::new(propagation, None, 1), RadioTiming::EMBASSY, 1);
    for index in 0..talkers {
        let talker = Talker {
            id: NodeId(100 - index),
            leader: None,
            next: Instant::from_micros(100_000 * (1 + u64::from(index))),
            period: Duration::from_millis(1_000),
            count: 0,
            waiting: false,
        };
        world.add(Point::new(f64::from(index), 0.0), Tuning { channel: 15, tx_dbm: 0.0 }, 0, talker);
    }
    for node in NodeIndex::first(world.len()) {
        world.power_on(node, watcher);
    }
    world
}
