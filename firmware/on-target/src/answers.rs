//! How long a node takes from the end of a frame to its acknowledgement, by the cycle counter.
//!
//! Two nodes live on one chip, without a radio between them: they meet and elect again and again, and each frame that asks
//! for an answer is timed. What an image adds to that, two changes of task, is not in here.

use common::config::{Boot, Config, NetworkKey, Protection};
use common::mac::phy::{FRAME_MAX, airtime};
use common::mac::{ANSWER_SET_UP, Access, Sent, TURN_ROUND, Transmit};
use common::node::Node;
use common::protocol::Signal;
use common::time::{Duration, Instant};
use common::types::NodeId;
use static_cell::StaticCell;

use crate::cycles;

/// What remains of the turn-round when the radio has been set up.
pub const BUDGET_US: u32 = micros(TURN_ROUND) - micros(ANSWER_SET_UP);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, defmt::Format)]
pub struct Answers {
    pub count: u32,
    /// How many took longer than there is time.
    pub late: u32,
    pub total_cycles: u64,
    pub longest_cycles: u32,
}

impl Answers {
    fn add(&mut self, cycles: u32) {
        self.count += 1;
        self.late += u32::from(cycles > BUDGET_US * cycles::PER_US);
        self.total_cycles += u64::from(cycles);
        self.longest_cycles = self.longest_cycles.max(cycles);
    }

    /// On average.
    pub fn mean_us(&self) -> u32 {
        let mean = self.total_cycles / u64::from(self.count.max(1));
        u32::try_from(mean).unwrap_or(u32::MAX) / cycles::PER_US
    }

    pub fn longest_us(&self) -> u32 {
        self.longest_cycles / cycles::PER_US
    }
}

/// Two nodes, and a time that passes as fast as the chip computes.
pub struct Pair {
    nodes: [&'static mut Node; 2],
    now: Instant,
}

impl Pair {
    /// Makes the nodes, once.
    pub fn new() -> Option<Self> {
        static FIRST: StaticCell<Node> = StaticCell::new();
        static SECOND: StaticCell<Node> = StaticCell::new();
        let nodes = [FIRST.init(node(1)?), SECOND.init(node(2)?)];
        let mut pair = Self { nodes, now: Instant::ZERO };
        for node in &mut pair.nodes {
            node.handle_start(pair.now);
        }
        Some(pair)
    }

    /// Lets this many seconds of the nodes' time pass, with an election every second.
    pub fn run(&mut self, seconds: u64) -> Answers {
        let mut answers = Answers::default();
        for _ in 0..seconds {
            let until = self.now + Duration::from_millis(1_000);
            while self.now < until {
                while self.carry(0, &mut answers) | self.carry(1, &mut answers) {}
                let next = self.nodes.iter().filter_map(|node| node.poll_timeout()).min();
                self.now = next.map_or(until, |next| next.max(self.now));
                for node in &mut self.nodes {
                    node.handle_timeout(self.now);
                }
            }
            self.nodes[0].handle_signal(self.now, Signal::Elect);
        }
        answers
    }

    /// Everything that a driver does for a node; whether anything was sent.
    fn carry(&mut self, from: usize, answers: &mut Answers) -> bool {
        let mut frame = [0; FRAME_MAX];
        let mut carried = false;
        let [first, second] = &mut self.nodes;
        let (from, to) = if from == 0 { (first, second) } else { (second, first) };
        while let Some(Transmit { length, access }) = from.poll_transmit(self.now, &mut frame) {
            carried = true;
            match access {
                Access::At(at) => self.now = at + airtime(length),
                Access::Csma => {
                    self.now = self.now + airtime(length);
                    from.handle_sent(self.now, Sent::Done);
                }
            }
            let Some(bytes) = frame.get_mut(..length) else { continue };
            let began = cycles::now();
            to.handle_frame(self.now, bytes, -60);
            let mut answer = [0; FRAME_MAX];
            let given = to.poll_transmit(self.now, &mut answer);
            let took = cycles::now().wrapping_sub(began);
            // What it gives out otherwise is a frame of its own, and lost here. It will send it again.
            match given {
                Some(Transmit { access: Access::At(at), length }) => {
                    answers.add(took);
                    self.now = at + airtime(length);
                    if let Some(bytes) = answer.get_mut(..length) {
                        from.handle_frame(self.now, bytes, -60);
                    }
                }
                Some(Transmit { access: Access::Csma, .. }) => to.handle_sent(self.now, Sent::Done),
                None => {}
            }
        }
        for node in [from, to] {
            while node.poll_notice().is_some() {}
        }
        carried
    }
}

fn node(id: u16) -> Option<Node> {
    let key = Protection::Ascon(NetworkKey::new(*b"two on one chip."));
    let config = Config::ad_hoc(NodeId(id), 7, key);
    Node::new(&config, Boot { epoch: Some(1), seed: 42 + u64::from(id), device: id }).ok()
}

#[expect(clippy::cast_possible_truncation, reason = "a turn-round is far below an hour")]
const fn micros(duration: Duration) -> u32 {
    duration.as_micros() as u32
}
