//! The frames of a lying member, down to the bytes behind the header.
//!
//! Fields that are not lied about come from the liar's own state, so that a frame is wrong in some of its fields and right in
//! the others.

use common::config::{BROADCAST, Config};
use common::limits::PARCEL_MAX;
use common::link::body::{AckEntry, Entry, Hello, Name, Rel};
use common::link::frame::Kind;
use common::link::neighbour::Neighbour;
use common::mac::phy::FRAME_MAX;
use common::node::Node;
use common::rng::Rng;
use common::types::NodeId;

use super::{Said, any as number, anybody, byte, election, half, is_so, small};

/// What the first byte of a message says: whom it is for above the links.
const FOR_ELECTION: u8 = 0;
const FOR_RING: u8 = 1;
const FOR_ORDERS: u8 = 2;

/// A message of the ring with an election message in it.
const ENVELOPE: u8 = 3;

/// Members that a lying hello tells of.
const TOLD_MAX: u32 = 8;

/// Any frame of this member, one of `nodes`.
pub fn any(rng: &mut Rng, liar: &Node, config: &Config, nodes: usize) -> Said {
    let linked: Vec<&Neighbour> = liar.links().table().linked().map(|(_, known)| known).collect();
    let kind = if linked.is_empty() { 8 + rng.below(3) } else { rng.below(12) };
    match kind {
        0..=4 => {
            let message = election_message(rng, liar, config, nodes);
            rel(rng, &linked, message, "the election")
        }
        5 => {
            let message = order(rng, nodes);
            rel(rng, &linked, message, "an order")
        }
        6 => session(rng, &linked),
        7 => data(rng, &linked, nodes),
        8 | 9 => hello(rng, liar, config, nodes),
        _ => {
            let length = rng.below(u32::try_from(FRAME_MAX).unwrap_or(0));
            let body = (0..length).map(|_| byte(rng)).collect();
            let to = linked.first().filter(|_| is_so(rng)).map_or(BROADCAST, |known| known.id);
            let kind = [Kind::Hello, Kind::Rel, Kind::Data][rng.below(3) as usize];
            Said { to, kind, body, about: "nothing that makes sense" }
        }
    }
}

fn one<'n>(rng: &mut Rng, linked: &[&'n Neighbour]) -> Option<&'n Neighbour> {
    linked.get(rng.below(u32::try_from(linked.len()).unwrap_or(u32::MAX)) as usize).copied()
}

fn election_message(rng: &mut Rng, liar: &Node, config: &Config, nodes: usize) -> Vec<u8> {
    let said = election::message(rng, liar, config.algorithm, nodes);
    if !config.algorithm.needs_ring() {
        return [&[FOR_ELECTION][..], &said].concat();
    }
    let mut position =
        || if rng.below(4) == 0 { small(rng) } else { byte(rng) % u8::try_from(nodes).unwrap_or(u8::MAX) };
    let (to, from) = (position(), position());
    // Every fourth envelope is one that nobody would make.
    let (way, number) = if rng.below(4) == 0 { (byte(rng), byte(rng)) } else { (5, small(rng)) };
    [&[FOR_RING, ENVELOPE, to, from, way, number][..], &said].concat()
}

/// A message over the link to one neighbour, or to all of them.
fn rel(rng: &mut Rng, linked: &[&Neighbour], message: Vec<u8>, about: &'static str) -> Said {
    let is_for_all = rng.below(3) == 0;
    let to = one(rng, linked).filter(|_| !is_for_all);
    let mut rel = Rel { answer: is_so(rng), ..Rel::default() };
    for known in linked.iter().filter(|known| to.is_none_or(|to| to.id == known.id)) {
        let _ = rel.entries.push(honest(known));
    }
    // Longer ones than fit are cut.
    let parcel = message.into_iter().take(PARCEL_MAX).collect();
    let _ = rel.messages.push(parcel);
    said(&rel, to.map_or(BROADCAST, |to| to.id), about)
}

fn honest(known: &Neighbour) -> Entry {
    let session = &known.session;
    Entry { id: known.id, echo: session.echo(), number: session.oldest(), ack: session.expected() }
}

