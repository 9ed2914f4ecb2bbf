//! An ideal network for ring mode: links that are reliable and in order while up, whose ends learn of ups and downs at
//! different moments, and that lose what is under way when they break; hellos, of which each neighbour misses one in
//! five. Everything follows from one seed.

use std::collections::BTreeMap;

use common::coefficient::Coefficient;
use common::config::Timings;
use common::election::height::HeightOptions;
use common::election::hierarchy::Radii;
use common::election::hs::HsRules;
use common::election::{Algorithm, Election, ElectionConfig, Timing};
use common::engine::Engine;
use common::limits::{MESSAGE_MAX, PARCEL_MAX};
use common::members::RingOrder;
use common::notice::{Event, Notice};
use common::protocol::{Protocol, Signal};
use common::ring::{RingKeeper, RingOutput, SendError};
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::{NodeId, RingPlace};

/// The longest time a message takes over one link, in microseconds.
const DELAY_MAX: u32 = 8_000;

/// Hellos are this long apart where nothing is in a hurry, in microseconds, and at most this much later.
const HELLO_MIN: u32 = 500_000;
const HELLO_SPREAD: u32 = 1_000_000;

/// A hello in a hurry comes within this time, in microseconds.
const HURRY_MAX: u32 = 200_000;

/// Bytes that a hello has for the ring.
const HELLO_ROOM: usize = 40;

/// The longest time until an end of a broken link knows that it is broken, in microseconds.
const DETECT_MAX: u32 = 600_000;

/// What happens to the network from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Break(usize, usize),
    Mend(usize, usize),
    Crash(usize),
    Return(usize),
}

#[derive(Clone, Debug)]
enum Happening {
    Outside(Change),
    Up {
        at: usize,
        peer: usize,
        session: u32,
    },
    Down {
        at: usize,
        peer: usize,
        session: u32,
    },
    Message {
        from: usize,
        to: usize,
        session: u32,
        bytes: Vec<u8>,
    },
    Wake {
        at: usize,
        life: u32,
    },
    /// A node says hello.
    Say {
        at: usize,
        life: u32,
    },
    Hello {
        from: usize,
        to: usize,
        session: u32,
        bytes: Vec<u8>,
    },
}

/// One node: ring mode and the election on it, driven as the whole node drives them.
pub struct Node {
    pub keeper: RingKeeper,
    pub engine: Engine<Election, 128>,
    wake: Option<Instant>,
    /// When it says hello next.
    says: Instant,
}

/// A link as nature has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    pub session: u32,
    pub is_whole: bool,
}

/// The network.
pub struct World {
    pub algorithm: Algorithm,
    pub order: RingOrder,
    pub coefficients: Vec<Coefficient>,
    /// Boxed, because a node is large and is taken out for every event.
    pub nodes: Vec<Option<Box<Node>>>,
    lives: Vec<u32>,
    pub edges: BTreeMap<(usize, usize), Link>,
    /// The session in which an end holds a link to be up, by (this end, other end).
    ends: BTreeMap<(usize, usize), u32>,
    last_arrival: BTreeMap<(usize, usize), u64>,
    agenda: BTreeMap<(Instant, u64), Happening>,
    entered: u64,
    sessions: u32,
    pub now: Instant,
    rng: Rng,
    /// Whether nodes are at times without room to send.
    pub is_cramped: bool,
    pub last_started: Instant,
    pub envelopes: u64,
    pub messages: u64,
}

/// What a world is made from.
pub struct Plan {
    pub algorithm: Algorithm,
    pub ids: Vec<NodeId>,
    /// The ring order, as indices into `ids`.
    pub order: Vec<usize>,
    pub edges: Vec<(usize, usize)>,
    pub seed: u64,
    /// Whether nodes are at times without room to send.
    pub is_cramped: bool,
}

