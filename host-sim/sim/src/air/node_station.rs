//! The whole node of the core as a station: the driver that a board has, without the board.

use std::cell::RefCell;
use std::rc::Rc;

use common::config::{Boot, Config, ConfigError};
use common::data::wire::ANSWER_MAX;
use common::host_link::Question;
use common::mac::phy::{FCS_BYTES, FRAME_MAX};
use common::node::Node;
use common::notice::{Event, Notice};
use common::orders::{Command, Outcome};
use common::protocol::Signal;
use common::rng::Rng;
use common::time::Instant;
use common::types::NodeId;

use super::collector::Collector;
use super::flash::SharedFlash;
use super::opening::{LastOpened, Shared};
use super::soft_state::Tally;
use super::station::{Room, Sent, Station, Transmit};

/// What a driver has kept of orders, piece by piece. Shared by all lives of a node.
pub type KeptOrders = Rc<RefCell<Vec<Vec<u8>>>>;

/// A node with its driver.
#[derive(Clone, Debug)]
pub struct NodeStation {
    node: Node,
    tally: Tally,
    collector: Option<Box<Collector>>,
    /// What its driver keeps of orders through power cuts; `None` if it keeps nothing.
    kept: Option<KeptOrders>,
    outcomes: Vec<(u8, Outcome)>,
    /// Answers to its questions: number, who answers, and what.
    answers: Vec<(u8, NodeId, Vec<u8>)>,
}

impl NodeStation {
    /// A station that has not started.
    pub fn new(config: &Config, boot: Boot) -> Result<Self, ConfigError> {
        let node = Node::new(config, boot)?;
        Ok(Self {
            node,
            tally: Tally::default(),
            outcomes: Vec::new(),
            answers: Vec::new(),
            collector: None,
            kept: None,
        })
    }

    /// The same, with a driver that keeps orders here.
    #[must_use]
    pub fn keeping(self, kept: KeptOrders) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// The same, with a driver that measures, stores and logs.
    #[must_use]
    pub fn collecting(self, collector: Collector) -> Self {
        Self { collector: Some(Box::new(collector)), ..self }
    }

    /// What its driver has stored and logged.
    pub fn flash(&self) -> Option<&SharedFlash> {
        self.collector.as_ref().map(|collector| collector.flash())
    }

    pub fn node(&self) -> &Node {
        &self.node
    }

    pub fn tally(&self) -> Tally {
        let counters = self.node.links().counters();
        Tally {
            ups: u64::from(counters.links_up),
            downs: u64::from(counters.links_down),
            foreign: u64::from(counters.foreign),
            malformed: u64::from(counters.malformed),
            forged: u64::from(counters.forged),
            replayed: u64::from(counters.replayed),
            retries: u64::from(counters.retries),
            unsent: u64::from(counters.busy),
            ..self.tally
        }
    }

    /// Defects that it reported.
    pub fn faults(&self) -> u64 {
        self.tally.faults
    }

    /// The driver has stored an epoch after all.
    pub fn handle_epoch(&mut self, now: Instant, epoch: u16) {
        self.node.handle_epoch(now, epoch);
        self.collect(now);
    }

    /// A button, a command, a new coefficient.
    pub fn handle_signal(&mut self, now: Instant, signal: Signal) {
        self.node.handle_signal(now, signal);
        self.collect(now);
    }

    /// Gives it a command; none if it has too many without an outcome.
    pub fn submit(&mut self, now: Instant, command: Command) -> Option<u8> {
        let number = self.node.submit(now, command).ok();
        self.collect(now);
        number
    }

    /// Has it ask all nodes for their state.
    pub fn ask(&mut self, now: Instant, Question { number, turn, known }: Question) {
        self.node.ask(now, number, turn, known);
        self.collect(now);
    }

    /// The answers that have come since the last call.
    pub fn take_answers(&mut self) -> Vec<(u8, NodeId, Vec<u8>)> {
        std::mem::take(&mut self.answers)
    }

    /// What became of its commands, with their numbers, in the order in which it was told.
    pub fn outcomes(&self) -> &[(u8, Outcome)] {
        &self.outcomes
    }

    /// Its memory goes wrong: in part it is what it was at another time.
    pub fn corrupt(&mut self, now: Instant, rng: &mut Rng, other: &Self) {
        self.node.corrupt(now, rng, other.node.clone());
        self.collect(now);
    }

    pub fn signal(&mut self, now: Instant, signal: Signal) {
        self.node.handle_signal(now, signal);
        self.collect(now);
    }

    /// Notices are for people; here they are counted. What the node wants stored is stored.
    fn collect(&mut self, now: Instant) {
        if let Some(collector) = &mut self.collector {
            collector.work(now, &mut self.node);
        }
        if let Some(kept) = self.kept.as_ref().filter(|_| self.node.poll_kept(now)) {
            let mut pieces = kept.borrow_mut();
            pieces.clear();
            self.node.orders().keep(&mut |piece| pieces.push(piece.to_vec()));
        }
        self.outcomes.extend(std::iter::from_fn(|| self.node.poll_outcome()));
        let mut buf = [0; ANSWER_MAX];
        while let Some((from, number, length)) = self.node.poll_answer(&mut buf) {
            self.answers.push((number, from, buf.get(..length).unwrap_or_default().to_vec()));
        }
        // A simulated node has no light, and restarts when its scenario says so.
        while self.node.poll_action().is_some() {}
        while let Some(notice) = self.node.poll_notice() {
            match notice {
                Notice::Event(Event::ElectedSelf) => self.tally.elections += 1,
                Notice::Event(Event::Searching) => self.tally.searches += 1,
                Notice::Fault(_) => self.tally.faults += 1,
                _ => {}
            }
        }
    }
}

thread_local! {
    /// Shared by all nodes of a run: what many hear is opened once.
    static LAST_OPENED: RefCell<LastOpened> = const { RefCell::new(LastOpened::new()) };
}

impl Station for NodeStation {
    fn handle_start(&mut self, now: Instant) {
        for piece in self.kept.iter().flat_map(|kept| kept.borrow().clone()) {
            self.node.handle_kept(&piece);
        }
        if let Some(collector) = &mut self.collector {
            collector.start(now, &mut self.node);
        }
        self.node.handle_start(now);
        self.collect(now);
    }

    fn handle_frame(&mut self, now: Instant, psdu: &[u8], rssi_dbm: f64) {
        let Some((frame, _)) = psdu.split_last_chunk::<FCS_BYTES>() else { return };
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates at both ends")]
        let rssi_dbm = rssi_dbm.round() as i8;
        LAST_OPENED.with_borrow_mut(|last| self.node.handle_frame(now, &mut Shared { frame, last }, rssi_dbm));
        self.collect(now);
    }

    fn handle_sent(&mut self, now: Instant, sent: Sent) {
        self.node.handle_sent(now, sent);
        self.collect(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(collector) = &mut self.collector {
            collector.measure(now, &mut self.node);
        }
        self.node.handle_timeout(now);
        self.collect(now);
    }

    /// The node knows itself what it has given out: one frame that waits for the channel, and one acknowledgement, which is
    /// through before the next frame that wants one could have arrived.
    fn poll_transmit(&mut self, now: Instant, _room: Room, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        self.node.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let sample = self.collector.as_ref().map(|collector| collector.due()).filter(|&due| due != Instant::NEVER);
        self.node.poll_timeout().into_iter().chain(sample).min()
    }

    fn quiet_until(&self) -> Instant {
        self.node.quiet_until()
    }
}
