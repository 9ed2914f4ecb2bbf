//! What a fuzzer does with bytes: throws them at a node as a frame, or reads them as a sequence of operations on one.
//!
//! Shared by the tests, which run it on seeded bytes for a bounded time, and by the targets in `fuzz/`, where a fuzzer looks
//! for bytes that do harm. Both stop by panicking.

use common::config::{BROADCAST, Boot, Config, IdSource, NetworkKey, Protection};
use common::election::Algorithm;
use common::link::body::RelBytes;
use common::link::frame::{Answered, HEADER_BYTES, Header, Kind, Status, tag_of};
use common::link::security::Keys;
use common::mac::phy::FRAME_MAX;
use common::mac::{Access, Sent};
use common::members::RingOrder;
use common::node::Node;
use common::notice::Notice;
use common::protocol::Signal;
use common::time::{Duration, Instant};
use common::types::NodeId;

pub mod formats;
pub mod mutate;
mod services;

pub use self::services::services;

const PAN: u16 = 7;

/// A node wakes at most this often without time passing: once for each of its timers, generously counted.
const WAKES_MAX: u32 = 64;

/// Frames that a node gives out between two inputs: an acknowledgement and one other.
const FRAMES_AT_ONCE: u32 = 2;

/// Members of a ring, of whom at most seventeen are heard.
const RING_SIZES: [u16; 4] = [3, 8, 17, 64];

const PEER: Peer = Peer { hellos: 0, token: 1, epoch: 1 };

fn protection() -> Protection {
    Protection::Ascon(NetworkKey::new([9; 16]))
}

/// What one of the node's neighbours has said so far.
#[derive(Clone, Copy)]
struct Peer {
    hellos: u8,
    token: u16,
    epoch: u16,
}

/// A node with its clock, and what it is owed.
struct Driven {
    node: Node,
    now: Instant,
    is_sending: bool,
    /// The last frame that asked neighbours for an answer, and whom it asked.
    asked: Option<(Answered, Vec<NodeId>)>,
    /// Members tell of the ring in their hellos, and wrap what elections say.
    is_on_ring: bool,
    epoch: u16,
    /// Whether its driver's flash takes what it is given.
    is_flash_good: bool,
    /// How often it got other neighbours on the ring.
    places: u32,
    /// Those with the ids from 2 to 17.
    peers: [Peer; 16],
}

/// Bytes read one after the other; zeros behind their end.
struct Script<'b>(&'b [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn half(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }
}

impl Driven {
    fn new(id_source: IdSource) -> Self {
        Self::of(&Config { id_source, ..Config::ad_hoc(NodeId(1), PAN, protection()) })
    }

    fn of(config: &Config) -> Self {
        let is_on_ring = config.algorithm.needs_ring();
        let node = Node::new(config, Boot { epoch: Some(1), seed: 5, device: 1 }).expect("a sound configuration");
        let mut driven = Self {
            node,
            now: Instant::ZERO,
            is_sending: false,
            asked: None,
            is_on_ring,
            epoch: 1,
            is_flash_good: true,
            places: 0,
            peers: [PEER; 16],
        };
        driven.node.handle_start(driven.now);
        driven.settle();
        driven
    }

    /// Collects everything the node wants and holds it against what it may want.
    fn settle(&mut self) {
        self.work();
        let (mut buf, mut frames) = ([0; FRAME_MAX], 0);
        while let Some(transmit) = self.node.poll_transmit(self.now, &mut buf) {
            frames += 1;
            assert!(frames <= FRAMES_AT_ONCE, "too many frames at once");
            assert!(transmit.length <= FRAME_MAX);
            if transmit.access == Access::Csma {
                assert!(!self.is_sending, "two frames at once");
                self.is_sending = true;
                let header = Header::read(&buf).expect("a whole frame");
                let Header { from: sender, device, epoch, counter, .. } = header;
                let answered =
                    Answered { sender, device, epoch, counter, tag: tag_of(&buf[..transmit.length]).expect("a tag") };
                let asked =
                    if header.kind == Kind::Rel { asked(header, &mut buf[..transmit.length]) } else { Vec::new() };
                self.asked = (!asked.is_empty()).then_some((answered, asked));
            }
        }
        let mut notices = 0;
        while let Some(notice) = self.node.poll_notice() {
            notices += 1;
            assert!(notices <= 64, "notices without end");
            assert!(!matches!(notice, Notice::Fault(_)), "{notice:?}");
            match notice {
                Notice::EpochNeeded => {
                    self.epoch += 1;
                    self.node.handle_epoch(self.now, self.epoch);
                }
                Notice::RingPlace(..) => self.places += 1,
                _ => {}
            }
        }
        assert!(self.node.snapshot().links_up <= 16);
    }

