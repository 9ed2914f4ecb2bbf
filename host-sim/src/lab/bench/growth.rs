//! How the number of messages grows with the number of nodes, counted by running elections.

use std::ops::RangeInclusive;

use anyhow::{Context, ensure};
use common::coefficient::Coefficient;
use common::election::bully::{Bully, BullyConfig};
use common::election::circle::RingConfig;
use common::election::frlle::{Frlle, FrlleConfig, FrlleRules};
use common::election::lcr::Lcr;
use common::election::ring::Ring;
use common::members::RingOrder;
use common::protocol::{Protocol, Signal};
use common::time::Duration;
use common::types::{NodeId, RingPlace};
use ideal::index::NodeIndex;
use ideal::net::{Net, ROUND};
use serde::Serialize;

use crate::draw::chart::Datum;
use crate::lab::fit::{Fit, Law, exponent};
use ideal::big_ring::{BigRing, random_uids};

/// More rounds than any of these elections takes.
const ROUNDS_MAX: u64 = 100_000;

/// Random orders that LCR is counted on.
const LCR_ORDERS: u64 = 16;

/// The messages of one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    pub nodes: u32,
    /// How many messages were sent, announcements included.
    pub messages: u64,
}

impl Cost {
    /// Messages divided by n log₂ n.
    pub fn per_n_log_n(self) -> f64 {
        let Datum { x: n, y: messages } = self.datum();
        messages / Law::Linearithmic.at(n)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    fn datum(self) -> Datum {
        Datum { x: f64::from(self.nodes), y: self.messages as f64 }
    }
}

/// How the messages of one algorithm grow in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    pub name: &'static str,
    /// Who starts and how the nodes are arranged.
    pub scenario: &'static str,
    pub points: Vec<Cost>,
    /// The exponent of the power law nearest to it.
    pub exponent: f64,
    /// The fits of all laws, the best first.
    pub fits: [Fit; 3],
}

#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// Who starts and how the nodes are arranged.
    pub scenario: &'static str,
    /// The binary logarithms of the smallest and the largest number of nodes.
    exponents: RangeInclusive<u32>,
    count: fn(u32, u64) -> anyhow::Result<u64>,
}

/// Every scenario. Ring and Bully end where the capacities of the core end.
pub const SCENARIOS: [Scenario; 6] = [
    Scenario { name: "HS", scenario: "all start, random order", exponents: 6..=17, count: hs },
    Scenario { name: "LCR", scenario: "all start, mean of 16 random orders", exponents: 4..=11, count: lcr_random },
    Scenario { name: "LCR", scenario: "all start, descending order", exponents: 4..=10, count: lcr_descending },
    Scenario { name: "Ring", scenario: "all detect", exponents: 3..=7, count: ring },
    Scenario { name: "Bully", scenario: "all detect the crash of one more", exponents: 3..=7, count: bully },
    Scenario { name: "FRLLE", scenario: "all detect, ascending coefficients", exponents: 4..=10, count: frlle },
];

impl Scenario {
    /// Counts the messages of one election of this many nodes.
    pub fn count(&self, nodes: u32, seed: u64) -> anyhow::Result<u64> {
        (self.count)(nodes, seed).with_context(|| format!("{}, {}, {nodes} nodes", self.name, self.scenario))
    }

    /// Runs an election for every power of two in range and fits the counts.
    pub fn measure(&self, seed: u64) -> anyhow::Result<Growth> {
        let point = |nodes| self.count(nodes, seed).map(|messages| Cost { nodes, messages });
        let points = self.exponents.clone().map(|log| point(1 << log)).collect::<anyhow::Result<Vec<Cost>>>()?;
        let data: Vec<Datum> = points.iter().map(|point| point.datum()).collect();
        let (exponent, fits) = (exponent(&data), Fit::ranked(&data));
        Ok(Growth { name: self.name, scenario: self.scenario, points, exponent, fits })
    }
}

fn hs(nodes: u32, seed: u64) -> anyhow::Result<u64> {
    let mut ring = BigRing::new(&random_uids(nodes, seed));
    let tally = ring.elect(&mut |_| {});
    ensure!(ring.leader() == nodes.checked_sub(1), "the largest uid was not elected");
    Ok(tally.total())
}