fn said(rel: &Rel, to: NodeId, about: &'static str) -> Said {
    let mut buf = [0; FRAME_MAX];
    let length = rel.write(to == BROADCAST, &mut buf).unwrap_or(0);
    Said { to, kind: Kind::Rel, body: buf[..length].to_vec(), about }
}

/// Numbers, echoes and challenges that fit nothing.
fn session(rng: &mut Rng, linked: &[&Neighbour]) -> Said {
    let to = one(rng, linked).filter(|_| is_so(rng));
    let mut rel = Rel { answer: is_so(rng), challenge: is_so(rng).then(|| rng.next_u32()), ..Rel::default() };
    for known in linked.iter().filter(|known| to.is_none_or(|to| to.id == known.id)) {
        let mut entry = honest(known);
        match rng.below(4) {
            0 => entry.echo = half(rng, entry.echo),
            1 => entry.number = byte(rng),
            2 => entry.ack = byte(rng),
            _ => (entry.number, entry.ack) = (byte(rng), byte(rng)),
        }
        if is_so(rng) {
            let _ = rel.entries.push(entry);
        } else {
            let _ = rel.acks.push(AckEntry { id: entry.id, echo: entry.echo, ack: entry.ack });
        }
    }
    if to.is_some() {
        // One entry or one acknowledgement is all that such a frame may have.
        rel.acks.truncate(1 - rel.entries.len().min(1));
    }
    said(&rel, to.map_or(BROADCAST, |to| to.id), "a session")
}

/// A hello: names that were never heard, intervals that no node has, leaders that are none.
fn hello(rng: &mut Rng, liar: &Node, config: &Config, nodes: usize) -> Said {
    let mut hello = Hello {
        number: byte(rng),
        interval_log2: [0, 7, 10, 13, 20][rng.below(5) as usize],
        is_full: rng.below(4) == 0,
        leader: if is_so(rng) { anybody(rng, nodes) } else { liar.leader().unwrap_or_default() },
        links: small(rng),
        digest: small(rng),
        age: [0, 1, 128, 254, 255][rng.below(5) as usize],
        ..Hello::default()
    };
    for (_, known) in liar.links().table().iter() {
        let session = &known.session;
        let (token, echo) = (session.mine().token, session.echo());
        let mut name = Name { id: known.id, token, willing: true, heard: 7, echo };
        match rng.below(8) {
            0 => name.token = half(rng, token) & 0x0FFF,
            1 => name.echo = half(rng, echo),
            2 => name.willing = false,
            3 => name.heard = byte(rng) & 7,
            4 => name.id = anybody(rng, nodes),
            5 => (name.token, name.echo) = (0, 0),
            _ => {}
        }
        let _ = hello.names.push(name);
    }
    let mut buf = [0; FRAME_MAX];
    let length = hello.write(&mut buf).unwrap_or(0);
    let mut body = buf[..length].to_vec();
    if config.algorithm.needs_ring() {
        body.push(if rng.below(4) == 0 { 255 } else { small(rng) });
        body.extend(half(rng, 1).to_le_bytes());
        for _ in 0..rng.below(TOLD_MAX + 1) {
            let (position, epoch) = (small(rng), if is_so(rng) { 1 } else { byte(rng) });
            let near = u16::from(byte(rng));
            let count = half(rng, near);
            let hops = [0, 1, 2, 63, 253, 254, 255, byte(rng)][rng.below(8) as usize];
            body.extend([position, epoch]);
            body.extend(count.to_le_bytes());
            body.push(hops);
        }
    }
    Said { to: BROADCAST, kind: Kind::Hello, body, about: "a hello" }
}

