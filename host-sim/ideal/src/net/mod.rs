//! The ideal network: FIFO channels, each direction up or down on its own, no losses while up.
//!
//! It drives the same [`Engine`] that a board runs. There are three ways to decide what happens next: one chosen channel
//! at a time ([`Net::deliver`]), a seeded random channel ([`Net::deliver_random`]), or time in rounds
//! ([`Net::run_rounds`]), where a message takes one round (or a random number of them) and timers fire.

mod counts;
mod schedule;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

use common::engine::Engine;
use common::notice::{Event, Notice};
use common::protocol::{Message, Protocol, Signal};
use common::time::{Duration, Instant};
use common::types::NodeId;

use crate::index::{Direction, Edge, NodeIndex};

pub use counts::{Counts, MessageKind};
pub use schedule::{Delay, Overrun, Queueing};

/// The time a message takes in a synchronous network.
pub const ROUND: Duration = Duration::from_millis(1);

/// One FIFO channel. The order of the fields is the order in which a round delivers: by receiver, the right-moving lane
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    pub to: NodeIndex,
    /// See [`Message::lane`].
    pub lane: u8,
    pub from: NodeIndex,
}

impl Channel {
    pub const fn direction(self) -> Direction {
        Direction { from: self.from, to: self.to }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct InFlight<M> {
    msg: M,
    due: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot<P: Protocol, const PEERS: usize> {
    engine: Engine<P, PEERS>,
    alive: bool,
}

/// What one step made a node do.
#[derive(Clone, Debug)]
pub struct Step<M> {
    /// Messages put on up channels, with their receivers.
    pub sends: Vec<(NodeId, M)>,
    /// What the algorithm reported.
    pub events: Vec<Event>,
}

impl<M> Default for Step<M> {
    fn default() -> Self {
        Self { sends: Vec::new(), events: Vec::new() }
    }
}

/// A network of nodes that run the same protocol.
#[derive(Clone, Debug)]
pub struct Net<P: Protocol, const PEERS: usize = 128> {
    nodes: Vec<Slot<P, PEERS>>,
    index: BTreeMap<NodeId, NodeIndex>,
    /// Only channels that hold something.
    queues: BTreeMap<Channel, VecDeque<InFlight<P::Msg>>>,
    up: BTreeSet<Direction>,
    /// Up at the sender, but the receiver has crashed: everything is lost until the sender detects that.
    broken: BTreeSet<Direction>,
    now: Instant,
    delay: Delay,
    queueing: Queueing,
    last: Step<P::Msg>,
    counts: Counts,
}

/// Two networks are equal when everything that can still matter is: nodes, channels and time, not the counts.
impl<P: Protocol, const PEERS: usize> PartialEq for Net<P, PEERS> {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.queues == other.queues
            && self.up == other.up
            && self.broken == other.broken
            && self.now == other.now
    }
}

impl<P: Protocol, const PEERS: usize> Eq for Net<P, PEERS> {}

impl<P: Protocol, const PEERS: usize> Hash for Net<P, PEERS> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes.hash(state);
        self.queues.hash(state);
        self.up.hash(state);
        self.broken.hash(state);
        self.now.hash(state);
    }
}

impl<P: Protocol, const PEERS: usize> Default for Net<P, PEERS> {
    fn default() -> Self {
        Self::new(Delay::Round)
    }
}

impl<P: Protocol, const PEERS: usize> Net<P, PEERS> {
    pub fn new(delay: Delay) -> Self {
        Self {
            nodes: Vec::new(),
            index: BTreeMap::new(),
            queues: BTreeMap::new(),
            up: BTreeSet::new(),
            broken: BTreeSet::new(),
            now: Instant::ZERO,
            delay,
            queueing: Queueing::Fifo,
            last: Step::default(),
            counts: Counts::default(),
        }
    }

    /// Chooses how channels queue messages.
    pub fn with_queueing(mut self, queueing: Queueing) -> Self {
        self.queueing = queueing;
        self
    }

    /// Adds a node that has not started, and returns its index. Ids are unique.
    ///
    /// # Panics
    /// When the id is taken.
    pub fn add(&mut self, id: NodeId, seed: u64, protocol: P) -> NodeIndex {
        let index = NodeIndex(self.nodes.len());
        assert!(self.index.insert(id, index).is_none(), "node {id} already exists");
        self.nodes.push(Slot { engine: Engine::new(id, seed, protocol), alive: true });
        index
    }

