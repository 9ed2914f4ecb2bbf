//! A few whole nodes on one channel, where somebody else chooses what becomes of each frame. Without a choice nothing is lost or
//! late, so a run is a function of its start and the choices made.

use std::collections::BTreeMap;

use common::config::{Boot, Config, Protection};
use common::mac::phy::FRAME_MAX;
use common::mac::{Access, Sent};
use common::node::Node;
use common::notice::Notice;
use common::protocol::Signal;
use common::time::{Duration, Instant};
use common::types::NodeId;

use crate::ledger::Ledger;

/// Strength of every frame.
const RSSI_DBM: i8 = -60;

/// Boards as bits.
pub type Boards = u32;

/// What a frame comes to if it does not simply arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twist {
    /// One board does not hear it.
    LostAt(usize),
    /// Nobody hears it.
    Lost,
    /// The channel is busy for so many milliseconds before it.
    Late(u64),
}

/// How late a frame may be: a little, and later than whoever waits for it expects.
const LATE: [u64; 2] = [25, 150];

#[derive(Clone, Debug)]
enum Event {
    /// A frame given out with carrier sensing may begin.
    Begin(usize),
    End {
        from: usize,
        bytes: Vec<u8>,
        is_timed: bool,
    },
    Befall(Deed),
}

/// What befalls boards from outside.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    SwitchOff(usize),
    /// It boots with the next epoch.
    SwitchOn(usize),
    /// Two no longer hear each other.
    Cut(usize, usize),
    Join(usize, usize),
    /// The second no longer hears the first.
    Mute(usize, usize),
    Tell(usize, Signal),
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Wake(usize),
    Happen((Instant, u32)),
}

#[derive(Clone)]
pub struct Board {
    config: Config,
    pub node: Node,
    pub is_on: bool,
    life: u16,
    waiting: Option<Vec<u8>>,
    /// From whom it hears nothing.
    pub deaf_to: Boards,
}

#[derive(Clone)]
pub struct World {
    pub now: Instant,
    pub boards: Vec<Board>,
    pub ledger: Ledger,
    queue: BTreeMap<(Instant, u32), Event>,
    order: u32,
    busy_until: Instant,
    seed: u64,
    /// What was chosen, and when.
    pub chosen: Vec<(Instant, usize, Twist)>,
}

fn node(config: &Config, seed: u64, board: usize, life: u16) -> Node {
    let device = u16::try_from(board + 1).expect("few boards");
    let boot = Boot { epoch: Some(life), seed: seed ^ u64::from(life) << 32 ^ u64::from(device) << 16, device };
    Node::new(config, boot).unwrap_or_else(|error| panic!("{error}"))
}

impl World {
    /// Boards that are joined by these edges, switched on.
    pub fn new(seed: u64, count: usize, edges: &[(usize, usize)]) -> Self {
        let mut world = Self {
            now: Instant::from_millis(1),
            boards: Vec::new(),
            ledger: Ledger::of(count),
            queue: BTreeMap::new(),
            order: 0,
            busy_until: Instant::ZERO,
            seed,
            chosen: Vec::new(),
        };
        for board in 0..count {
            let id = NodeId(u16::try_from(board + 1).expect("few boards"));
            let config = Config::ad_hoc(id, 7, Protection::Open);
            let node = node(&config, seed, board, 1);
            let hears = |other: usize| edges.contains(&(other, board)) || edges.contains(&(board, other));
            let deaf_to = (0..count).filter(|&other| !hears(other)).fold(0, |deaf, other| deaf | 1 << other);
            world.boards.push(Board { config, node, is_on: true, life: 1, waiting: None, deaf_to });
        }
        for board in 0..count {
            world.call(board, Node::handle_start);
        }
        world
    }

    pub fn id(&self, board: usize) -> NodeId {
        self.boards[board].node.id()
    }

    pub fn alive(&self) -> impl Iterator<Item = usize> {
        (0..self.boards.len()).filter(|&board| self.boards[board].is_on)
    }

    /// Lets something befall the boards, so long from now.
    pub fn plan(&mut self, after: Duration, deed: Deed) {
        self.add(self.now + after, Event::Befall(deed));
    }

    pub fn befall(&mut self, deed: Deed) {
        match deed {
            Deed::SwitchOff(board) => {
                self.boards[board].is_on = false;
                self.boards[board].waiting = None;
                self.ledger.ends(board);
            }
            Deed::SwitchOn(board) => {
                let Board { config, life, .. } = &self.boards[board];
                let life = life + 1;
                let node = node(config, self.seed, board, life);
                self.boards[board] = Board { node, life, is_on: true, waiting: None, ..self.boards[board].clone() };
                self.call(board, Node::handle_start);
            }
            Deed::Mute(from, to) => self.boards[to].deaf_to |= 1 << from,
            Deed::Cut(one, other) => {
                self.befall(Deed::Mute(one, other));
                self.befall(Deed::Mute(other, one));
            }
            Deed::Join(one, other) => {
                self.boards[one].deaf_to &= !(1 << other);
                self.boards[other].deaf_to &= !(1 << one);
            }
            Deed::Tell(board, signal) => self.call(board, |node, now| node.handle_signal(now, signal)),
        }
    }

