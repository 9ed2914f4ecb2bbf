//! Nodes with radios and clocks of their own, and one queue of events in whole microseconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use common::rng::Rng;
use common::time::Instant;

use super::clock::LocalClock;
use super::csma::{Backoff, RadioTiming};
use super::medium::{Medium, OnAir, Reception, Tuning};
use super::propagation::Place;
use super::{PSDU_MAX, airtime_us};

/// What became of a frame that a station wanted to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It was on the air.
    Done,
    /// The channel was busy at every look.
    ChannelBusy,
}

/// Whatever has a radio and decides what to do with it: the shape of the core's driver contract. Times are the
/// station's own.
pub trait Station {
    /// The station starts.
    fn handle_start(&mut self, now: Instant);
    /// An intact frame was received.
    fn handle_frame(&mut self, now: Instant, psdu: &[u8], rssi_dbm: f64);
    /// The frame it gave out is through.
    fn handle_sent(&mut self, now: Instant, sent: Sent);
    /// The time it asked for has come.
    fn handle_timeout(&mut self, now: Instant);
    /// The next frame to send, written to `buf`; its length. Asked again once the last one is through.
    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8; PSDU_MAX]) -> Option<usize>;
    /// When it wants to be called.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// Somebody who looks on.
pub trait Watcher<S> {
    /// A frame begins: its sender and its bytes.
    fn frame(&mut self, _world_us: u64, _from: usize, _psdu: &[u8]) {}
    /// A frame ended at a radio that had locked on to it.
    fn reception(&mut self, _world_us: u64, _from: usize, _reception: Reception) {}
    /// A station was given something; its state is as it is now.
    fn station(&mut self, _world_us: u64, _node: usize, _station: &S) {}
}

/// Looks at nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl<S> Watcher<S> for Nobody {}

/// What a radio has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Frames put on the air.
    pub sent: u64,
    /// Frames received intact.
    pub received: u64,
    /// Frames received damaged.
    pub damaged: u64,
    /// Frames given up because the channel was never clear.
    pub busy: u64,
    /// Time transmitting.
    pub tx_us: u64,
    /// Time with the receiver or a ramp on.
    pub rx_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wake,
    Look,
    LookBegins,
    LookDone,
    Send,
    SendDone(usize),
    Ready,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at_us: u64,
    order: u64,
    node: u32,
    /// Entries of a node's former life are void.
    life: u32,
    event: Event,
}

/// What a radio is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Listening, or off.
    Free,
    /// Dealing with a frame, or turning round after one, and deaf until then.
    Deaf,
    /// Looking whether the channel is clear, or sending.
    Taken,
}

#[derive(Clone, Debug)]
struct Node<S> {
    station: S,
    phase: Phase,
    clock: LocalClock,
    life: u32,
    on: bool,
    rng: Rng,
    backoff: Option<Backoff>,
    psdu: [u8; PSDU_MAX],
    length: usize,
    wake_at: Option<u64>,
    listening_since: Option<u64>,
    usage: Usage,
}

/// A medium with stations on it.
#[derive(Clone, Debug)]
pub struct World<S> {
    medium: Medium,
    timing: RadioTiming,
    nodes: Vec<Node<S>>,
    queue: BinaryHeap<Reverse<Entry>>,
    on_air: Vec<Option<OnAir>>,
    now_us: u64,
    order: u64,
    events: u64,
    seed: u64,
    receptions: Vec<Reception>,
}

impl<S: Station> World<S> {
    /// A world without stations.
    pub fn new(medium: Medium, timing: RadioTiming, seed: u64) -> Self {
        Self {
            medium,
            timing,
            nodes: Vec::new(),
            queue: BinaryHeap::new(),
            on_air: Vec::new(),
            now_us: 0,
            order: 0,
            events: 0,
            seed,
            receptions: Vec::new(),
        }
    }

    /// Adds a station that is off.
    pub fn add(&mut self, place: Place, tuning: Tuning, drift_ppm: i32, station: S) -> usize {
        let index = self.medium.add(place, tuning);
        self.nodes.push(Node {
            station,
            phase: Phase::Free,
            clock: LocalClock { drift_ppm, zero_us: 0 },
            life: 0,
            on: false,
            rng: Rng::stream(self.seed ^ 0xC5, index as u64),
            backoff: None,
            psdu: [0; PSDU_MAX],
            length: 0,
            wake_at: None,
            listening_since: None,
            usage: Usage::default(),
        });
        self.on_air.push(None);
        index
    }

