//! A small lossy ether for whole nodes: perfect carrier sensing, random loss, links that can be cut.

use std::collections::{BTreeMap, BTreeSet};

use common::config::{Boot, Config};
use common::mac::phy::FRAME_MAX;
use common::mac::{Access, Sent};
use common::node::Node;
use common::notice::Notice;
use common::protocol::Signal;
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::NodeId;

use crate::data::Flash;

/// Strength of every frame.
const RSSI_DBM: i8 = -60;

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    /// A frame given out with carrier sensing begins.
    Begin(usize),
    End(usize, Vec<u8>),
    /// A timed frame ends.
    TimedEnd(usize, Vec<u8>),
}

#[derive(Clone, Debug)]
pub struct Board {
    pub config: Config,
    pub node: Node,
    pub is_on: bool,
    pub epoch: u16,
    /// How often it was switched on. No two boots draw the same random numbers, even after the flash was erased.
    boots: u64,
    pub notices: Vec<(Instant, Notice)>,
    /// What it stores and logs, where it collects anything.
    pub flash: Option<Flash>,
    waiting: Option<Vec<u8>>,
}

/// The ether with its boards.
pub struct Ether {
    pub now: Instant,
    pub boards: Vec<Board>,
    /// Who does not hear whom: from, to.
    pub cuts: BTreeSet<(usize, usize)>,
    /// How strong a frame is between two boards where it is not as usual: from, to.
    pub strengths: BTreeMap<(usize, usize), i8>,
    /// Whether frames that overlap at a receiver are lost, and carriers out of range are not sensed.
    pub collides: bool,
    /// Of a thousand frames this many are lost, at each receiver by itself.
    pub loss: u32,
    /// Every frame that was sent, where it is wanted.
    pub heard: Option<Vec<Vec<u8>>>,
    rng: Rng,
    seed: u64,
    queue: BTreeMap<(Instant, u64), Event>,
    order: u64,
    busy_until: Instant,
    /// What is or was lately on the air: who sends, from when to when.
    on_air: Vec<(usize, Instant, Instant)>,
}

impl Ether {
    pub fn new(seed: u64, loss: u32, configs: impl IntoIterator<Item = Config>) -> Self {
        let mut ether = Self {
            now: Instant::ZERO,
            boards: Vec::new(),
            cuts: BTreeSet::new(),
            strengths: BTreeMap::new(),
            collides: false,
            loss,
            heard: None,
            rng: Rng::stream(seed, 1),
            seed,
            queue: BTreeMap::new(),
            order: 0,
            busy_until: Instant::ZERO,
            on_air: Vec::new(),
        };
        for (index, config) in configs.into_iter().enumerate() {
            let node = make(&config, seed, index, 1, 1);
            ether.boards.push(Board {
                config,
                node,
                is_on: false,
                epoch: 1,
                boots: 0,
                notices: Vec::new(),
                flash: None,
                waiting: None,
            });
        }
        ether
    }

    pub fn switch_on_all(&mut self) {
        (0..self.boards.len()).for_each(|board| self.switch_on(board));
    }

    /// Boots a board with the next epoch.
    pub fn switch_on(&mut self, board: usize) {
        let (seed, now) = (self.seed, self.now);
        let state = &mut self.boards[board];
        state.boots += 1;
        state.node = make(&state.config, seed, board, state.epoch, state.boots);
        state.epoch += 1;
        state.is_on = true;
        state.waiting = None;
        if let Some(flash) = &state.flash {
            flash.recover(&mut state.node);
        }
        state.node.handle_start(now);
        self.settle(board);
    }

    pub fn switch_off(&mut self, board: usize) {
        self.boards[board].is_on = false;
        self.boards[board].waiting = None;
    }

    pub fn cut(&mut self, a: usize, b: usize) {
        self.cuts.extend([(a, b), (b, a)]);
    }

    pub fn join(&mut self, a: usize, b: usize) {
        self.cuts.remove(&(a, b));
        self.cuts.remove(&(b, a));
    }

