//! Running one election on the ideal network and counting what it costs.

use anyhow::{Context, bail, ensure};
use common::election::abraham::Abraham;
use common::election::bully::{Bully, BullyConfig};
use common::election::circle::RingConfig;
use common::election::hs::Hs;
use common::election::lcr::Lcr;
use common::election::modified_bully::ModifiedBully;
use common::election::ring::Ring;
use common::election::timer_based::TimerBased;
use common::members::RingOrder;
use common::protocol::{Protocol, Signal};
use common::time::{Duration, Instant};
use common::types::{NodeId, RingPlace};
use ideal::index::NodeIndex;
use ideal::net::{Counts, Net, ROUND};
use ideal::ring;

/// Far more rounds than any election of these sizes takes, which is fewer than ten per node.
const ROUNDS_MAX: u64 = 100_000;

/// The waits of Bully and Modified Bully. A question and its answer take a round each; a node that answered asks in its
/// turn a round later, so that answer and question are sent one after the other.
const BULLY: BullyConfig = BullyConfig { answer: ROUND.times(2), take_over: ROUND, announcement: ROUND.times(8) };

/// The nodes that begin the election; the others sleep until a message arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starters {
    All,
    One(NodeId),
}

impl Starters {
    fn include(self, id: NodeId) -> bool {
        match self {
            Self::All => true,
            Self::One(starter) => starter == id,
        }
    }
}

/// What an election cost.
#[derive(Clone, Debug)]
pub struct Run {
    pub counts: Counts,
    /// Rounds until the last message arrived.
    pub steps: u64,
    /// Rounds until the last node settled on the leader it kept.
    pub decided: u64,
    pub leader: NodeId,
}

pub fn hs(ids: &[NodeId], starters: Starters) -> anyhow::Result<Run> {
    run_ring(ids, starters, |id, place| Hs::new(id, ring_config(place)))
}

pub fn lcr(ids: &[NodeId], starters: Starters) -> anyhow::Result<Run> {
    run_ring(ids, starters, |_, place| Lcr::new(ring_config(place)))
}

pub fn abraham(ids: &[NodeId], starters: Starters) -> anyhow::Result<Run> {
    run_ring(ids, starters, |_, place| Abraham::new(ring_config(place)))
}

pub fn timer_based(ids: &[NodeId], starters: Starters) -> anyhow::Result<Run> {
    let nodes = u16::try_from(ids.len())?;
    run_ring(ids, starters, |_, place| TimerBased::new(ring_config(place), nodes, ROUND))
}

pub fn ring(ids: &[NodeId], starters: Starters) -> anyhow::Result<Run> {
    let Ok(order) = RingOrder::new(ids) else { bail!("{} ids do not form a ring", ids.len()) };
    run_ring(ids, starters, |_, _| Ring::new(order.clone(), Duration::ZERO))
}

/// Runs Bully among the live nodes 1 to n, where node n + 1 led and has just crashed.
pub fn bully(live: u16, detectors: Starters) -> anyhow::Result<Run> {
    run_clique(live, detectors, || Bully::new(BULLY))
}

/// Runs Modified Bully among the live nodes 1 to n, where node n + 1 led and has just crashed.
pub fn modified_bully(live: u16, detectors: Starters) -> anyhow::Result<Run> {
    run_clique(live, detectors, || ModifiedBully::new(BULLY))
}

fn ring_config(place: RingPlace) -> RingConfig {
    RingConfig { place, patience: Duration::ZERO }
}

fn run_ring<P: Protocol>(
    ids: &[NodeId],
    starters: Starters,
    node: impl Fn(NodeId, RingPlace) -> P,
) -> anyhow::Result<Run> {
    let mut net = Net::<P, 2>::default();
    for at in NodeIndex::first(ids.len()) {
        net.add(ids[at], 0, node(ids[at], ring::place(ids, at)));
    }
    ring::join(&mut net);
    net.nodes().filter(|&at| starters.include(ids[at])).for_each(|at| net.start(at));
    finish(net)
}

fn run_clique<P: Protocol>(live: u16, detectors: Starters, node: impl Fn() -> P) -> anyhow::Result<Run> {
    let mut net = Net::<P>::default();
    for id in 1..=live + 1 {
        let newcomer = net.add(NodeId(id), 0, node());
        newcomer.earlier().for_each(|other| net.join(other, newcomer));
    }
    // Its links stay up for the others, which notice only when it does not answer.
    let last = NodeIndex(live.into());
    net.crash(last);
    for at in last.earlier().filter(|&at| detectors.include(net.id(at))).collect::<Vec<_>>() {
        net.signal(at, Signal::LeaderLost);
    }
    finish(net)
}

/// Runs to the end and checks that all nodes agree.
fn finish<P: Protocol, const PEERS: usize>(mut net: Net<P, PEERS>) -> anyhow::Result<Run> {
    let alive: Vec<NodeIndex> = net.nodes().filter(|&node| net.is_alive(node)).collect();
    let views = |net: &Net<P, PEERS>| alive.iter().map(|&node| net.node(node).leader()).collect::<Vec<_>>();
    let mut leaders = views(&net);
    let (mut arrived, mut decided) = (Instant::ZERO, Instant::ZERO);
    for _ in 0..ROUNDS_MAX {
        let delivered = net.counts().delivered;
        if !net.step_round() {
            let leader = leaders.first().copied().flatten().context("an election ended without a leader")?;
            ensure!(leaders.iter().all(|&view| view == Some(leader)), "an election ended in disagreement");
            let counts = net.counts().clone();
            return Ok(Run { counts, steps: rounds(arrived), decided: rounds(decided), leader });
        }
        if net.counts().delivered > delivered {
            arrived = net.now();
        }
        let now_follow = views(&net);
        if now_follow != leaders {
            leaders = now_follow;
            decided = net.now();
        }
    }
    bail!("an election did not end within {ROUNDS_MAX} rounds")
}

fn rounds(at: Instant) -> u64 {
    at.as_micros() / ROUND.as_micros()
}
