//! Members that lie: one authentic frame that says anything, with fields at random and at their extremes.
//!
//! The frame has the right key, a session that is up, and a number that nobody has heard. What it says is drawn: an election
//! message (`election`), a hello, an order, a piece of a session, readings and commits (`frames`), or bytes. [`stress`] makes
//! networks in which one member sends one such frame and is gone.

mod election;
mod frames;
pub mod stress;

use common::config::Config;
use common::link::frame::{HEADER_BYTES, Header, Kind};
use common::link::security::{Keys, TAG_BYTES};
use common::mac::phy::{FRAME_MAX, fcs};
use common::node::Node;
use common::rng::Rng;
use common::types::NodeId;

/// A lie is this far ahead of the last number that anybody has heard. A frame of the liar may be on its way.
const AHEAD: u32 = 64;

/// One frame, with its checksum, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lie {
    pub psdu: Vec<u8>,
    pub about: &'static str,
}

/// What a frame says, and to whom.
struct Said {
    to: NodeId,
    kind: Kind,
    body: Vec<u8>,
    about: &'static str,
}

/// Draws what a member says, which is configured like this; none if it only listens. The others tell which numbers of its
/// they know.
pub fn lie(rng: &mut Rng, liar: &Node, config: &Config, others: &[&Node]) -> Option<Lie> {
    let epoch = liar.links().epoch()?;
    let known = others.iter().flat_map(|other| other.links().table().iter()).filter(|(_, known)| known.id == liar.id());
    let last = known.map(|(_, known)| known.last).filter(|last| last.epoch == epoch).max();
    let Said { to, kind, body, about } = frames::any(rng, liar, config, others.len() + 1);
    let mut buf = [0; FRAME_MAX];
    let length = body.len().min(FRAME_MAX - HEADER_BYTES - TAG_BYTES);
    buf[HEADER_BYTES..HEADER_BYTES + length].copy_from_slice(&body[..length]);
    let counter = last.map_or(0, |last| last.counter) + AHEAD;
    // Simulated nodes have their id as the piece of their serial number.
    let device = liar.id().0;
    let header = Header { pan: config.pan, to, from: liar.id(), key_id: config.key_id, kind, epoch, counter, device };
    let length = header.seal(&Keys::new(&config.protection), &mut buf, length)?;
    let frame = &buf[..length];
    Some(Lie { psdu: [frame, &fcs(frame).to_le_bytes()].concat(), about })
}

/// A number at random, or one of those at the edges.
fn any(rng: &mut Rng, near: u32) -> u32 {
    let edges =
        [0, 1, near, near.wrapping_add(1), near.wrapping_sub(1), 1 << 29, 1 << 30, 1 << 31, u32::MAX - 1, u32::MAX];
    let pick = rng.below(14) as usize;
    edges.get(pick).copied().unwrap_or_else(|| rng.next_u32())
}

/// The same, of two bytes.
fn half(rng: &mut Rng, near: u16) -> u16 {
    let edges = [0, 1, near, near.wrapping_add(1), near.wrapping_sub(1), 1 << 15, u16::MAX - 1, u16::MAX];
    let pick = rng.below(12) as usize;
    edges.get(pick).copied().unwrap_or_else(|| u16::from_le_bytes([byte(rng), byte(rng)]))
}

/// A small number as a rule, otherwise any.
fn small(rng: &mut Rng) -> u8 {
    if rng.below(3) == 0 { byte(rng) } else { u8::try_from(rng.below(9)).unwrap_or(0) }
}

fn byte(rng: &mut Rng) -> u8 {
    let [byte, ..] = rng.next_u32().to_le_bytes();
    byte
}

fn is_so(rng: &mut Rng) -> bool {
    rng.below(2) == 0
}

/// A node: of the network as a rule, whose ids go from 1 to `nodes`.
fn anybody(rng: &mut Rng, nodes: usize) -> NodeId {
    if rng.below(4) == 0 {
        NodeId(byte(rng).into())
    } else {
        NodeId(1 + u16::try_from(rng.below(u32::try_from(nodes).unwrap_or(u32::MAX))).unwrap_or(0))
    }
}