pub fn pair(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

impl World {
    pub fn new(plan: &Plan) -> Self {
        let mut rng = Rng::stream(plan.seed, 7);
        let order: Vec<NodeId> = plan.order.iter().map(|&index| plan.ids[index]).collect();
        let mut world = Self {
            algorithm: plan.algorithm,
            order: RingOrder::new(&order).expect("a ring"),
            coefficients: plan.ids.iter().map(|_| Coefficient(u16::try_from(rng.below(5)).unwrap())).collect(),
            nodes: plan.ids.iter().map(|_| None).collect(),
            lives: vec![0; plan.ids.len()],
            edges: plan.edges.iter().map(|&(a, b)| (pair(a, b), Link::default())).collect(),
            ends: BTreeMap::new(),
            last_arrival: BTreeMap::new(),
            agenda: BTreeMap::new(),
            entered: 0,
            sessions: 0,
            now: Instant::ZERO,
            rng,
            is_cramped: plan.is_cramped,
            last_started: Instant::ZERO,
            envelopes: 0,
            messages: 0,
        };
        for (index, &id) in plan.ids.iter().enumerate() {
            world.boot(index, id);
        }
        for &(a, b) in &plan.edges {
            world.mend(a, b);
        }
        world
    }

    fn boot(&mut self, index: usize, id: NodeId) {
        let coefficient = self.coefficients[index];
        self.lives[index] += 1;
        let config = ElectionConfig {
            algorithm: self.algorithm,
            order: self.order.clone(),
            place: RingPlace { left: id, right: id },
            coefficient,
            hs: HsRules::Known,
            height: HeightOptions::default(),
            radii: Radii::default(),
            timing: Timing {
                // Timer-based waits for the longest time of a hop, which may lead over the whole line.
                hop: Duration::from_millis(if self.algorithm == Algorithm::TimerBased { 300 } else { 1 }),
                answer: Duration::from_millis(1_000),
                patience: Duration::from_millis(4_000),
            },
        };
        let seed = self.rng.next_u64();
        let mut keeper = RingKeeper::new(id, self.order.clone(), Timings::ALWAYS_ON).expect("a member");
        keeper.set_epoch(u16::try_from(self.lives[index]).unwrap_or(u16::MAX));
        let engine = Engine::new(id, seed, Election::new(id, config));
        let mut node = Node { keeper, engine, wake: None, says: Instant::NEVER };
        node.keeper.start(self.now);
        node.engine.handle_start(self.now);
        self.nodes[index] = Some(Box::new(node));
        let first = self.later(HELLO_MIN);
        self.appoint(index, first);
        self.pump(index);
    }

    pub fn id(&self, index: usize) -> Option<NodeId> {
        self.nodes[index].as_ref().map(|node| node.engine.id())
    }

    fn enter(&mut self, at: Instant, happening: Happening) {
        self.entered += 1;
        self.agenda.insert((at, self.entered), happening);
    }

    /// Puts a change of the network on the agenda.
    pub fn plan(&mut self, at: Instant, change: Change) {
        self.enter(at, Happening::Outside(change));
    }

    fn later(&mut self, at_most: u32) -> Instant {
        self.now + Duration::from_micros(u64::from(self.rng.below(at_most)))
    }

    fn mend(&mut self, a: usize, b: usize) {
        if self.nodes[a].is_none() || self.nodes[b].is_none() {
            return;
        }
        self.sessions += 1;
        let session = self.sessions;
        let link = self.edges.get_mut(&pair(a, b)).expect("an edge of the graph");
        if link.is_whole {
            return;
        }
        *link = Link { session, is_whole: true };
        for (at, peer) in [(a, b), (b, a)] {
            let when = self.later(50_000);
            self.enter(when, Happening::Up { at, peer, session });
        }
    }

    fn sever(&mut self, a: usize, b: usize) {
        let link = self.edges.get_mut(&pair(a, b)).expect("an edge of the graph");
        if !core::mem::replace(&mut link.is_whole, false) {
            return;
        }
        let session = link.session;
        for (at, peer) in [(a, b), (b, a)] {
            let when = self.later(DETECT_MAX);
            self.enter(when, Happening::Down { at, peer, session });
        }
    }

    pub fn around(&self, index: usize) -> Vec<usize> {
        let other = |&(a, b): &(usize, usize)| if a == index { Some(b) } else { (b == index).then_some(a) };
        self.edges.keys().filter_map(other).collect()
    }

    fn change(&mut self, change: Change, ids: &[NodeId]) {
        match change {
            Change::Break(a, b) => self.sever(a, b),
            Change::Mend(a, b) => self.mend(a, b),
            Change::Crash(index) => {
                for peer in self.around(index) {
                    self.sever(index, peer);
                    self.ends.remove(&(index, peer));
                }
                self.nodes[index] = None;
            }
            Change::Return(index) if self.nodes[index].is_none() => {
                self.boot(index, ids[index]);
                for peer in self.around(index) {
                    self.mend(index, peer);
                }
            }
            Change::Return(_) => {}
        }
    }

    /// Runs until a time.
    pub fn run(&mut self, until: Instant, ids: &[NodeId]) {
        while self.step(until, ids) {}
        self.now = until;
    }

    /// Lets one more thing happen before a time; false if there is none.
    pub fn step(&mut self, until: Instant, ids: &[NodeId]) -> bool {
        let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= until) else { return false };
        let ((at, _), happening) = entry.remove_entry();
        self.now = at;
        match happening {
            Happening::Outside(change) => self.change(change, ids),
            Happening::Up { at, peer, session } => self.come_up(at, peer, session),
            Happening::Down { at, peer, session } => {
                if self.ends.get(&(at, peer)) == Some(&session) {
                    self.ends.remove(&(at, peer));
                    self.with(at, |node, now| node.keeper.link_down(now, ids[peer]));
                }
            }
            Happening::Message { from, to, session, bytes } => self.arrive(from, to, session, &bytes, ids),
            Happening::Wake { at, life } if self.lives[at] == life => {
                self.with(at, |node, now| {
                    node.keeper.timeout(now);
                    if !node.engine.has_words() {
                        node.engine.handle_timeout(now);
                    }
                });
            }
            Happening::Say { at, life } if self.lives[at] == life => self.say(at),
            Happening::Hello { from, to, session, bytes } => {
                let is_linked = self.ends.get(&(to, from)) == Some(&session);
                if is_linked && self.edges[&pair(from, to)].is_whole {
                    self.with(to, |node, now| node.keeper.receive_hello(now, ids[from], &bytes));
                }
            }
            Happening::Wake { .. } | Happening::Say { .. } => {}
        }
        true
    }

    /// One end takes a link up, unless that interval is over or has begun.
    fn come_up(&mut self, at: usize, peer: usize, session: u32) {
        let link = self.edges[&pair(at, peer)];
        let known = self.ends.get(&(at, peer)).copied().unwrap_or(0);
        if !link.is_whole || link.session != session || known == session || self.nodes[at].is_none() {
            return;
        }
        self.ends.insert((at, peer), session);
        let peer_id = self.id_of(peer);
        self.with(at, |node, now| node.keeper.link_up(now, peer_id));
    }

    fn id_of(&self, index: usize) -> NodeId {
        self.id(index).expect("both ends of a whole link are there")
    }

    fn arrive(&mut self, from: usize, to: usize, session: u32, bytes: &[u8], ids: &[NodeId]) {
        let link = self.edges[&pair(from, to)];
        if !link.is_whole || link.session != session {
            return;
        }
        self.come_up(to, from, session);
        if self.ends.get(&(to, from)) == Some(&session) {
            self.messages += 1;
            self.with(to, |node, now| node.keeper.receive(now, ids[from], bytes));
        }
    }

    fn with(&mut self, index: usize, call: impl FnOnce(&mut Node, Instant)) {
        let now = self.now;
        if let Some(node) = &mut self.nodes[index] {
            call(node, now);
            self.pump(index);
        }
    }

    fn transmit(&mut self, from: usize, to: usize, bytes: &[u8]) {
        assert!(bytes.len() <= PARCEL_MAX);
        let Some(&session) = self.ends.get(&(from, to)) else { return };
        let arrival = self.later(DELAY_MAX).as_micros() + 300;
        let last = self.last_arrival.entry((from, to)).or_default();
        *last = arrival.max(*last + 1);
        let at = Instant::from_micros(*last);
        self.enter(at, Happening::Message { from, to, session, bytes: bytes.to_vec() });
    }

    /// A node says hello, where this is not an appointment that an earlier one has replaced.
    fn say(&mut self, index: usize) {
        let (now, room) = (self.now, &mut [0; HELLO_ROOM]);
        let Some(node) = self.nodes[index].as_mut().filter(|node| node.says == now) else { return };
        let length = node.keeper.tell(now, room);
        let linked: Vec<(usize, u32)> =
            self.ends.range((index, 0)..(index + 1, 0)).map(|(&(_, peer), &session)| (peer, session)).collect();
        for (to, session) in linked {
            let when = self.later(DELAY_MAX);
            if self.rng.below(5) > 0 {
                let bytes = room[..length].to_vec();
                self.enter(when, Happening::Hello { from: index, to, session, bytes });
            }
        }
        let when = Instant::from_micros(self.later(HELLO_SPREAD).as_micros() + u64::from(HELLO_MIN));
        self.appoint(index, when);
        self.pump(index);
    }

    fn appoint(&mut self, index: usize, when: Instant) {
        if let Some(node) = &mut self.nodes[index] {
            node.says = when;
            self.enter(when, Happening::Say { at: index, life: self.lives[index] });
        }
    }

    fn pump(&mut self, index: usize) {
        let now = self.now;
        let Some(mut node) = self.nodes[index].take() else { return };
        let mut sends = Vec::new();
        node.keeper.set_room(!self.is_cramped || self.rng.below(3) == 0);
        loop {
            let mut is_idle = true;
            node.keeper.set_leader(now, node.engine.protocol().leader());
            node.keeper.set_outcome(node.engine.protocol().outcome());
            sends.extend(core::iter::from_fn(|| node.keeper.poll_transmit()));
            while !node.engine.has_words()
                && let Some(output) = node.keeper.poll_output(now)
            {
                is_idle = false;
                match output {
                    RingOutput::MemberUp(id) => node.engine.handle_link_up(now, id).expect("room for all"),
                    RingOutput::MemberDown(id) => node.engine.handle_link_down(now, id),
                    RingOutput::Place(place) => node.engine.handle_signal(now, Signal::Ring(place)),
                    RingOutput::Deliver(from, bytes) => node.engine.handle_message(now, from, &bytes),
                    RingOutput::LeaderSilent(_) | RingOutput::Disputed(_) => {
                        node.engine.handle_signal(now, Signal::LeaderLost);
                    }
                    RingOutput::Outcome(outcome) => node.engine.handle_signal(now, Signal::Outcome(outcome)),
                    RingOutput::Disturbed => node.engine.handle_signal(now, Signal::Disturbed),
                }
            }
            let mut buf = [0; MESSAGE_MAX];
            if node.keeper.can_send()
                && let Some(transmit) = node.engine.poll_transmit(&mut buf)
            {
                is_idle = false;
                self.envelopes += 1;
                let sent = node.keeper.send(now, transmit.to, transmit.bytes, node.engine.protocol().goes_round());
                assert!(matches!(sent, Ok(()) | Err(SendError::NoRoute)), "{sent:?}");
            }
            while let Some(notice) = node.engine.poll_notice() {
                match notice {
                    Notice::Event(Event::Started) => self.last_started = now,
                    Notice::Fault(_) | Notice::LinkEnded(..) | Notice::PeerRefused(_) | Notice::BadMessage(_) => {
                        panic!("{notice:?} at {now:?} on node {}", node.engine.id());
                    }
                    _ => {}
                }
            }
            if is_idle {
                break;
            }
        }
        // Without room, the links say when there is some.
        let retry = self.is_cramped.then(|| now + Duration::from_millis(20));
        let election = node.engine.poll_timeout().filter(|_| !node.engine.has_words());
        let wake = [node.keeper.poll_timeout(), election, retry].into_iter().flatten().min();
        let changed = wake.filter(|_| wake != node.wake);
        node.wake = wake;
        self.nodes[index] = Some(node);
        for (to, bytes) in sends {
            let mut peers = self.ends.range((index, 0)..(index + 1, 0)).map(|(&(_, peer), _)| peer);
            if let Some(peer) = peers.rfind(|&peer| self.id(peer) == Some(to)) {
                self.transmit(index, peer, &bytes);
            }
        }
        let is_hurried = self.nodes[index].as_mut().is_some_and(|node| node.keeper.take_hurry());
        let soon = self.later(HURRY_MAX);
        if is_hurried && self.nodes[index].as_ref().is_some_and(|node| node.says > soon) {
            self.appoint(index, soon);
        }
        if let Some(at) = changed {
            self.enter(at.max(self.now), Happening::Wake { at: index, life: self.lives[index] });
        }
    }
}
