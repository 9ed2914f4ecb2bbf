//! One HS election on a ring too large for engines and radio addresses.
//!
//! A thin driver of the protocol's own handlers, with one outbox for all nodes. The ring is cut into stretches that fit
//! the processor's cache. Each stretch has one queue, which is emptied before the next stretch has its turn. Messages are
//! queued in the order of sending, so every channel is FIFO and the schedule is a legal asynchronous one; the message
//! count of HS is the same under all of them.

use std::collections::VecDeque;

use common::election::circle::{RingConfig, RingTimer};
use common::election::hs::{Hs, HsMsg};
use common::outbox::{Command, Outbox};
use common::protocol::{Cx, Message, Protocol};
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::{NodeId, RingPlace, Side};

use crate::index::NodeIndex;

/// A million nodes have no radio addresses of their own, so each node calls itself and its neighbours by these.
const OWN: NodeId = NodeId(0);
const LEFT: NodeId = NodeId(1);
const RIGHT: NodeId = NodeId(2);

/// More phases than a ring can have whose nodes are numbered with 32 bits.
const PHASES_MAX: usize = 34;

/// Nodes per queue. Their states take 128 KiB and their first messages 160 KiB.
const STRETCH: usize = 4_096;

/// How many messages pass between two calls of the watcher.
const WATCH_EVERY: u64 = 1 << 22;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PhaseCount {
    /// Probes on their way out.
    pub out: u64,
    /// Probes that returned.
    pub back: u64,
}

/// What one election cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// The probes of each phase, from phase 0.
    pub phases: Vec<PhaseCount>,
    /// The announcements of the leader.
    pub announcements: u64,
}

impl Tally {
    fn count(&mut self, msg: &HsMsg<u32>) {
        match msg {
            HsMsg::Out { phase, .. } => self.phases[usize::from(*phase)].out += 1,
            HsMsg::Back { phase, .. } => self.phases[usize::from(*phase)].back += 1,
            HsMsg::Leader { .. } => self.announcements += 1,
        }
    }

    /// All messages, announcements included.
    pub fn total(&self) -> u64 {
        self.phases.iter().map(|phase| phase.out + phase.back).sum::<u64>() + self.announcements
    }
}

/// A ring before and after its election.
#[derive(Clone, Debug)]
pub struct BigRing {
    nodes: Vec<Hs<u32>>,
}

impl BigRing {
    /// A ring of these uids, in ring order. They must be distinct.
    pub fn new(uids: &[u32]) -> Self {
        let place = match uids.len() {
            0 | 1 => RingPlace { left: OWN, right: OWN },
            _ => RingPlace { left: LEFT, right: RIGHT },
        };
        let config = RingConfig { place, patience: Duration::ZERO };
        Self { nodes: uids.iter().map(|&uid| Hs::new(uid, config)).collect() }
    }

    /// Starts every node and delivers until no message is in flight. `watch` gets the number of delivered messages from time
    /// to time. It is not a type parameter, so that the loop is compiled here, optimised, and not with the caller.
    ///
    /// # Panics
    /// When a handler issues more commands than its outbox holds, which is a defect of the core.
    pub fn elect(&mut self, watch: &mut dyn FnMut(u64)) -> Tally {
        let mut tally = Tally { phases: vec![PhaseCount::default(); PHASES_MAX], announcements: 0 };
        let mut mail = Mail::new(self.nodes.len());
        let mut out = Outbox::new();
        let mut rng = Rng::new(0);
        for sender in NodeIndex::first(self.nodes.len()) {
            self.nodes[sender].on_start(&mut context(&mut rng, &mut out));
            mail.send(sender, &mut out, &mut tally);
        }
        let mut delivered = 0_u64;
        while !mail.is_empty() {
            for stretch in 0..mail.queues.len() {
                while let Some(Letter { to, msg }) = mail.queues[stretch].pop_front() {
                    let at = NodeIndex(to as usize);
                    let from = if msg.lane() == Side::Right.lane() { LEFT } else { RIGHT };
                    self.nodes[at].on_message(from, msg, &mut context(&mut rng, &mut out));
                    mail.send(at, &mut out, &mut tally);
                    delivered += 1;
                    if delivered.is_multiple_of(WATCH_EVERY) {
                        watch(delivered);
                    }
                }
            }
        }
        while tally.phases.pop_if(|last| *last == PhaseCount::default()).is_some() {}
        tally
    }

    /// The uid that every node follows; none if they disagree.
    pub fn leader(&self) -> Option<u32> {
        let leader = self.nodes.first()?.winner();
        leader.filter(|_| self.nodes.iter().all(|node| node.winner() == leader))
    }
}

fn context<'a>(rng: &'a mut Rng, out: &'a mut HsOutbox) -> Cx<'a, Hs<u32>> {
    Cx { id: OWN, now: Instant::ZERO, peers: &[LEFT, RIGHT], rng, out }
}

type HsOutbox = Outbox<HsMsg<u32>, RingTimer>;

/// A message in flight.
#[derive(Clone)]
struct Letter {
    /// The index of the receiver, in half of the space that it would take otherwise: there are millions of these.
    to: u32,
    msg: HsMsg<u32>,
}

/// Messages in flight, by the stretch of their receiver.
struct Mail {
    nodes: usize,
    queues: Vec<VecDeque<Letter>>,
}

impl Mail {
    fn new(nodes: usize) -> Self {
        Self { nodes, queues: vec![VecDeque::new(); nodes.div_ceil(STRETCH)] }
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Moves what a handler sent to the queues. A message's lane gives its direction and thereby its receiver.
    fn send(&mut self, sender: NodeIndex, out: &mut HsOutbox, tally: &mut Tally) {
        assert!(!out.overflowed(), "defect in the core: outbox overflow");
        for command in out.commands() {
            if let Command::Send(_, msg) = command {
                let is_right = msg.lane() == Side::Right.lane();
                let to = if is_right { sender.right(self.nodes) } else { sender.left(self.nodes) };
                tally.count(msg);
                let receiver = u32::try_from(to.0).expect("nodes are numbered with 32 bits");
                self.queues[to.0 / STRETCH].push_back(Letter { to: receiver, msg: msg.clone() });
            }
        }
        *out = Outbox::new();
    }
}

/// The numbers below `nodes` in random order.
pub fn random_uids(nodes: u32, seed: u64) -> Vec<u32> {
    let mut rng = Rng::stream(seed, 0xB16);
    let mut uids: Vec<u32> = (0..nodes).collect();
    for (last, bound) in (1..nodes).rev().map(|last| (last as usize, last + 1)) {
        uids.swap(last, rng.below(bound) as usize);
    }
    uids
}
