//! What must hold of a stranger, as functions of its world alone.
//!
//! Agreement, after every change that is left alone for that long, comes within
//!
//! ```text
//! B = (10 s + 0.5 s · D + 0.03 s · A + 0.25 s · M) / (1 − p)²
//! ```
//!
//! where `D` is the diameter of the usable links in hops, `A` the most nodes that any node can hear, `M` the members of the
//! ring (0 if there is none), and `p` the share of frames that are lost although a link is usable: independently, in
//! bursts, or to the network next door. Where nodes walk, `D` is that of the longest line they could form, or 40.
//!
//! Where the loss is more than [`LOSS_MAX`] the channel is full, and where a node is the only way to more others than its table
//! has slots ([`rooms_max`]) it cannot link them all. Then physics or a documented limit forbids agreement, and what must
//! hold is what is left: nothing unsafe happens, and nobody floods the channel.

use std::collections::VecDeque;

use common::limits::NEIGHBOURS_MAX;

use super::stranger::Stranger;
use crate::air::index::NodeIndex;
use crate::air::medium::{Medium, Tuning};
use crate::scenario::input::plan::{Harm, Scenario, Wifi};
use crate::scenario::judge::components::{Admission, Components};

/// More loss than this leaves too little of the channel for any agreement.
pub const LOSS_MAX: f64 = 0.5;

/// In a calm world nobody changes its leader while nothing changes. Up to this loss, without bursts or a network next door,
/// and where all that is joined is joined by links at least [`FIRM_DB`] better than usable, a world is calm.
pub const CALM_LOSS_MAX: f64 = 0.3;

/// How much better than usable a firm link is.
pub const FIRM_DB: f64 = 5.0;

/// The share of a run that one node may spend sending, in millionths.
pub const AIRTIME_MAX_PPM: u64 = 50_000;

/// Frames per node and minute in a quiet network, where nothing is lost; the same for every number of nodes.
pub const QUIET_FRAMES_MAX: f64 = 100.0;

/// Frames that a leader sends in a minute besides, so that its loss is noticed soon: a brief hello every 128 ms. Each
/// network has one.
const LEADER_FRAMES: f64 = 60_000.0 / 128.0;

/// The diameter that walking nodes are taken to have at most.
const WALKING_HOPS_MAX: usize = 40;

/// How long a frame is on the air, roughly, in milliseconds.
const FRAME_MS: f64 = 2.0;

/// The network next door matters to a node that hears it this loud, in dBm.
const WIFI_HEARD_DBM: f64 = -90.0;

/// To how many others a node may be the only way: as many as have a slot in its table, or half of them where each also takes
/// a slot as a ring neighbour.
pub const fn rooms_max(on_ring: bool) -> usize {
    if on_ring { NEIGHBOURS_MAX / 2 } else { NEIGHBOURS_MAX }
}

/// A stranger's world, as far as it bounds anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct World {
    pub nodes: usize,
    /// The most nodes that one can hear.
    pub audible: usize,
    /// The longest of the shortest usable paths, in hops.
    pub diameter: usize,
    /// How many parts have no usable path between them.
    pub components: usize,
    pub members: usize,
    /// The share of frames that are lost over a usable link.
    pub loss: f64,
    /// Whether everything that is joined is joined firmly, and nothing more faintly.
    pub is_firm: bool,
    /// The most others to which one node is the only way.
    pub rooms: usize,
}

impl World {
    /// Looks at the world of a stranger before anything befalls it.
    pub fn of(stranger: &Stranger) -> Self {
        let scenario = stranger.scenario();
        let medium = medium(&scenario);
        let nodes = scenario.topology.nodes();
        let noise = medium.propagation().noise_dbm;
        let power = |a: NodeIndex, b: NodeIndex| medium.mean_dbm(a.radio(), b.radio());
        let find = |noise: f64, admission| Components::find(power, nodes, |_| true, |_| noise, admission);
        let usable = find(noise, Admission::LINKS);
        let firm =
            find(noise + FIRM_DB, Admission { surely_dbm: Admission::LINKS.surely_dbm + FIRM_DB, ..Admission::LINKS });
        let hears = |a: NodeIndex, b: NodeIndex| power(b, a).is_some_and(|dbm| dbm > noise);
        let audible = |a: NodeIndex| NodeIndex::first(nodes).filter(|&b| b != a && hears(a, b)).count();
        let mut peers = vec![Vec::new(); nodes];
        for &(a, b) in &usable.links {
            peers[a.0].push(b);
            peers[b.0].push(a);
        }
        let walks = stranger.walking.is_some();
        let diameter = NodeIndex::first(nodes).map(|from| farthest(&peers, from)).max().unwrap_or(0);
        Self {
            nodes,
            audible: NodeIndex::first(nodes).map(audible).max().unwrap_or(0),
            diameter: if walks { nodes.min(WALKING_HOPS_MAX).max(diameter) } else { diameter },
            components: usable.usable.len(),
            members: if stranger.algorithm.needs_ring() { nodes } else { 0 },
            loss: loss(stranger, &scenario, &medium),
            is_firm: firm.usable == usable.usable && usable.is_apart() && !walks,
            rooms: peers
                .iter()
                .map(|mine| mine.iter().filter(|&&peer| peers[peer.0].len() == 1).count())
                .max()
                .unwrap_or(0),
        }
    }