    /// Cuts or joins every pair of boards on two sides.
    pub fn part(&mut self, is_cut: bool, is_left: impl Fn(usize) -> bool) {
        let count = self.boards.len();
        for (a, b) in (0..count).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&(a, b)| is_left(a) != is_left(b)) {
            if is_cut { self.cut(a, b) } else { self.join(a, b) }
        }
    }

    /// Whether boards are connected by links that are up at both ends.
    pub fn is_connected(&self, boards: &[usize]) -> bool {
        let is_linked = |a: usize, b: usize| {
            let [x, y] = [a, b].map(|board| &self.boards[board].node);
            x.links().table().is_linked(y.id()) && y.links().table().is_linked(x.id())
        };
        let mut reached = BTreeSet::from([boards[0]]);
        let mut edge = vec![boards[0]];
        while let Some(a) = edge.pop() {
            let found: Vec<_> = boards.iter().copied().filter(|&b| !reached.contains(&b) && is_linked(a, b)).collect();
            reached.extend(&found);
            edge.extend(found);
        }
        reached.len() == boards.len()
    }

    /// The notices of a board that are of some kind.
    pub fn count(&self, board: usize, is_meant: impl Fn(&Notice) -> bool) -> usize {
        self.boards[board].notices.iter().filter(|(_, notice)| is_meant(notice)).count()
    }

    /// Throws bytes at a board, as if they had been received.
    pub fn inject(&mut self, board: usize, bytes: &[u8]) {
        let now = self.now;
        self.boards[board].node.handle_frame(now, &mut bytes.to_vec()[..], RSSI_DBM);
        self.settle(board);
    }

    /// Tells a board something.
    /// Calls a board's node.
    pub fn call<T>(&mut self, board: usize, call: impl FnOnce(&mut Node, Instant) -> T) -> T {
        let outcome = call(&mut self.boards[board].node, self.now);
        self.settle(board);
        outcome
    }

    pub fn signal(&mut self, board: usize, signal: Signal) {
        let now = self.now;
        self.boards[board].node.handle_signal(now, signal);
        self.settle(board);
    }

    pub fn run(&mut self, length: Duration) {
        let until = self.now + length;
        self.run_until(until, |_| false);
    }

    /// Runs until something is so; whether it became so in time.
    pub fn run_until(&mut self, until: Instant, is_so: impl Fn(&Self) -> bool) -> bool {
        loop {
            if is_so(self) {
                return true;
            }
            let wake = (self.boards.iter().enumerate().filter(|(_, board)| board.is_on))
                .filter_map(|(index, board)| Some((board.node.poll_timeout()?, index)))
                .min();
            let event = self.queue.keys().next().copied();
            let at = wake.map(|(at, _)| at).into_iter().chain(event.map(|(at, _)| at)).min();
            let Some(at) = at.filter(|&at| at <= until) else {
                self.now = self.now.max(until);
                return is_so(self);
            };
            self.now = self.now.max(at);
            if let Some(event) = event.filter(|&(due, _)| due <= at).and_then(|key| self.queue.remove(&key)) {
                self.happen(event);
            } else if let Some((_, board)) = wake {
                let now = self.now;
                self.boards[board].node.handle_timeout(now);
                self.settle(board);
            }
        }
    }

    /// The leaders that boards follow; none if they do not agree.
    pub fn agreed(&self, boards: impl IntoIterator<Item = usize>) -> Option<NodeId> {
        let leaders: BTreeSet<_> = boards.into_iter().map(|board| self.boards[board].node.leader()).collect();
        if leaders.len() == 1 { leaders.into_iter().next().flatten() } else { None }
    }

    fn add(&mut self, at: Instant, event: Event) {
        self.order += 1;
        self.queue.insert((at, self.order), event);
    }

    fn airtime(bytes: &[u8]) -> Duration {
        Duration::from_micros((6 + 2 + bytes.len() as u64) * 32)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Begin(board) => {
                if self.boards[board].waiting.is_none() {
                    return;
                }
                let busy_until = self.busy_until(board);
                if busy_until > self.now {
                    let pause = Duration::from_micros(320 * u64::from(1 + self.rng.below(7)));
                    self.add(busy_until + pause, Event::Begin(board));
                    return;
                }
                if let Some(bytes) = self.boards[board].waiting.take() {
                    let end = self.now + Self::airtime(&bytes);
                    self.occupy(board, self.now, end);
                    self.add(end, Event::End(board, bytes));
                }
            }
            Event::End(board, bytes) => {
                self.deliver(board, &bytes);
                if self.boards[board].is_on {
                    let now = self.now;
                    self.boards[board].node.handle_sent(now, Sent::Done);
                    self.settle(board);
                }
            }
            Event::TimedEnd(board, bytes) => self.deliver(board, &bytes),
        }
    }

    fn occupy(&mut self, board: usize, begin: Instant, end: Instant) {
        self.busy_until = self.busy_until.max(end);
        let long_ago = self.now - Duration::from_millis(20);
        self.on_air.retain(|&(_, _, end)| end > long_ago);
        self.on_air.push((board, begin, end));
    }

    /// Until when a board senses a carrier.
    fn busy_until(&self, board: usize) -> Instant {
        if !self.collides {
            return self.busy_until;
        }
        let is_sensed = |&&(from, begin, _): &&(usize, Instant, Instant)| {
            begin <= self.now && (from == board || !self.cuts.contains(&(from, board)))
        };
        self.on_air.iter().filter(is_sensed).map(|&(_, _, end)| end).max().unwrap_or(Instant::ZERO)
    }

    /// Whether a frame that ends now and was sent from one board is spoilt at another.
    fn is_spoilt(&self, from: usize, to: usize, begin: Instant) -> bool {
        let overlaps = |&(other, other_begin, other_end): &(usize, Instant, Instant)| {
            other != from && !self.cuts.contains(&(other, to)) && other_begin < self.now && other_end > begin
        };
        self.collides && self.on_air.iter().any(overlaps)
    }

    fn deliver(&mut self, from: usize, bytes: &[u8]) {
        let begin = self.now - Self::airtime(bytes);
        if let Some(heard) = &mut self.heard {
            heard.push(bytes.to_vec());
        }
        for to in 0..self.boards.len() {
            let is_cut = self.cuts.contains(&(from, to)) || self.is_spoilt(from, to, begin);
            if to != from && self.boards[to].is_on && !is_cut && self.rng.below(1_000) >= self.loss {
                let now = self.now;
                let strength = self.strengths.get(&(from, to)).copied().unwrap_or(RSSI_DBM);
                self.boards[to].node.handle_frame(now, &mut bytes.to_vec()[..], strength);
                self.settle(to);
            }
        }
    }

    /// Does what a board wants.
    fn settle(&mut self, board: usize) {
        let now = self.now;
        let mut buf = [0; FRAME_MAX];
        let Board { node, flash, .. } = &mut self.boards[board];
        if let Some(flash) = flash {
            flash.work(now, node);
        }
        while let Some(transmit) = self.boards[board].node.poll_transmit(now, &mut buf) {
            let bytes = buf[..transmit.length].to_vec();
            match transmit.access {
                Access::At(at) => {
                    let end = at + Self::airtime(&bytes);
                    self.occupy(board, at, end);
                    self.add(end, Event::TimedEnd(board, bytes));
                }
                Access::Csma => {
                    self.boards[board].waiting = Some(bytes);
                    let back_off = Duration::from_micros(320 * u64::from(self.rng.below(8)));
                    self.add(now + back_off, Event::Begin(board));
                }
            }
        }
        while let Some(notice) = self.boards[board].node.poll_notice() {
            assert!(
                !matches!(notice, Notice::Fault(_) | Notice::Lost(_)),
                "{notice:?} at board {board}, seed {}",
                self.seed
            );
            self.boards[board].notices.push((now, notice));
        }
    }
}

fn make(config: &Config, seed: u64, index: usize, epoch: u16, boots: u64) -> Node {
    let device = u16::try_from(index + 1).unwrap_or(0);
    let boot = Boot { epoch: Some(epoch), seed: seed ^ boots << 32 ^ u64::from(device) << 16, device };
    Node::new(config, boot).unwrap_or_else(|error| panic!("{error}"))
}