    /// What happens next, until then.
    pub fn next(&self, until: Instant) -> Option<Step> {
        let wake = self.alive().filter_map(|board| Some((self.boards[board].node.poll_timeout()?, board))).min();
        let event = self.queue.keys().next().copied();
        let is_event = event.is_some_and(|(at, _)| wake.is_none_or(|(wake, _)| at <= wake));
        let (at, step) = if is_event {
            event.map(|key| (key.0, Step::Happen(key)))?
        } else {
            wake.map(|(at, board)| (at, Step::Wake(board)))?
        };
        (at <= until).then_some(step)
    }

    /// What else may become of it.
    pub fn twists(&self, step: Step, twists: &mut Vec<Twist>) {
        twists.clear();
        let Step::Happen(key) = step else { return };
        match self.queue.get(&key) {
            Some(Event::Begin(board)) if self.boards[*board].waiting.is_some() && self.busy_until <= key.0 => {
                twists.extend(LATE.map(Twist::Late));
            }
            Some(Event::End { from, .. }) => {
                twists.extend(self.hearers(*from).map(Twist::LostAt));
                if twists.len() > 1 {
                    twists.push(Twist::Lost);
                }
            }
            _ => {}
        }
    }

    /// Makes it happen.
    pub fn perform(&mut self, step: Step, twist: Option<Twist>) {
        let event = match step {
            Step::Wake(board) => {
                let wake = self.boards[board].node.poll_timeout().unwrap_or(self.now);
                self.now = self.now.max(wake);
                self.call(board, Node::handle_timeout);
                return;
            }
            Step::Happen(key) => {
                self.now = self.now.max(key.0);
                self.queue.remove(&key)
            }
        };
        match event {
            Some(Event::Begin(board)) => self.begin(board, twist),
            Some(Event::End { from, bytes, is_timed }) => {
                if let Some(twist) = twist {
                    self.chosen.push((self.now, from, twist));
                }
                for to in self.hearers(from).collect::<Vec<_>>() {
                    if twist.is_none_or(|twist| twist != Twist::Lost && twist != Twist::LostAt(to)) {
                        self.call(to, |node, now| node.handle_frame(now, &mut bytes.clone()[..], RSSI_DBM));
                    }
                }
                if !is_timed && self.boards[from].is_on {
                    self.call(from, |node, now| node.handle_sent(now, Sent::Done));
                }
            }
            Some(Event::Befall(deed)) => self.befall(deed),
            None => {}
        }
    }

    /// Whether something is still to befall the boards.
    pub fn is_planned(&self) -> bool {
        self.queue.values().any(|event| matches!(event, Event::Befall(_)))
    }

    /// Lets time pass without choices.
    pub fn run(&mut self, length: Duration) {
        let until = self.now + length;
        while let Some(step) = self.next(until) {
            self.perform(step, None);
        }
        self.now = until;
    }

    fn hearers(&self, from: usize) -> impl Iterator<Item = usize> {
        self.alive().filter(move |&to| to != from && self.boards[to].deaf_to >> from & 1 == 0)
    }

    fn begin(&mut self, board: usize, twist: Option<Twist>) {
        if self.boards[board].waiting.is_none() {
            return;
        }
        if let Some(Twist::Late(millis)) = twist {
            self.chosen.push((self.now, board, Twist::Late(millis)));
            self.add(self.now + Duration::from_millis(millis), Event::Begin(board));
        } else if self.busy_until > self.now {
            // Whoever waits for the same carrier goes on one after the other.
            self.add(self.busy_until + Duration::from_micros(320 * (board as u64 + 1)), Event::Begin(board));
        } else if let Some(bytes) = self.boards[board].waiting.take() {
            let end = self.now + airtime(&bytes);
            self.busy_until = self.busy_until.max(end);
            self.add(end, Event::End { from: board, bytes, is_timed: false });
        }
    }

    fn add(&mut self, at: Instant, event: Event) {
        self.order += 1;
        self.queue.insert((at, self.order), event);
    }

    /// Calls a node and does what it wants.
    fn call(&mut self, board: usize, call: impl FnOnce(&mut Node, Instant)) {
        let now = self.now;
        let had_peers = !self.boards[board].node.is_alone();
        call(&mut self.boards[board].node, now);
        let mut buf = [0; FRAME_MAX];
        while let Some(transmit) = self.boards[board].node.poll_transmit(now, &mut buf) {
            let bytes = buf[..transmit.length].to_vec();
            match transmit.access {
                Access::At(at) => {
                    let end = at + airtime(&bytes);
                    self.busy_until = self.busy_until.max(end);
                    self.add(end, Event::End { from: board, bytes, is_timed: true });
                }
                Access::Csma => {
                    self.boards[board].waiting = Some(bytes);
                    let back_off = Duration::from_micros(320 * (board as u64 + 1));
                    self.add(now + back_off, Event::Begin(board));
                }
            }
        }
        while let Some(notice) = self.boards[board].node.poll_notice() {
            if matches!(notice, Notice::Fault(_) | Notice::Lost(_)) {
                self.ledger.breach(format!("{notice:?} at board {board}"));
            }
        }
        self.ledger.enter(now, &self.boards, board, had_peers);
    }
}

fn airtime(bytes: &[u8]) -> Duration {
    Duration::from_micros((6 + 2 + bytes.len() as u64) * 32)
}