    /// Lets time pass, waking the node whenever it wants.
    fn pass(&mut self, length: Duration) {
        let until = self.now + length;
        let mut wakes = 0;
        while let Some(at) = self.node.poll_timeout().filter(|&at| at <= until) {
            wakes = if at > self.now { 0 } else { wakes + 1 };
            assert!(wakes < WAKES_MAX, "the node wants to be woken again and again at {:?}", self.now);
            self.now = self.now.max(at);
            self.node.handle_timeout(self.now);
            self.settle();
        }
        self.now = until;
    }

    /// Hears a frame of a member, with the right tag and this body.
    fn receive(&mut self, header: Header, body: &[u8], strength: i8) {
        let mut buf = [0; FRAME_MAX];
        let length = body.len().min(FRAME_MAX - HEADER_BYTES - 4);
        buf[HEADER_BYTES..HEADER_BYTES + length].copy_from_slice(&body[..length]);
        let length = header.seal(&Keys::new(&protection()), &mut buf, length).expect("it fits");
        self.node.handle_frame(self.now, &mut buf[..length], strength);
    }

    /// A hello that names the node and echoes what it knows, or something else: this is how links come up.
    fn receive_hello(&mut self, from: u16, counter: u32, script: &mut Script<'_>) {
        let known = self.node.links().table().iter().find(|(_, neighbour)| neighbour.id == NodeId(from));
        let echo = known.map_or(0, |(_, neighbour)| neighbour.session.mine().echo());
        let twist = script.byte();
        let echo = if twist & 31 == 7 { script.half() } else { echo };
        let peer = &mut self.peers[usize::from(from - 2)];
        peer.hellos = peer.hellos.wrapping_add(1 + u8::from(twist & 31 == 9));
        peer.token += u16::from(twist & 63 == 17);
        let token = peer.token;
        let mut body = vec![peer.hellos, 10, 1 << 3 | twist >> 5 & 1];
        body.extend(u16::from(twist >> 6).to_le_bytes());
        // It has one link, and has just heard from its leader.
        body.extend([1, 0]);
        body.extend(self.node.id().0.to_le_bytes());
        body.extend((token << 4 | 15).to_le_bytes());
        body.extend(echo.to_le_bytes());
        if self.is_on_ring {
            // Whom it follows and in which election, then the members it knows, itself first as in every hello.
            body.extend([script.byte() & 15, script.byte(), 0]);
            body.extend([u8::try_from(from - 1).unwrap_or(0), 1, peer.hellos, 0, 0]);
            for _ in 0..script.byte() & 7 {
                body.extend([script.byte() & 15, script.byte(), script.byte(), 0, script.byte()]);
            }
        }
        let header = self.header(from, Kind::Hello, counter, script);
        let device = from.wrapping_add(u16::from(twist == 255));
        self.receive(Header { to: BROADCAST, device, ..header }, &body, -60);
    }

