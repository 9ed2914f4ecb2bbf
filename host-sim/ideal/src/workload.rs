//! Workloads to time: engines, and what happens to them.
//!
//! Messages go through one queue in the order of sending and take no time; timers fire when no message is in flight. There
//! is as little as possible around the engines, so that the measured time is theirs.

use std::collections::VecDeque;

use common::engine::Engine;
use common::limits::MESSAGE_MAX;
use common::notice::Notice;
use common::protocol::Protocol;
use common::time::Instant;
use common::types::NodeId;

use crate::index::{Direction, NodeIndex};

/// What happens to a node from outside. A change of a direction is detected by its sender.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    Start(NodeIndex),
    Up(Direction),
    Down(Direction),
}

/// Engines, each at the index that is its id, and batches of inputs. A batch is worked off before the next begins.
#[derive(Clone, Debug)]
pub struct Workload<P: Protocol, const PEERS: usize> {
    engines: Vec<Engine<P, PEERS>>,
    batches: Vec<Vec<Input>>,
}

/// How a message travels from one engine to another.
pub trait Carrier<P: Protocol>: Sized {
    /// The next message that an engine wants to send, and to whom.
    fn collect<const PEERS: usize>(engine: &mut Engine<P, PEERS>) -> Option<(NodeId, Self)>;

    /// Hands the message to its receiver.
    fn deliver<const PEERS: usize>(self, engine: &mut Engine<P, PEERS>, now: Instant, from: NodeId);
}

/// As it is, never encoded.
#[derive(Debug)]
pub struct Decoded<P: Protocol>(P::Msg);

impl<P: Protocol> Carrier<P> for Decoded<P> {
    fn collect<const PEERS: usize>(engine: &mut Engine<P, PEERS>) -> Option<(NodeId, Self)> {
        engine.poll_decoded().map(|(to, msg)| (to, Self(msg)))
    }

    fn deliver<const PEERS: usize>(self, engine: &mut Engine<P, PEERS>, now: Instant, from: NodeId) {
        engine.handle_decoded(now, from, self.0);
    }
}

/// Encoded by the sender and decoded by the receiver.
#[derive(Debug)]
pub struct Encoded {
    bytes: [u8; MESSAGE_MAX],
    len: usize,
}

impl<P: Protocol> Carrier<P> for Encoded {
    fn collect<const PEERS: usize>(engine: &mut Engine<P, PEERS>) -> Option<(NodeId, Self)> {
        let mut bytes = [0; MESSAGE_MAX];
        let transmit = engine.poll_transmit(&mut bytes)?;
        let (to, len) = (transmit.to, transmit.bytes.len());
        Some((to, Self { bytes, len }))
    }

    fn deliver<const PEERS: usize>(self, engine: &mut Engine<P, PEERS>, now: Instant, from: NodeId) {
        engine.handle_message(now, from, &self.bytes[..self.len]);
    }
}

/// A message in flight.
struct Letter<C> {
    from: NodeId,
    to: NodeId,
    carried: C,
}

/// What a workload came to.
pub struct Outcome<P: Protocol, const PEERS: usize> {
    pub engines: Vec<Engine<P, PEERS>>,
    /// How many messages they handled.
    pub messages: u64,
}

/// A run under way.
struct Run<P: Protocol, C, const PEERS: usize> {
    engines: Vec<Engine<P, PEERS>>,
    /// When each engine next wants to be called.
    deadlines: Vec<Option<Instant>>,
    queue: VecDeque<Letter<C>>,
    now: Instant,
    delivered: u64,
}

impl<P: Protocol, const PEERS: usize> Workload<P, PEERS> {
    /// A workload of these engines, where the one at index i has the id i, and these batches.
    pub fn new(engines: Vec<Engine<P, PEERS>>, batches: Vec<Vec<Input>>) -> Self {
        Self { engines, batches }
    }

    /// The same workload after its batches, with other batches to come.
    pub fn then<C: Carrier<P>>(self, batches: Vec<Vec<Input>>) -> Self {
        Self { engines: self.run::<C>().engines, batches }
    }

    /// Runs to the end.
    ///
    /// # Panics
    /// When the core reports a defect.
    pub fn run<C: Carrier<P>>(self) -> Outcome<P, PEERS> {
        let mut run = Run::<P, C, PEERS> {
            deadlines: vec![None; self.engines.len()],
            engines: self.engines,
            queue: VecDeque::new(),
            now: Instant::ZERO,
            delivered: 0,
        };
        for batch in self.batches {
            for input in batch {
                run.input(input);
            }
            run.settle();
        }
        Outcome { engines: run.engines, messages: run.delivered }
    }
}

impl<P: Protocol, C: Carrier<P>, const PEERS: usize> Run<P, C, PEERS> {
    fn input(&mut self, input: Input) {
        let now = self.now;
        let node = match input {
            Input::Start(node) => {
                self.engines[node].handle_start(now);
                node
            }
            Input::Up(Direction { from, to }) => {
                let peer = self.engines[to].id();
                self.engines[from].handle_link_up(now, peer).expect("workloads keep within the peer table");
                from
            }
            Input::Down(Direction { from, to }) => {
                let peer = self.engines[to].id();
                self.engines[from].handle_link_down(now, peer);
                from
            }
        };
        self.collect(node);
    }

    /// Delivers and fires timers until there is nothing left to do.
    fn settle(&mut self) {
        loop {
            while let Some(Letter { from, to, carried }) = self.queue.pop_front() {
                let node = NodeIndex(to.0.into());
                carried.deliver(&mut self.engines[node], self.now, from);
                self.delivered += 1;
                self.collect(node);
            }
            let Some(next) = self.deadlines.iter().flatten().min() else { return };
            self.now = self.now.max(*next);
            for node in NodeIndex::first(self.engines.len()) {
                if self.deadlines[node].is_some_and(|deadline| deadline <= self.now) {
                    self.engines[node].handle_timeout(self.now);
                    self.collect(node);
                }
            }
        }
    }

    /// Collects all outputs of an engine, in the order that its contract requires.
    fn collect(&mut self, node: NodeIndex) {
        let engine = &mut self.engines[node];
        let from = engine.id();
        while let Some((to, carried)) = C::collect(engine) {
            self.queue.push_back(Letter { from, to, carried });
        }
        while let Some(notice) = engine.poll_notice() {
            let is_sound = !matches!(notice, Notice::Fault(_) | Notice::LinkEnded(..) | Notice::BadMessage(_));
            assert!(is_sound, "defect in the core: {notice:?} at node {from}");
        }
        self.deadlines[node] = engine.poll_timeout();
    }
}