    /// How long agreement may take, in milliseconds.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "minutes at most"
    )]
    pub fn within_ms(&self) -> u64 {
        let Self { audible, diameter, members, .. } = *self;
        let least = 10_000.0 + 500.0 * diameter as f64 + 30.0 * audible as f64 + 250.0 * members as f64;
        let kept = 1.0 - self.loss.min(LOSS_MAX);
        (least / (kept * kept)).ceil() as u64
    }

    /// Why agreement cannot be asked for, if it cannot.
    pub fn forbids(&self) -> Option<String> {
        if self.loss > LOSS_MAX {
            return Some(format!("the channel is full: {:.0} % of the frames are lost", self.loss * 100.0));
        }
        let most = rooms_max(self.members > 0);
        (self.rooms > most)
            .then(|| format!("a node is the only link to {} others, and its table has {most} slots", self.rooms))
    }

    /// Whether nobody may change its leader while nothing changes.
    pub fn is_calm(&self, stranger: &Stranger) -> bool {
        let air = stranger.air;
        self.is_firm
            && self.loss <= CALM_LOSS_MAX
            && air.bursts.is_none()
            && air.wifi.is_none()
            && self.forbids().is_none()
    }

    /// How many frames a node may send in a minute of a quiet network: each may have to be sent again.
    #[expect(clippy::cast_precision_loss, reason = "networks have far fewer than 2^52 nodes")]
    pub fn quiet_frames_max(&self) -> f64 {
        let leaders = LEADER_FRAMES * self.components as f64 / self.nodes as f64;
        (QUIET_FRAMES_MAX + leaders) / ((1.0 - self.loss.min(LOSS_MAX)) * (1.0 - self.loss.min(LOSS_MAX)))
    }
}

/// The radios of a scenario as they stand at its beginning, with its walls, and last the network next door.
fn medium(scenario: &Scenario) -> Medium {
    let plan = &scenario.radio;
    let mut medium = Medium::with_rules(plan.propagation(scenario.seed), None, scenario.seed, plan.cca.rules());
    let tuning = |tx_dbm| Tuning { channel: plan.channel, tx_dbm };
    for position in scenario.topology.positions(scenario.seed) {
        medium.add(position, tuning(plan.tx_dbm));
    }
    medium.change_propagation(|air| {
        air.nodes = scenario.topology.nodes();
        for fault in &scenario.faults {
            if let Harm::Wall { wall, lasts_us: None } = &fault.harm {
                air.walls.push(wall.clone());
            }
        }
    });
    if let Some(Wifi { at, power_dbm, .. }) = plan.wifi {
        medium.add(at, tuning(power_dbm));
    }
    medium
}

/// What is lost over a usable link: independently, to fades, and to the network next door where it is heard at all.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a fade")]
fn loss(stranger: &Stranger, scenario: &Scenario, medium: &Medium) -> f64 {
    let nodes = scenario.topology.nodes();
    let faded = stranger.air.bursts.map_or(0.0, |fades| fades.bad_ms as f64 / (fades.good_ms + fades.bad_ms) as f64);
    let hit = scenario.radio.wifi.map_or(0.0, |wifi| {
        let radio = crate::air::index::RadioIndex(nodes);
        let is_heard = NodeIndex::first(nodes)
            .any(|node| medium.mean_dbm(radio, node.radio()).is_some_and(|dbm| dbm > WIFI_HEARD_DBM));
        let gap_ms = wifi.burst_us as f64 / 1_000.0 * (1.0 - wifi.duty) / wifi.duty;
        if is_heard { 1.0 - (1.0 - wifi.duty) * crate::maths::exp(-FRAME_MS / gap_ms) } else { 0.0 }
    });
    1.0 - (1.0 - scenario.radio.loss) * (1.0 - faded) * (1.0 - hit)
}

/// How many hops it is to the node farthest away.
fn farthest(peers: &[Vec<NodeIndex>], from: NodeIndex) -> usize {
    let mut hops = vec![usize::MAX; peers.len()];
    hops[from.0] = 0;
    let (mut due, mut most) = (VecDeque::from([from]), 0);
    while let Some(node) = due.pop_front() {
        most = hops[node.0];
        for &peer in &peers[node.0] {
            if hops[peer.0] == usize::MAX {
                hops[peer.0] = hops[node.0] + 1;
                due.push_back(peer);
            }
        }
    }
    most
}