/// A mean, since the count depends strongly on the positions of the largest ids.
fn lcr_random(nodes: u32, seed: u64) -> anyhow::Result<u64> {
    let mut total = 0;
    for order in 0..LCR_ORDERS {
        total += lcr(&ids(random_uids(nodes, seed.wrapping_add(order)))?)?;
    }
    Ok(total / LCR_ORDERS)
}

fn lcr_descending(nodes: u32, _seed: u64) -> anyhow::Result<u64> {
    lcr(&ids((0..nodes).rev())?)
}

fn lcr(order: &[NodeId]) -> anyhow::Result<u64> {
    let mut net = ring_net(order, |_, place| Lcr::new(RingConfig { place, patience: Duration::ZERO }));
    net.start_all();
    finish(net, order.iter().max().copied())
}

fn ring(nodes: u32, seed: u64) -> anyhow::Result<u64> {
    let members = ids(random_uids(nodes, seed))?;
    let order = RingOrder::new(&members).map_err(|error| anyhow::anyhow!("no ring: {error:?}"))?;
    let mut net = ring_net(&members, |_, _| Ring::new(order.clone(), Duration::ZERO));
    net.start_all();
    finish(net, members.iter().max().copied())
}

/// As many live nodes as asked for, plus a leader that crashes.
fn bully(nodes: u32, seed: u64) -> anyhow::Result<u64> {
    let members = ids(0..=nodes)?;
    // A question and its answer take two rounds; the third catches answers that arrive exactly then.
    let answer = ROUND.times(3);
    let config = BullyConfig { answer, take_over: ROUND, announcement: answer.times(3) };
    let mut net = Net::<Bully>::default();
    for &id in &members {
        let node = net.add(id, seed, Bully::new(config));
        node.earlier().for_each(|other| net.join(node, other));
    }
    net.start_all();
    net.run_rounds(ROUNDS_MAX).map_err(|_| anyhow::anyhow!("the first election did not end"))?;
    let last = NodeIndex(members.len() - 1);
    net.crash(last);
    net.reset_counts();
    last.earlier().for_each(|node| net.signal(node, Signal::LeaderLost));
    let highest = last.earlier().next_back().map(|node| net.id(node));
    finish(net, highest)
}

/// The failed leader is no longer on the ring.
fn frlle(nodes: u32, _seed: u64) -> anyhow::Result<u64> {
    let members = ids(1..=nodes)?;
    let failed = NodeId(0);
    let mut net = ring_net(&members, |id, place| {
        let ring = RingConfig { place, patience: Duration::ZERO };
        let config = FrlleConfig { ring, hop: ROUND, coefficient: Coefficient(id.0), rules: FrlleRules::Hardened };
        Frlle::new(id, config, Some(failed))
    });
    net.nodes().for_each(|node| net.signal(node, Signal::LeaderLost));
    finish(net, members.first().copied())
}

fn ids(numbers: impl IntoIterator<Item = u32>) -> anyhow::Result<Vec<NodeId>> {
    numbers
        .into_iter()
        .map(|number| Ok(NodeId(u16::try_from(number).context("too many nodes for their ids")?)))
        .collect()
}

/// A ring of nodes in this order, none of them started.
fn ring_net<P: Protocol>(order: &[NodeId], protocol: impl Fn(NodeId, RingPlace) -> P) -> Net<P, 2> {
    let mut net = Net::default();
    for at in NodeIndex::first(order.len()) {
        net.add(order[at], 0, protocol(order[at], ideal::ring::place(order, at)));
    }
    ideal::ring::join(&mut net);
    net
}

/// Runs an election to its end and counts its messages; fails unless all live nodes follow the expected winner.
fn finish<P: Protocol, const PEERS: usize>(mut net: Net<P, PEERS>, winner: Option<NodeId>) -> anyhow::Result<u64> {
    net.run_rounds(ROUNDS_MAX).map_err(|_| anyhow::anyhow!("the election did not end"))?;
    let follows = |node: NodeIndex| !net.is_alive(node) || net.node(node).leader() == winner;
    ensure!(net.nodes().all(follows), "the wrong leader was elected");
    Ok(net.counts().total())
}