    /// Messages over a link, numbered as the node expects them.
    fn receive_rel(&mut self, from: u16, counter: u32, script: &mut Script<'_>) {
        let known = self.node.links().table().iter().find(|(_, neighbour)| neighbour.id == NodeId(from));
        let Some(session) = known.map(|(_, neighbour)| neighbour.session.clone()) else { return };
        let twist = script.byte();
        let (messages, is_asking) = (twist & 3, twist & 0x80);
        let mut body = vec![is_asking | messages << 4 | 1, 0];
        body.extend(session.mine().echo().to_le_bytes());
        body.extend([session.expected().wrapping_add(twist >> 2 & 3), session.oldest().wrapping_add(twist >> 4 & 7)]);
        for _ in 0..messages {
            let length = script.byte() & 31;
            // What the message is for; on a ring also to whom, from whom, how far and with which number.
            let start = if self.is_on_ring {
                vec![1, 3, 0, u8::try_from(from - 1).unwrap_or(0), 5, counter.to_le_bytes()[0]]
            } else {
                vec![0]
            };
            body.push(u8::try_from(start.len()).unwrap_or(0) + length);
            body.extend(start);
            body.extend((0..length).map(|_| script.byte()));
        }
        let header = self.header(from, Kind::Rel, counter, script);
        self.receive(header, &body, -60);
    }

    /// Nodes that were asked usually answer.
    fn answer(&mut self, operation: u8) {
        let Some((answered, asked)) = self.asked.take() else { return };
        let status = match operation >> 5 {
            0..=4 => Status::Accepted,
            5 => Status::NoRoom,
            6 => Status::NoSession,
            _ => return,
        };
        for by in asked {
            let mut ack = answered.acknowledge(&Keys::new(&protection()), by, status);
            self.node.handle_frame(self.now, &mut ack[..], -60);
            self.settle();
        }
    }

    fn header(&mut self, from: u16, kind: Kind, counter: u32, script: &mut Script<'_>) -> Header {
        let peer = &mut self.peers[usize::from(from - 2)];
        peer.epoch += u16::from(script.byte() == 255);
        let epoch = peer.epoch;
        Header { pan: PAN, to: self.node.id(), from: NodeId(from), key_id: 0, kind, epoch, counter, device: from }
    }
}

/// Whom a frame with messages asks for an answer.
fn asked(header: Header, frame: &mut [u8]) -> Vec<NodeId> {
    let body = header.open(&Keys::new(&protection()), frame).expect("the node's own frame");
    let to = Some(header.to).filter(|&to| to != BROADCAST);
    let rel = RelBytes::read(body, to).expect("a whole frame");
    if to.is_some() || rel.answer { rel.entries().map(|entry| entry.id).collect() } else { Vec::new() }
}

/// Throws bytes at a node: as a frame without the key, which it must not accept, and as the body of a member's frame. Returns
/// how often a link came up.
pub fn frame_bytes(bytes: &[u8]) -> u32 {
    let mut driven = Driven::new(IdSource::Provisioned);
    driven.pass(Duration::from_millis(300));
    driven.node.handle_frame(driven.now, &mut bytes.to_vec()[..], -60);
    driven.settle();
    assert_eq!(driven.node.snapshot().counters.accepted, 0, "no member sent this");
    // The same bytes as the body of a member's frame: they may mean anything, and must do no harm.
    let kind = if bytes.first().is_some_and(|byte| byte & 1 == 1) { Kind::Hello } else { Kind::Rel };
    let to = if bytes.len().is_multiple_of(2) { BROADCAST } else { NodeId(1) };
    let header = Header { pan: PAN, to, from: NodeId(2), key_id: 0, kind, epoch: 1, counter: 1, device: 2 };
    driven.receive(header, bytes, -60);
    driven.settle();
    driven.pass(Duration::from_millis(5_000));
    driven.node.snapshot().counters.links_up
}

/// Reads bytes as a sequence of operations on a node, and does them; how often a link came up.
pub fn operations(bytes: &[u8]) -> u32 {
    let mut script = Script(bytes);
    let id_source = if script.byte() & 1 == 1 { IdSource::Chip } else { IdSource::Provisioned };
    operate(Driven::new(id_source), script, |_, _, _, _| false).node.snapshot().counters.links_up
}

