//! A station that runs the hierarchy over plain broadcasts, without the link layer. It is the baseline for the link
//! layer.
//!
//! Every half second, and soon after its state has changed, it broadcasts a hello: its id, the nodes it hears, and its
//! latest Update. Nothing is acknowledged. The hierarchy only needs the latest value, so the next hello makes up for a
//! lost one.
//!
//! ```text
//!  FCF 0x8841 | DSN | PAN | 0xFFFF | source | version, life, ids heard, Update | FCS
//!      2         1     2      2        2               up to 86                  2
//! ```

use std::collections::BTreeMap;

use common::election::height_tuple::Height;
use common::election::hierarchy::{Hierarchy, HierarchyOptions};
use common::election::hierarchy_update::{HierarchyUpdate, Records};
use common::engine::Engine;
use common::limits::NEIGHBOURS_MAX;
use common::mac::phy::FRAME_MAX;
use common::notice::{Event, Notice};
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::NodeId;

use super::world::{Access, Room, Sent, Station, Transmit};

mod frame;

pub use frame::{Hello, decode, encode};

/// The mean time between two hellos.
pub const HELLO: Duration = Duration::from_millis(500);

/// A peer is down after three and a half intervals of silence.
const SILENCE: Duration = Duration::from_millis(1_750);

/// Hellos come up to this much earlier or later, so that two stations never keep colliding.
const JITTER_US: u32 = 100_000;

/// A station announces a change after 5 to 40 milliseconds.
const SOON_MIN_US: u32 = 5_000;
const SOON_SPREAD_US: u32 = 35_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftStateOptions {
    pub hierarchy: HierarchyOptions,
    /// A peer comes up only if its mean signal is at least this strong. Weaker links would break all the time.
    pub least_rssi_dbm: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub ups: u64,
    pub downs: u64,
    /// How often it made itself leader.
    pub elections: u64,
    /// How many searches for the leader it began.
    pub searches: u64,
    /// Frames that do not belong to this network.
    pub foreign: u64,
    /// Frames whose contents are invalid.
    pub malformed: u64,
    /// Frames with a wrong tag.
    pub forged: u64,
    /// Frames that were heard before.
    pub replayed: u64,
    /// Frames that were sent again because no acknowledgement came.
    pub retries: u64,
    /// Frames that it could not send because the channel was never clear.
    pub unsent: u64,
    /// Defects that the engine reported.
    pub faults: u64,
    /// How often the height or the records changed.
    pub changes: u64,
}

/// What the station knows about a node it has heard.
#[derive(Clone, Debug)]
struct Peer {
    life: u16,
    dsn: u8,
    /// Which of the peer's last hellos arrived, the latest in bit 0.
    history: u8,
    heard_at: Instant,
    rssi_dbm: f64,
    lists_me: bool,
    up: bool,
    told: Option<HierarchyUpdate>,
}

#[derive(Clone, Debug)]
pub struct SoftState {
    engine: Engine<Hierarchy>,
    options: SoftStateOptions,
    rng: Rng,
    life: u16,
    dsn: u8,
    peers: BTreeMap<NodeId, Peer>,
    next_hello: Instant,
    waiting: bool,
    tally: Tally,
}