    /// The world's time.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Events dealt with so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many stations there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no stations.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A station.
    pub fn station(&self, node: usize) -> &S {
        &self.nodes[node].station
    }

    /// Whether a station is on.
    pub fn is_on(&self, node: usize) -> bool {
        self.nodes[node].on
    }

    /// The medium.
    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// The medium, to be changed: places, walls, tuning.
    pub fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// What a radio has done until now.
    pub fn usage(&self, node: usize) -> Usage {
        let mut usage = self.nodes[node].usage;
        usage.rx_us += self.nodes[node].listening_since.map_or(0, |since| self.now_us - since);
        usage
    }

    /// Switches a station on, as it is: its clock starts at zero.
    pub fn power_on(&mut self, node: usize, watcher: &mut impl Watcher<S>) {
        let now_us = self.now_us;
        let state = &mut self.nodes[node];
        state.on = true;
        state.clock.zero_us = now_us;
        self.listen(node, true);
        self.call(node, watcher, S::handle_start);
    }

    /// Cuts a station's power; a frame it was sending breaks off.
    pub fn power_off(&mut self, node: usize) {
        self.listen(node, false);
        if let Some(on) = self.on_air[node].take() {
            // Nobody receives half a frame; whoever had locked on finds its checksum wrong.
            self.medium.end(self.now_us, on, |_| ());
        }
        let state = &mut self.nodes[node];
        state.on = false;
        state.phase = Phase::Free;
        state.life += 1;
        state.backoff = None;
        state.wake_at = None;
    }

    /// Replaces a station that is off, for its next life.
    pub fn replace(&mut self, node: usize, station: S) -> S {
        std::mem::replace(&mut self.nodes[node].station, station)
    }

    /// Gives a station something other than a frame or a timeout.
    pub fn tell(&mut self, node: usize, watcher: &mut impl Watcher<S>, what: impl FnOnce(&mut S, Instant)) {
        if self.nodes[node].on {
            self.call(node, watcher, what);
        }
    }

    /// Runs until this time of the world; everything due by then has happened.
    pub fn run_until(&mut self, until_us: u64, watcher: &mut impl Watcher<S>) {
        while let Some(Reverse(entry)) = self.queue.peek().copied().filter(|next| next.0.at_us <= until_us) {
            self.queue.pop();
            self.now_us = entry.at_us;
            let node = entry.node as usize;
            if self.nodes[node].life == entry.life {
                self.events += 1;
                self.happen(node, entry.event, watcher);
            }
        }
        self.now_us = self.now_us.max(until_us);
    }

    fn happen(&mut self, node: usize, event: Event, watcher: &mut impl Watcher<S>) {
        match event {
            Event::Wake => {
                if self.nodes[node].wake_at == Some(self.now_us) {
                    self.nodes[node].wake_at = None;
                    self.call(node, watcher, S::handle_timeout);
                }
            }
            Event::Look => self.look(node),
            Event::LookBegins => {
                self.medium.begin_cca(self.now_us, node);
                self.schedule(self.now_us + self.timing.cca_us, node, Event::LookDone);
            }
            Event::LookDone => self.look_done(node, watcher),
            Event::Send => self.send(node, watcher),
            Event::SendDone(from) => self.send_done(from, watcher),
            Event::Ready => {
                if self.nodes[node].phase == Phase::Deaf {
                    self.nodes[node].phase = Phase::Free;
                    self.listen(node, true);
                }
            }
        }
    }

    fn schedule(&mut self, at_us: u64, node: usize, event: Event) {
        let order = self.order;
        self.order += 1;
        let life = self.nodes[node].life;
        let node = u32::try_from(node).unwrap_or(u32::MAX);
        self.queue.push(Reverse(Entry { at_us, order, node, life, event }));
    }

    fn listen(&mut self, node: usize, listening: bool) {
        self.medium.listen(node, listening);
        let state = &mut self.nodes[node];
        if listening {
            state.listening_since.get_or_insert(self.now_us);
        } else if let Some(since) = state.listening_since.take() {
            state.usage.rx_us += self.now_us - since;
        }
    }