/// As [`operations`], with an algorithm that the first byte chooses, on a ring of eight where it needs one. Those that speak are
/// members, and say what they like.
pub fn algorithms(bytes: &[u8]) -> u32 {
    let mut script = Script(bytes);
    let config = config(&mut script);
    operate(Driven::of(&config), script, |_, _, _, _| false).node.snapshot().counters.links_up
}

/// As [`algorithms`], on rings only, whose size the second byte chooses; how often the node got other neighbours on its ring.
pub fn rings(bytes: &[u8]) -> u32 {
    let mut script = Script(bytes);
    let algorithms = Algorithm::ALL.into_iter().filter(|algorithm| algorithm.needs_ring());
    let algorithm = algorithms.cycle().nth(script.byte().into()).expect("some need a ring");
    let size = RING_SIZES[usize::from(script.byte()) % RING_SIZES.len()];
    operate(Driven::of(&on_ring(algorithm, size)), script, |_, _, _, _| false).places
}

/// What the first byte chooses.
fn config(script: &mut Script<'_>) -> Config {
    let algorithm = Algorithm::ALL[usize::from(script.byte()) % Algorithm::ALL.len()];
    if algorithm.needs_ring() {
        on_ring(algorithm, 8)
    } else {
        Config { algorithm, radii: [2, 0, 0], ..Config::ad_hoc(NodeId(1), PAN, protection()) }
    }
}

fn on_ring(algorithm: Algorithm, size: u16) -> Config {
    let members: Vec<NodeId> = (1..=size).map(NodeId).collect();
    let order = RingOrder::new(&members).expect("different nodes");
    Config::on_ring(NodeId(1), PAN, protection(), algorithm, order)
}

/// Does every operation of a script; `special` may take one for itself. The node as it is afterwards.
fn operate(
    mut driven: Driven,
    mut script: Script<'_>,
    special: fn(&mut Driven, u8, u32, &mut Script<'_>) -> bool,
) -> Driven {
    let mut counter = 0;
    while !script.0.is_empty() {
        counter += 1;
        let operation = script.byte();
        let from = 2 + u16::from(operation >> 4);
        match operation & 15 {
            _ if special(&mut driven, operation, counter, &mut script) => {}
            0..=4 => driven.receive_hello(from, counter, &mut script),
            5..=7 => driven.receive_rel(from, counter, &mut script),
            8 => {
                let (length, kind) = (usize::from(script.byte()) % 108, Kind::Rel);
                let body: Vec<_> = (0..length).map(|_| script.byte()).collect();
                let kind = if length.is_multiple_of(3) { Kind::Hello } else { kind };
                let header = driven.header(from, kind, counter, &mut script);
                driven.receive(
                    Header { to: if length.is_multiple_of(2) { BROADCAST } else { header.to }, ..header },
                    &body,
                    -90,
                );
            }
            9 => {
                let ack = [2, 0, script.byte(), script.byte(), 1, 2, 3, 4];
                driven.node.handle_frame(driven.now, &mut { ack }[..], -60);
            }
            // Told whether or not anything was sent; where something was, the neighbour may answer at once.
            10 | 11 => {
                driven.is_sending = false;
                let sent = if operation & 16 == 0 { Sent::Done } else { Sent::ChannelBusy };
                driven.node.handle_sent(driven.now, sent);
                driven.answer(operation);
            }
            12 => driven.node.handle_timeout(driven.now),
            13 => {
                let signals = [Signal::LeaderLost, Signal::LeaderHeard, Signal::Elect, Signal::Resend];
                driven.node.handle_signal(driven.now, signals[usize::from(operation >> 4 & 3)]);
            }
            14 if operation >> 4 == 15 => {
                driven.epoch += 1;
                driven.node.handle_epoch(driven.now, driven.epoch);
            }
            _ => driven.pass(Duration::from_micros(u64::from(script.byte()) << (operation >> 5) << 3)),
        }
        driven.settle();
    }
    driven.is_sending = false;
    driven.node.handle_sent(driven.now, Sent::Done);
    driven.settle();
    driven.pass(Duration::from_millis(200_000));
    driven
}
