//! Looks on while a scenario runs: safety, leaders, fingerprint.

use std::collections::{BTreeMap, VecDeque};

use super::checker::{Safety, View};
use super::units::seconds;
use crate::air::soft_state::SoftState;
use crate::air::world::Watcher;

/// As many of the last events are told when a run fails.
const EVENTS_KEPT: usize = 24;

/// Looks on.
#[derive(Clone, Debug)]
pub struct Observer {
    safety: Safety,
    /// How often each node's state had changed when it was last looked at, and whom it followed.
    seen: BTreeMap<usize, (u64, u16)>,
    /// Whether a leader has changed since this was last cleared.
    pub leaders_changed: bool,
    /// The first thing that never may happen: when, where and what.
    pub violation: Option<(u64, usize, String)>,
    events: VecDeque<String>,
    digest: u64,
}

impl Observer {
    /// For a hierarchy with these radii.
    pub fn new(radii: Vec<u8>) -> Self {
        Self {
            safety: Safety::new(radii),
            seen: BTreeMap::new(),
            leaders_changed: true,
            violation: None,
            events: VecDeque::new(),
            digest: 0xCBF2_9CE4_8422_2325,
        }
    }

    /// Notes something that happened.
    pub fn note(&mut self, world_us: u64, what: &str) {
        if self.events.len() == EVENTS_KEPT {
            self.events.pop_front();
        }
        self.events.push_back(format!("{:.3} s: {what}", seconds(world_us)));
    }

    /// A node begins a new life.
    pub fn reborn(&mut self, node: usize, station: &SoftState) {
        self.safety.reborn(station.hierarchy().height().id);
        self.seen.remove(&node);
    }

    /// The last events, the oldest first.
    pub fn last_events(&self) -> Vec<String> {
        self.events.iter().cloned().collect()
    }

    /// The fingerprint of all frames so far.
    pub fn digest(&self) -> String {
        format!("{:016x}", self.digest)
    }

    /// FNV-1a.
    fn mix(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

impl Watcher<SoftState> for Observer {
    fn frame(&mut self, world_us: u64, from: usize, psdu: &[u8]) {
        self.mix(&world_us.to_le_bytes());
        self.mix(&(from as u64).to_le_bytes());
        self.mix(psdu);
    }

    fn station(&mut self, world_us: u64, node: usize, station: &SoftState) {
        let tally = station.tally();
        let now = (tally.changes + tally.faults, station.leader().0);
        let before = self.seen.insert(node, now);
        if before == Some(now) {
            return;
        }
        let view = View::of(station);
        if before.is_none_or(|before| before.1 != now.1) {
            self.leaders_changed = true;
            let (id, leader) = (view.id, now.1);
            self.note(world_us, &format!("node {id} follows {leader} (elected at {})", view.leader.elected_at));
        }
        if let Err(what) = self.safety.look(&view)
            && self.violation.is_none()
        {
            self.violation = Some((world_us, node, what));
        }
    }
}