/// A message of the orders: mandates at the end of their numbers, orders that nobody gave.
fn order(rng: &mut Rng, nodes: usize) -> Vec<u8> {
    let mut bytes = vec![FOR_ORDERS];
    let kind = u8::try_from(1 + rng.below(6)).unwrap_or(1);
    bytes.push(kind);
    match kind {
        1 => {
            mandate(rng, nodes, &mut bytes);
            bytes.extend(half(rng, 1).to_le_bytes());
            bytes.extend(rng.next_u32().to_le_bytes());
        }
        2 => {
            mandate(rng, nodes, &mut bytes);
            let (after, count) = (half(rng, 0), u16::try_from(1 + rng.below(2)).unwrap_or(1));
            let upto = if rng.below(4) == 0 { u16::MAX } else { after.saturating_add(count) };
            bytes.extend(after.to_le_bytes());
            bytes.extend(upto.to_le_bytes());
            (1..=count).for_each(|behind| entry(rng, nodes, after.saturating_add(behind), &mut bytes));
        }
        3 => {
            mandate(rng, nodes, &mut bytes);
            let index = half(rng, 1);
            entry(rng, nodes, index, &mut bytes);
        }
        4 => {
            bytes.extend([small(rng), byte(rng) & 1, small(rng)]);
            key(rng, nodes, &mut bytes);
            command(rng, &mut bytes);
        }
        5 => {
            bytes.push(small(rng));
            key(rng, nodes, &mut bytes);
            bytes.push(byte(rng) & 3);
            bytes.extend(anybody(rng, nodes).0.to_le_bytes());
            bytes.extend(half(rng, 1).to_le_bytes());
            bytes.extend([byte(rng), byte(rng)]);
        }
        _ => {
            bytes.extend(number(rng, 1).to_le_bytes());
            for _ in 0..rng.below(5) {
                bytes.extend(anybody(rng, nodes).0.to_le_bytes());
                bytes.extend(half(rng, 1).to_le_bytes());
            }
        }
    }
    bytes
}

fn mandate(rng: &mut Rng, nodes: usize, bytes: &mut Vec<u8>) {
    bytes.extend(number(rng, 1).to_le_bytes());
    bytes.extend(anybody(rng, nodes).0.to_le_bytes());
    bytes.extend(half(rng, 1).to_le_bytes());
}

fn entry(rng: &mut Rng, nodes: usize, index: u16, bytes: &mut Vec<u8>) {
    bytes.extend(index.to_le_bytes());
    command(rng, bytes);
    key(rng, nodes, bytes);
}

fn command(rng: &mut Rng, bytes: &mut Vec<u8>) {
    bytes.push(byte(rng) % 19);
    // For an action: everybody, just now.
    let value = if is_so(rng) { 0 } else { number(rng, 1_000) };
    bytes.extend(value.to_le_bytes());
}

fn key(rng: &mut Rng, nodes: usize, bytes: &mut Vec<u8>) {
    bytes.extend(anybody(rng, nodes).0.to_le_bytes());
    bytes.push(byte(rng));
    bytes.extend(half(rng, 1).to_le_bytes());
    bytes.push(small(rng));
}

/// Readings that nobody took, gaps, and commits of what nobody has logged.
fn data(rng: &mut Rng, linked: &[&Neighbour], nodes: usize) -> Said {
    let kind = u8::try_from(1 + rng.below(5)).unwrap_or(1);
    let mut body = vec![kind | if kind == 3 { 0 } else { byte(rng) & 0xF0 }, small(rng)];
    let mut block = |rng: &mut Rng| {
        body.extend(anybody(rng, nodes).0.to_le_bytes());
        if kind == 3 {
            for _ in 0..=rng.below(3) {
                body.extend(anybody(rng, nodes).0.to_le_bytes());
                body.extend(half(rng, 1).to_le_bytes());
                body.extend(&number(rng, 3).to_le_bytes()[..3]);
                body.extend(half(rng, 1).to_le_bytes());
            }
        } else {
            body.extend(half(rng, 1).to_le_bytes());
            body.extend(&number(rng, 3).to_le_bytes()[..3]);
            let length = if kind == 2 { 3 } else { rng.below(90) };
            body.extend((0..length).map(|_| byte(rng)));
        }
    };
    block(rng);
    let to = one(rng, linked).map_or(BROADCAST, |known| known.id);
    Said { to, kind: Kind::Data, body, about: "readings" }
}