    /// Makes both directions between two nodes up from the beginning, without an event at either.
    ///
    /// # Panics
    /// When a node has more links than its table holds.
    pub fn join(&mut self, u: NodeIndex, v: NodeIndex) {
        for direction in Edge::between(u, v).directions() {
            let Direction { from, to } = direction;
            if self.up.insert(direction) {
                let peer = self.id(to);
                let added = self.nodes[from].engine.add_peer(peer);
                added.unwrap_or_else(|_| panic!("node {} has too many links", self.id(from)));
            }
        }
    }

    /// How many nodes there are, dead ones included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeIndex> + ExactSizeIterator + Clone + use<P, PEERS> {
        NodeIndex::first(self.len())
    }

    pub fn id(&self, node: NodeIndex) -> NodeId {
        self.nodes[node].engine.id()
    }

    pub fn index_of(&self, id: NodeId) -> Option<NodeIndex> {
        self.index.get(&id).copied()
    }

    /// The state of a node's protocol.
    pub fn node(&self, node: NodeIndex) -> &P {
        self.nodes[node].engine.protocol()
    }

    /// Whether a node has not crashed.
    pub fn is_alive(&self, node: NodeIndex) -> bool {
        self.nodes[node].alive
    }

    /// Whether the direction `from → to` is up, as its sender sees it.
    pub fn is_up(&self, from: NodeIndex, to: NodeIndex) -> bool {
        self.up.contains(&Direction { from, to })
    }

    /// Every direction that is up.
    pub fn up_directions(&self) -> impl Iterator<Item = Direction> + '_ {
        self.up.iter().copied()
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    /// Sets the present time, which never goes back.
    pub fn set_now(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Starts the counts at zero again.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// What the last step made its node do.
    pub fn last_step(&self) -> &Step<P::Msg> {
        &self.last
    }

    /// The channels that hold messages, in delivery order.
    pub fn pending(&self) -> impl Iterator<Item = Channel> + '_ {
        self.queues.keys().copied()
    }

    /// Whether no message is in flight.
    pub fn is_quiet(&self) -> bool {
        self.queues.is_empty()
    }

    /// Whether a channel holds a message.
    pub fn holds(&self, channel: Channel) -> bool {
        self.queues.contains_key(&channel)
    }

    /// How many messages a channel holds, all lanes together.
    pub fn in_transit(&self, from: NodeIndex, to: NodeIndex) -> usize {
        let on = |channel: &Channel| channel.from == from && channel.to == to;
        self.queues.iter().filter(|(channel, _)| on(channel)).map(|(_, queue)| queue.len()).sum()
    }

    /// The messages in flight, channels in delivery order and each channel's oldest first.
    pub fn under_way(&self) -> impl Iterator<Item = (Channel, &P::Msg)> + '_ {
        self.queues.iter().flat_map(|(&channel, queue)| queue.iter().map(move |message| (channel, &message.msg)))
    }

    pub fn start(&mut self, node: NodeIndex) {
        let now = self.now;
        self.drive(node, |engine| engine.handle_start(now));
    }

    pub fn start_all(&mut self) {
        self.nodes().for_each(|node| self.start(node));
    }

    /// Gives a node a signal.
    pub fn signal(&mut self, node: NodeIndex, signal: Signal) {
        let now = self.now;
        self.drive(node, |engine| engine.handle_signal(now, signal));
    }

    /// One direction comes up and its sender reacts.
    ///
    /// # Panics
    /// When the sender has more links than its table holds.
    pub fn link_up(&mut self, from: NodeIndex, to: NodeIndex) {
        let (now, peer) = (self.now, self.id(to));
        if self.up.insert(Direction { from, to }) {
            if !self.nodes[to].alive {
                self.broken.insert(Direction { from, to });
            }
            let id = self.id(from);
            self.drive(from, |engine| {
                engine.handle_link_up(now, peer).unwrap_or_else(|_| panic!("node {id} has too many links"));
            });
        }
    }

    /// One direction goes down, loses what it held, and its sender reacts.
    pub fn link_down(&mut self, from: NodeIndex, to: NodeIndex) {
        let (now, peer) = (self.now, self.id(to));
        if self.up.remove(&Direction { from, to }) {
            self.broken.remove(&Direction { from, to });
            self.empty_channels(|channel| channel.from == from && channel.to == to);
            self.drive(from, |engine| engine.handle_link_down(now, peer));
        }
    }

    /// Both directions come up.
    pub fn connect(&mut self, u: NodeIndex, v: NodeIndex) {
        self.link_up(u, v);
        self.link_up(v, u);
    }

    /// Both directions go down.
    pub fn cut(&mut self, u: NodeIndex, v: NodeIndex) {
        self.link_down(u, v);
        self.link_down(v, u);
    }

    /// A node stops and forgets everything, without an event elsewhere. What it had sent but not delivered is lost, and so
    /// is what others send to it until their own direction goes down.
    pub fn crash(&mut self, node: NodeIndex) {
        self.nodes[node].alive = false;
        self.up.retain(|direction| direction.from != node);
        self.broken.retain(|direction| direction.from != node);
        self.broken.extend(self.up.iter().filter(|direction| direction.to == node));
        self.empty_channels(|channel| channel.from == node || channel.to == node);
    }

    /// A crashed node comes back with a new state and no links. It must still be started.
    pub fn restart(&mut self, node: NodeIndex, seed: u64, protocol: P) {
        let id = self.id(node);
        self.nodes[node] = Slot { engine: Engine::new(id, seed, protocol), alive: true };
    }

    /// Delivers the oldest message of a channel; false if there is none.
    pub fn deliver(&mut self, channel: Channel) -> bool {
        let Some(msg) = self.take(channel) else { return false };
        self.counts.delivered += 1;
        let (now, from) = (self.now, self.id(channel.from));
        self.drive(channel.to, |engine| engine.handle_decoded(now, from, msg));
        true
    }

    /// Loses the oldest message of a channel, as a fault; false if there is none.
    pub fn lose(&mut self, channel: Channel) -> bool {
        let lost = self.take(channel).is_some();
        self.counts.lost += u64::from(lost);
        lost
    }

    /// Changes a node's state as a fault: it neither reacts nor reports anything.
    pub fn tamper(&mut self, node: NodeIndex, fault: impl FnOnce(&mut P)) {
        fault(self.nodes[node].engine.protocol_mut());
    }

    fn take(&mut self, channel: Channel) -> Option<P::Msg> {
        let queue = self.queues.get_mut(&channel)?;
        let front = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&channel);
        }
        front.map(|in_flight| in_flight.msg)
    }

    fn empty_channels(&mut self, which: impl Fn(&Channel) -> bool) {
        let counts = &mut self.counts;
        self.queues.retain(|channel, queue| {
            let lost = which(channel);
            if lost {
                counts.lost += queue.len() as u64;
            }
            !lost
        });
    }

    /// Gives a node one input and routes all its outputs.
    fn drive(&mut self, node: NodeIndex, input: impl FnOnce(&mut Engine<P, PEERS>)) {
        self.last.sends.clear();
        self.last.events.clear();
        if !self.nodes[node].alive {
            return;
        }
        input(&mut self.nodes[node].engine);
        while let Some((peer, msg)) = self.nodes[node].engine.poll_decoded() {
            self.put(node, peer, msg);
        }
        while let Some(notice) = self.nodes[node].engine.poll_notice() {
            match notice {
                Notice::Event(event) => self.last.events.push(event),
                Notice::Fault(fault) => panic!("defect in the core: {fault:?} at node {}", self.id(node)),
                Notice::LinkEnded(peer, reason) => panic!("link to {peer} ended: {reason:?} at node {}", self.id(node)),
                _ => {}
            }
        }
    }

    fn put(&mut self, from: NodeIndex, peer: NodeId, msg: P::Msg) {
        debug_assert_eq!(round_trip(&msg).as_ref(), Some(&msg), "a message changes on the wire");
        let to = self.index[&peer];
        let channel = Channel { to, lane: msg.lane(), from };
        self.last.sends.push((peer, msg.clone()));
        let replaces = self.queueing == Queueing::Latest && msg.is_latest_value();
        if replaces && let Some(waiting) = self.queues.get_mut(&channel).and_then(|queue| queue.back_mut()) {
            waiting.msg = msg;
            return;
        }
        self.counts.sent(from, &msg);
        if self.broken.contains(&Direction { from, to }) {
            self.counts.lost += 1;
            return;
        }
        let queue = self.queues.entry(channel).or_default();
        let after = queue.back().map_or(self.now, |last| last.due);
        let due = self.delay.due(self.now, after);
        queue.push_back(InFlight { msg, due });
    }
}

/// A message as its receiver would decode it.
fn round_trip<M: Message>(msg: &M) -> Option<M> {
    let mut buf = [0; common::limits::MESSAGE_MAX];
    let bytes = postcard::to_slice(msg, &mut buf).ok()?;
    postcard::from_bytes(bytes).ok()
}