impl SoftState {
    /// A station that has not started yet. Each life of a node needs its own seed.
    pub fn new(id: NodeId, options: SoftStateOptions, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, u64::from(id.0));
        let [low, high, ..] = rng.next_u64().to_le_bytes();
        Self {
            engine: Engine::new(id, seed, Hierarchy::new(id, options.hierarchy)),
            options,
            rng,
            life: u16::from_le_bytes([low, high]),
            dsn: 0,
            peers: BTreeMap::new(),
            next_hello: Instant::ZERO,
            waiting: false,
            tally: Tally::default(),
        }
    }

    pub fn hierarchy(&self) -> &Hierarchy {
        self.engine.protocol()
    }

    pub fn leader(&self) -> NodeId {
        self.hierarchy().height().leader.lid
    }

    /// The peers whose links are up.
    pub fn peers(&self) -> &[NodeId] {
        self.engine.peers()
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    fn state(&self) -> (Height, Records) {
        (self.hierarchy().height(), *self.hierarchy().records())
    }

    /// Passes an input to the engine, and has changes announced soon.
    fn feed(&mut self, now: Instant, input: impl FnOnce(&mut Engine<Hierarchy>)) {
        let before = self.state();
        input(&mut self.engine);
        let changed = self.state() != before;
        self.tally.changes += u64::from(changed);
        let mut asked = false;
        // Discard the messages: the next hello carries the latest value, which is all that peers need.
        while self.engine.poll_decoded().is_some() {
            asked = true;
        }
        while let Some(notice) = self.engine.poll_notice() {
            match notice {
                Notice::Event(Event::ElectedSelf) => self.tally.elections += 1,
                Notice::Event(Event::Searching) => self.tally.searches += 1,
                Notice::Fault(_) => self.tally.faults += 1,
                _ => {}
            }
        }
        if changed || asked {
            self.hello_soon(now);
        }
    }

    fn hello_soon(&mut self, now: Instant) {
        let after = Duration::from_micros(u64::from(SOON_MIN_US + self.rng.below(SOON_SPREAD_US)));
        self.next_hello = self.next_hello.min(now + after);
    }

    fn hear(&mut self, now: Instant, from: NodeId, dsn: u8, hello: &Hello, rssi_dbm: f64) {
        if self.peers.get(&from).is_some_and(|peer| peer.life != hello.life) {
            self.lose(now, from);
        }
        let is_new = !self.peers.contains_key(&from);
        let peer = self.peers.entry(from).or_insert_with(|| Peer {
            life: hello.life,
            dsn: dsn.wrapping_sub(1),
            history: 0,
            heard_at: now,
            rssi_dbm,
            lists_me: false,
            up: false,
            told: None,
        });
        let missed = dsn.wrapping_sub(peer.dsn);
        peer.history = peer.history.checked_shl(u32::from(missed)).unwrap_or(0) | 1;
        peer.dsn = dsn;
        peer.heard_at = now;
        peer.rssi_dbm += (rssi_dbm - peer.rssi_dbm) / 8.0;
        peer.lists_me = hello.heard.contains(&self.engine.id());
        let sure = (peer.history & 0b111).count_ones() >= 2;
        let strong = peer.rssi_dbm >= self.options.least_rssi_dbm;
        let (up, listed) = (peer.up, peer.lists_me);
        if up && !listed {
            self.take_down(now, from);
        } else if !up && listed && sure && strong && self.engine.peers().len() < NEIGHBOURS_MAX {
            self.bring_up(now, from);
        }
        if is_new {
            self.hello_soon(now);
        }
        self.take_update(now, from, &hello.update);
    }

    /// Passes on an update from a peer that is up, unless it repeats the last one. A new clock value alone is not news.
    fn take_update(&mut self, now: Instant, from: NodeId, update: &HierarchyUpdate) {
        let Some(peer) = self.peers.get_mut(&from).filter(|peer| peer.up) else { return };
        let news =
            peer.told.as_ref().is_none_or(|told| HierarchyUpdate { stamp: update.stamp, ..told.clone() } != *update);
        if news {
            peer.told = Some(update.clone());
            self.feed(now, |engine| engine.handle_decoded(now, from, update.clone()));
        }
    }

    fn bring_up(&mut self, now: Instant, id: NodeId) {
        let mut accepted = false;
        self.feed(now, |engine| accepted = engine.handle_link_up(now, id).is_ok());
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.up = accepted;
            peer.told = None;
        }
        self.tally.ups += u64::from(accepted);
    }

    fn take_down(&mut self, now: Instant, id: NodeId) {
        if let Some(peer) = self.peers.get_mut(&id).filter(|peer| peer.up) {
            peer.up = false;
            self.tally.downs += 1;
            self.feed(now, |engine| engine.handle_link_down(now, id));
        }
    }

    fn lose(&mut self, now: Instant, id: NodeId) {
        self.take_down(now, id);
        self.peers.remove(&id);
    }

    /// The nodes that the next hello lists: first peers that are up, then those that list this node, then others at
    /// random. The random order ensures that in a crowd every node finds a peer with room.
    fn listed(&mut self) -> heapless::Vec<NodeId, NEIGHBOURS_MAX> {
        let least = self.options.least_rssi_dbm;
        let mut heard: Vec<_> = (self.peers.iter())
            .filter(|(_, peer)| peer.up || peer.rssi_dbm >= least)
            .map(|(&id, peer)| (!peer.up, !peer.lists_me, self.rng.next_u32(), id))
            .collect();
        heard.sort_unstable();
        heard.into_iter().take(NEIGHBOURS_MAX).map(|(.., id)| id).collect()
    }

    fn hello(&mut self) -> Hello {
        let node = self.hierarchy();
        let Height { level, delta, leader, .. } = node.height();
        let fresh = node.forming().next().is_some();
        let (stamp, levels, records) = (node.time(), node.radii().levels(), *node.records());
        let update = HierarchyUpdate { stamp, level, delta, leader, fresh, levels, records };
        Hello { life: self.life, heard: self.listed(), update }
    }
}

impl Station for SoftState {
    fn handle_start(&mut self, now: Instant) {
        self.next_hello = now + Duration::from_micros(u64::from(self.rng.below(JITTER_US)));
        self.feed(now, |engine| engine.handle_start(now));
    }

    fn handle_frame(&mut self, now: Instant, psdu: &[u8], rssi_dbm: f64) {
        match decode(psdu) {
            Some((from, dsn, hello)) if from != self.engine.id() => self.hear(now, from, dsn, &hello, rssi_dbm),
            _ => self.tally.foreign += 1,
        }
    }

    fn handle_sent(&mut self, _now: Instant, sent: Sent) {
        self.tally.unsent += u64::from(sent == Sent::ChannelBusy);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let silent = |peer: &Peer| now >= peer.heard_at + SILENCE;
        let lost: Vec<NodeId> = self.peers.iter().filter(|(_, peer)| silent(peer)).map(|(&id, _)| id).collect();
        for id in lost {
            self.lose(now, id);
        }
        if now >= self.next_hello {
            let jitter = u64::from(self.rng.below(2 * JITTER_US));
            self.next_hello = now + Duration::from_micros(HELLO.as_micros() - u64::from(JITTER_US) + jitter);
            self.waiting = true;
        }
    }

    fn poll_transmit(&mut self, _now: Instant, room: Room, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        if !room.csma || !std::mem::take(&mut self.waiting) {
            return None;
        }
        self.dsn = self.dsn.wrapping_add(1);
        let hello = self.hello();
        let length = encode(self.engine.id(), self.dsn, &hello, buf)?;
        Some(Transmit { length, access: Access::Csma })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let silence = self.peers.values().map(|peer| peer.heard_at + SILENCE).min();
        Some(silence.map_or(self.next_hello, |silence| silence.min(self.next_hello)))
    }
}

#[cfg(test)]
mod tests;
