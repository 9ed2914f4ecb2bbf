//! Two nodes on this board elect a leader between them before the board joins anything.
//!
//! Their messages are encoded and decoded as on the air, and their time is the test's own, so it takes no longer than
//! the computing. The link comes up, goes down and comes back; the two must agree each time they can talk, and the core
//! must report no defect.

use common::coefficient::Coefficient;
use common::election::height::HeightOptions;
use common::election::hierarchy::Radii;
use common::election::{Algorithm, Election, ElectionConfig, Timing};
use common::engine::Engine;
use common::limits::MESSAGE_MAX;
use common::members::RingOrder;
use common::notice::{Fault, Notice};
use common::protocol::{Protocol, Signal};
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::{NodeId, RingPlace};

/// One hop is a frame of 4 ms on the air, its acknowledgement and some backing off before each.
const TIMING: Timing = Timing {
    hop: Duration::from_millis(20),
    answer: Duration::from_millis(100),
    patience: Duration::from_millis(10_000),
};

/// A local leader within two hops of everybody, where the hierarchy is chosen.
const RADII: [u8; 1] = [2];

const LOWER: NodeId = NodeId(1);
const HIGHER: NodeId = NodeId(2);

/// Moves of the pair until they must agree. HS, which takes the longest, needs four.
const MOVES_MAX: usize = 64;

/// How a self-test failed.
#[derive(defmt::Format)]
pub enum Failure {
    /// The two did not agree in time.
    NoAgreement,
    /// The core found a defect in itself.
    Defect(Fault),
    /// A message did not survive its encoding.
    BadMessage,
    /// The test itself is set up wrongly.
    SetUp,
}

/// Runs the test with one algorithm.
pub fn run(algorithm: Algorithm, rng: &mut Rng) -> Result<(), Failure> {
    let mut pair = Pair::new(algorithm, rng)?;
    pair.link_up()?;
    for node in &mut pair.nodes {
        node.handle_start(pair.now);
    }
    pair.agree()?;
    pair.link_down()?;
    pair.link_up()?;
    for node in &mut pair.nodes {
        node.handle_signal(pair.now, Signal::Elect);
    }
    pair.agree()
}

/// How a node of the test is set up.
fn config(algorithm: Algorithm, order: RingOrder, place: RingPlace) -> Result<ElectionConfig, Failure> {
    let (coefficient, height) = (Coefficient::default(), HeightOptions::default());
    let radii = Radii::new(&RADII).map_err(|_| Failure::SetUp)?;
    Ok(ElectionConfig { algorithm, order, place, coefficient, height, radii, timing: TIMING })
}

struct Pair {
    nodes: [Engine<Election>; 2],
    now: Instant,
}

impl Pair {
    fn new(algorithm: Algorithm, rng: &mut Rng) -> Result<Self, Failure> {
        let order = RingOrder::new(&[LOWER, HIGHER]).map_err(|_| Failure::SetUp)?;
        let mut node = |id: NodeId, other: NodeId| {
            let place = RingPlace { left: other, right: other };
            let election = Election::new(id, config(algorithm, order.clone(), place)?);
            Ok(Engine::new(id, rng.next_u64(), election))
        };
        Ok(Self { nodes: [node(LOWER, HIGHER)?, node(HIGHER, LOWER)?], now: Instant::ZERO })
    }

    fn link_up(&mut self) -> Result<(), Failure> {
        let [lower, higher] = &mut self.nodes;
        lower.handle_link_up(self.now, HIGHER).map_err(|_| Failure::SetUp)?;
        higher.handle_link_up(self.now, LOWER).map_err(|_| Failure::SetUp)
    }

    fn link_down(&mut self) -> Result<(), Failure> {
        let [lower, higher] = &mut self.nodes;
        lower.handle_link_down(self.now, HIGHER);
        higher.handle_link_down(self.now, LOWER);
        self.check_notices()
    }

    /// Lets the two talk, and time pass where they wait for it, until both are quiet and follow the same leader.
    fn agree(&mut self) -> Result<(), Failure> {
        for _ in 0..MOVES_MAX {
            // A hop takes exactly what the algorithms were told: some are told the least, some the most.
            let arrival = self.now + TIMING.hop;
            let [lower, higher] = &mut self.nodes;
            let talked = carry(lower, higher, arrival) | carry(higher, lower, arrival);
            self.check_notices()?;
            if talked {
                self.now = arrival;
            } else if self.leader().is_some() {
                return Ok(());
            } else {
                self.wait()?;
            }
        }
        Err(Failure::NoAgreement)
    }

    fn wait(&mut self) -> Result<(), Failure> {
        let deadlines = self.nodes.iter().filter_map(Engine::poll_timeout);
        self.now = deadlines.min().ok_or(Failure::NoAgreement)?.max(self.now);
        for node in &mut self.nodes {
            node.handle_timeout(self.now);
        }
        Ok(())
    }

    fn leader(&self) -> Option<NodeId> {
        let [lower, higher] = &self.nodes;
        lower.protocol().leader().filter(|&leader| higher.protocol().leader() == Some(leader))
    }

    fn check_notices(&mut self) -> Result<(), Failure> {
        for node in &mut self.nodes {
            while let Some(notice) = node.poll_notice() {
                match notice {
                    Notice::Fault(fault) => return Err(Failure::Defect(fault)),
                    Notice::BadMessage(_) | Notice::NotAPeer(_) => return Err(Failure::BadMessage),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Hands over everything one node has for the other; false where there was nothing.
fn carry(from: &mut Engine<Election>, to: &mut Engine<Election>, arrival: Instant) -> bool {
    let mut buf = [0; MESSAGE_MAX];
    let mut carried = false;
    while let Some(transmit) = from.poll_transmit(&mut buf) {
        to.handle_message(arrival, from.id(), transmit.bytes);
        carried = true;
    }
    carried
}