    /// The back-off is over. A frame that is just being received is finished first.
    fn look(&mut self, node: usize) {
        if self.medium.is_locked(node) {
            self.schedule(self.now_us + 320, node, Event::Look);
            return;
        }
        self.listen(node, false);
        self.nodes[node].phase = Phase::Taken;
        self.schedule(self.now_us + self.timing.rx_ramp_us, node, Event::LookBegins);
    }

    fn look_done(&mut self, node: usize, watcher: &mut impl Watcher<S>) {
        self.nodes[node].usage.rx_us += self.timing.rx_ramp_us + self.timing.cca_us;
        if !self.medium.end_cca(self.now_us, node) {
            self.schedule(self.now_us + self.timing.tx_ramp_us, node, Event::Send);
            return;
        }
        self.nodes[node].phase = Phase::Free;
        self.listen(node, true);
        if let Some(next) = self.nodes[node].backoff.and_then(Backoff::busy) {
            self.back_off(node, next);
            return;
        }
        self.nodes[node].backoff = None;
        self.nodes[node].usage.busy += 1;
        self.call(node, watcher, |station, now| station.handle_sent(now, Sent::ChannelBusy));
    }

    fn back_off(&mut self, node: usize, backoff: Backoff) {
        self.nodes[node].backoff = Some(backoff);
        let wait = backoff.wait_us(&mut self.nodes[node].rng);
        self.schedule(self.now_us + wait, node, Event::Look);
    }

    fn send(&mut self, node: usize, watcher: &mut impl Watcher<S>) {
        let state = &self.nodes[node];
        let airtime = airtime_us(state.length);
        watcher.frame(self.now_us, node, &state.psdu[..state.length]);
        self.on_air[node] = Some(self.medium.begin_frame(self.now_us, node));
        let state = &mut self.nodes[node];
        state.usage.sent += 1;
        state.usage.tx_us += self.timing.tx_ramp_us + airtime;
        self.schedule(self.now_us + airtime, node, Event::SendDone(node));
    }

    fn send_done(&mut self, node: usize, watcher: &mut impl Watcher<S>) {
        let mut receptions = std::mem::take(&mut self.receptions);
        if let Some(on) = self.on_air[node].take() {
            self.medium.end(self.now_us, on, |reception| receptions.push(reception));
        }
        let (psdu, length) = (self.nodes[node].psdu, self.nodes[node].length);
        for reception in receptions.drain(..) {
            watcher.reception(self.now_us, node, reception);
            self.receive(reception, &psdu[..length], watcher);
        }
        self.receptions = receptions;
        self.nodes[node].backoff = None;
        self.nodes[node].phase = Phase::Deaf;
        self.schedule(self.now_us + self.timing.disable_us + self.timing.rx_ramp_us, node, Event::Ready);
        self.call(node, watcher, |station, now| station.handle_sent(now, Sent::Done));
    }

    fn receive(&mut self, reception: Reception, psdu: &[u8], watcher: &mut impl Watcher<S>) {
        let node = reception.to;
        let state = &mut self.nodes[node];
        if !reception.intact {
            state.usage.damaged += 1;
            return;
        }
        state.usage.received += 1;
        let deaf = self.timing.processing_us(&mut state.rng);
        if deaf > 0 {
            self.listen(node, false);
            self.nodes[node].phase = Phase::Deaf;
            self.schedule(self.now_us + deaf, node, Event::Ready);
        }
        self.call(node, watcher, |station, now| station.handle_frame(now, psdu, reception.rssi_dbm));
    }

    /// Gives a station one input, and does what it then wants.
    fn call(&mut self, node: usize, watcher: &mut impl Watcher<S>, input: impl FnOnce(&mut S, Instant)) {
        let now_us = self.now_us;
        let state = &mut self.nodes[node];
        let now = state.clock.show(now_us);
        input(&mut state.station, now);
        if state.backoff.is_none()
            && let Some(length) = state.station.poll_transmit(now, &mut state.psdu)
        {
            state.length = length.min(PSDU_MAX);
            self.back_off(node, Backoff::default());
        }
        let state = &mut self.nodes[node];
        // A deadline that has passed is due now; the queue never goes back.
        let wake_at = state.station.poll_timeout().map(|at| state.clock.when(at).max(now_us));
        if wake_at != state.wake_at {
            state.wake_at = wake_at;
            if let Some(at) = wake_at {
                self.schedule(at, node, Event::Wake);
            }
        }
        watcher.station(now_us, node, &self.nodes[node].station);
    }
}
