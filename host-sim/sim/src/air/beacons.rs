//! The workload that the air is measured with: a grid of stations that broadcast once a period.
//!
//! Worlds are generic over their stations; this one is compiled here, where the air is optimised, and not with the benchmark.

use common::mac::phy::{FCS_BYTES, FRAME_MAX};
use common::rng::Rng;
use common::time::Instant;

use super::index::NodeIndex;
use super::medium::{Fates, Medium, Tuning};
use super::propagation::Point;
use super::timing::RadioTiming;
use super::world::{Access, Nobody, Room, Sent, Station, Transmit, Usage, World};

/// MAC header of a broadcast with short addresses, payload and checksum.
const PSDU: usize = 9 + 40 + 2;

const PERIOD_US: u32 = 1_000_000;

/// A node that broadcasts once a period and counts what it hears.
#[derive(Clone, Debug)]
struct Beacon {
    /// In microseconds; runs are short.
    next: u32,
    waiting: bool,
}

impl Station for Beacon {
    fn handle_start(&mut self, _now: Instant) {}

    fn handle_frame(&mut self, _now: Instant, _psdu: &[u8], _rssi_dbm: f64) {}

    fn handle_sent(&mut self, _now: Instant, _sent: Sent) {}

    fn handle_timeout(&mut self, _now: Instant) {
        self.next = self.next.saturating_add(PERIOD_US);
        self.waiting = true;
    }

    fn poll_transmit(&mut self, _now: Instant, room: Room, _buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        (room.csma && std::mem::take(&mut self.waiting))
            .then_some(Transmit { length: PSDU - FCS_BYTES, access: Access::Csma })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(Instant::from_micros(u64::from(self.next)))
    }
}

/// Beacons on a square grid, each starting at a random time within its first period.
#[derive(Debug)]
pub struct Beacons {
    world: World<Beacon>,
}

impl Beacons {
    pub fn new(medium: Medium, timing: RadioTiming, nodes: usize, spacing: f64, seed: u64) -> Self {
        let columns = (1..=nodes).find(|side| side * side >= nodes).unwrap_or(1);
        let at = |index: usize| f64::from(u32::try_from(index).unwrap_or(u32::MAX)) * spacing;
        let mut world = World::new(medium, timing, seed);
        let mut phases = Rng::stream(seed, 0xBEAC);
        for node in 0..nodes {
            let next = phases.below(PERIOD_US);
            let position = Point::new(at(node % columns), at(node / columns));
            world.add(position, Tuning { channel: 15, tx_dbm: 0.0 }, 0, Beacon { next, waiting: false });
        }
        Self { world }
    }

    /// Computes who reaches whom, which otherwise happens at the first frame.
    pub fn set_up(&mut self) {
        self.world.medium_mut().refresh();
    }

    /// Switches everybody on and runs for this long.
    pub fn run(&mut self, seconds: u32) {
        for node in NodeIndex::first(self.world.len()) {
            self.world.power_on(node, &mut Nobody);
        }
        self.world.run_until(u64::from(seconds) * 1_000_000, &mut Nobody);
    }

    /// A figure of the radios, added up.
    pub fn total(&self, of: fn(&Usage) -> u64) -> u64 {
        NodeIndex::first(self.world.len()).map(|node| of(&self.world.usage(node))).sum()
    }

    pub fn fates(&self) -> Fates {
        self.world.medium().fates()
    }

    pub fn events(&self) -> u64 {
        self.world.events()
    }
}
