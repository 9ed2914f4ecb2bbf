//! Links without an election above them, on an air that a test listens to and interferes with.

use std::collections::BTreeMap;

use common::config::{Boot, Config, NetworkKey, Protection};
use common::link::{Above, LinkEvent, Links};
use common::mac::phy::FRAME_MAX;
use common::mac::{Access, Sent};
use common::time::{Duration, Instant};
use common::types::NodeId;

/// A frame that is about to reach a board.
pub struct Passing<'f> {
    pub from: usize,
    pub bytes: &'f [u8],
}

/// Whether the bytes have the form of an acknowledgement that is sent at once.
pub fn is_ack(bytes: &[u8]) -> bool {
    bytes.len() == 8
}

pub fn is_hello(bytes: &[u8]) -> bool {
    bytes.len() > 10 && bytes[9] & 3 == 1
}

/// Links without an election: nobody leads.
pub struct NoElection;

impl Above for NoElection {
    fn leader(&self) -> NodeId {
        NodeId(0)
    }
}

/// Links whose election has given this leader.
pub struct Following(pub NodeId);

impl Above for Following {
    fn leader(&self) -> NodeId {
        self.0
    }
}

/// Boards, all in range of each other.
pub struct Net {
    pub now: Instant,
    pub links: Vec<Links>,
    /// What happened at each board, oldest first.
    pub events: Vec<Vec<LinkEvent>>,
    /// Frames that end at a time: who sent them, whether somebody waits for the end, and the bytes.
    air: BTreeMap<(Instant, u64), (usize, bool, Vec<u8>)>,
    order: u64,
    free_at: Instant,
}

pub fn config(id: u16) -> Config {
    Config::ad_hoc(NodeId(id), 7, Protection::Ascon(NetworkKey::new([5; 16])))
}

impl Net {
    /// Boards with the ids 1, 2, ...
    pub fn new(seed: u64, boards: u16) -> Self {
        let links = (1..=boards).map(|id| {
            let boot = Boot { epoch: Some(1), seed: seed << 16 | u64::from(id), device: id };
            let mut links = Links::new(&config(id), boot);
            links.start(Instant::ZERO);
            links
        });
        let links: Vec<_> = links.collect();
        let events = links.iter().map(|_| Vec::new()).collect();
        let (now, air) = (Instant::ZERO, BTreeMap::new());
        Self { now, links, events, air, order: 0, free_at: now }
    }

    /// Runs for a while; a frame reaches a board where `passes` says so.
    pub fn run(&mut self, length: Duration, mut passes: impl FnMut(&Passing<'_>) -> bool) {
        let until = self.now + length;
        while self.step(until, &mut passes) {}
    }

    /// Does the next thing that happens until then; whether there was one.
    pub fn step(&mut self, until: Instant, passes: &mut impl FnMut(&Passing<'_>) -> bool) -> bool {
        let wake = (0..self.links.len()).filter_map(|at| Some((self.links[at].poll_timeout()?, at))).min();
        let end = self.air.keys().next().copied();
        let next = wake.map(|(at, _)| at).into_iter().chain(end.map(|(at, _)| at)).min();
        let Some(at) = next.filter(|&at| at <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(at);
        if let Some(key) = end.filter(|&(due, _)| due <= at) {
            let (from, is_waited_for, bytes) = self.air.remove(&key).expect("it was there");
            for to in (0..self.links.len()).filter(|&to| to != from) {
                if passes(&Passing { from, bytes: &bytes }) {
                    self.links[to].receive(self.now, &mut bytes.clone()[..], -60, &mut NoElection);
                    self.settle(to);
                }
            }
            if is_waited_for {
                self.links[from].sent(self.now, Sent::Done);
                self.settle(from);
            }
        } else if let Some((_, board)) = wake {
            self.links[board].timeout(self.now);
            self.settle(board);
        }
        true
    }

    /// Hands a message over to some neighbours.
    pub fn send(&mut self, board: usize, to: impl Fn(NodeId) -> bool, message: &[u8], is_latest_value: bool) {
        self.links[board].send(self.now, &to, message, is_latest_value).expect("a short message");
        self.settle(board);
    }

    /// Collects what a board wants.
    pub fn settle(&mut self, board: usize) {
        let mut buf = [0; FRAME_MAX];
        loop {
            let links = &mut self.links[board];
            let answer = links.poll_answer(&mut buf);
            let Some(transmit) = answer.or_else(|| links.poll_transmit(self.now, &mut buf, &mut NoElection)) else {
                break;
            };
            let bytes = buf[..transmit.length].to_vec();
            let airtime = Duration::from_micros((8 + bytes.len() as u64) * 32);
            let (begin, is_waited_for) = match transmit.access {
                Access::At(at) => (at, false),
                Access::Csma => (self.now.max(self.free_at) + Duration::from_micros(640), true),
            };
            self.free_at = self.free_at.max(begin + airtime);
            self.order += 1;
            self.air.insert((begin + airtime, self.order), (board, is_waited_for, bytes));
        }
        while let Some(event) = self.links[board].poll_event() {
            self.events[board].push(event);
        }
    }

    /// The messages that a board got, oldest first.
    pub fn messages(&self, board: usize) -> Vec<&[u8]> {
        let messages = self.events[board].iter().filter_map(|event| match event {
            LinkEvent::Message(_, bytes) => Some(bytes.as_slice()),
            LinkEvent::Up(_) | LinkEvent::Down(..) => None,
        });
        messages.collect()
    }

    /// Whether the link between two boards is up at both ends.
    pub fn is_linked(&self, a: usize, b: usize) -> bool {
        let [id_a, id_b] = [a, b].map(|board| self.links[board].id());
        self.links[a].table().is_linked(id_b) && self.links[b].table().is_linked(id_a)
    }
}
