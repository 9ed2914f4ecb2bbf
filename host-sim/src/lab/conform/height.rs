//! Golden files of the height algorithm: every event with everything it must do.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use common::causal_clock::ClockKind;
use common::election::height::{HeightElection, HeightOptions, HeightRules};
use common::election::height_tuple::{Height, LeaderPair, RefLevel};
use common::notice::Event;
use common::time::Instant;
use common::types::NodeId;
use ideal::index::{Direction, NodeIndex};
use ideal::net::{Channel, Delay, Net};
use ideal::oriented;
use serde::Deserialize;

use super::verdict::{Report, Verdict};

/// Links a node may have in a golden file.
const LINKS_MAX: usize = 64;

type HeightNet = Net<HeightElection<LINKS_MAX>, LINKS_MAX>;

/// A height as it is printed: `[tau, oid, r, delta, nlts, lid, id]`.
type Printed = [i64; 7];

/// A file of the format `height-golden-1`.
#[derive(Deserialize)]
pub(super) struct File {
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    name: String,
    clock: ClockName,
    nodes: Vec<u16>,
    edges: Vec<Link>,
    initial_heights: BTreeMap<u16, Printed>,
    steps: Vec<Step>,
    #[serde(rename = "final")]
    end: End,
}

/// A link in a golden file, `[u, v]`: the ids of its ends.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Link {
    pub(super) u: u16,
    pub(super) v: u16,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ClockName {
    Lamport,
    Perfect,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Up,
    Down,
    Deliver,
}

/// `[what, from, to]`
#[derive(Clone, Copy, Deserialize)]
struct Happening {
    what: What,
    from: u16,
    to: u16,
}

#[derive(Deserialize)]
struct Step {
    event: Happening,
    actor: u16,
    clock: u32,
    action: String,
    sends: Vec<u16>,
    heights: Vec<Printed>,
    #[serde(rename = "N")]
    neighbours: Vec<u16>,
    forming: Vec<u16>,
}

/// `[from, to, messages]`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct InTransit {
    from: u16,
    to: u16,
    messages: usize,
}

#[derive(Deserialize)]
struct End {
    quiescent: bool,
    symmetric: bool,
    leader_oriented: Option<bool>,
    #[serde(rename = "N")]
    neighbours: BTreeMap<u16, Vec<u16>>,
    forming: BTreeMap<u16, Vec<u16>>,
    clock: BTreeMap<u16, u32>,
    in_transit: Vec<InTransit>,
    elections: usize,
}

pub(super) fn replay(file: &File) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for (index, scenario) in file.scenarios.iter().enumerate() {
        let verdict = replay_scenario(scenario).with_context(|| format!("scenarios[{index}] \"{}\"", scenario.name))?;
        report.push(&scenario.name, verdict);
    }
    Ok(report)
}

fn replay_scenario(scenario: &Scenario) -> anyhow::Result<Verdict> {
    let mut net = build(scenario)?;
    let mut verdict = Verdict::default();
    let mut elections = 0;
    for (at, step) in scenario.steps.iter().enumerate() {
        net.set_now(Instant::from_millis(at as u64 + 1));
        let actor = apply(&mut net, step.event).with_context(|| format!("steps[{at}].event"))?;
        elections += net.last_step().events.iter().filter(|&&event| event == Event::ElectedSelf).count();
        if verdict.is_clean() {
            verdict.at_step(at + 1);
            compare_step(&mut verdict, &net, step, actor);
        }
    }
    verdict.at_end();
    compare_end(&mut verdict, &net, &scenario.end, elections);
    Ok(verdict)
}

fn build(scenario: &Scenario) -> anyhow::Result<HeightNet> {
    let clock = match scenario.clock {
        ClockName::Lamport => ClockKind::Lamport,
        ClockName::Perfect => ClockKind::Perfect,
    };
    let options = HeightOptions { clock, rules: HeightRules::Published };
    let initial = |id: u16| -> anyhow::Result<Height> {
        let path = format!("initial_heights.{id}");
        let printed = scenario.initial_heights.get(&id).with_context(|| format!("{path} is missing"))?;
        parse_height(*printed).context(path)
    };
    let mut net = HeightNet::new(Delay::Round);
    for (at, &id) in scenario.nodes.iter().enumerate() {
        ensure!(!scenario.nodes[..at].contains(&id), "nodes[{at}]: node {id} appears twice");
        let mut node = HeightElection::with_height(initial(id)?, options);
        for (index, &Link { u, v }) in scenario.edges.iter().enumerate() {
            let path = || format!("edges[{index}]");
            ensure!(
                u != v && scenario.nodes.contains(&u) && scenario.nodes.contains(&v),
                "{}: [{u}, {v}] is not a link of this network",
                path()
            );
            if u == id || v == id {
                let neighbour = initial(if u == id { v } else { u })?;
                node = node
                    .with_neighbour(neighbour)
                    .ok()
                    .with_context(|| format!("{}: node {id} has more than {LINKS_MAX} links", path()))?;
            }
        }
        net.add(NodeId(id), 0, node);
    }
    for &Link { u, v } in &scenario.edges {
        net.join(index(&net, u)?, index(&net, v)?);
    }
    Ok(net)
}

/// Applies one event and returns the node that reacted.
fn apply(net: &mut HeightNet, event: Happening) -> anyhow::Result<NodeIndex> {
    let Happening { what, from: u, to: v } = event;
    let (from, to) = (index(net, u)?, index(net, v)?);
    match what {
        What::Up => {
            ensure!(!net.is_up(from, to), "channel {u} -> {v} is already up");
            net.link_up(from, to);
            Ok(from)
        }
        What::Down => {
            ensure!(net.is_up(from, to), "channel {u} -> {v} is already down");
            net.link_down(from, to);
            Ok(from)
        }
        What::Deliver => {
            ensure!(net.deliver(Channel { to, lane: 0, from }), "channel {u} -> {v} holds no message");
            Ok(to)
        }
    }
}

fn compare_step(verdict: &mut Verdict, net: &HeightNet, step: &Step, actor: NodeIndex) {
    let node = net.node(actor);
    let done = net.last_step();
    let heights: Vec<Printed> = net.nodes().map(|at| print_height(net.node(at).height())).collect();
    verdict.compare("actor", &step.actor, &net.id(actor).0);
    verdict.compare("heights", &step.heights, &heights);
    verdict.compare("clock", &step.clock, &node.time());
    verdict.compare("action", &step.action.as_str(), &action(&done.events));
    let mut sends: Vec<u16> = done.sends.iter().map(|(to, _)| to.0).collect();
    sends.sort_unstable();
    verdict.compare("sends", &step.sends, &sends);
    verdict.compare("N", &step.neighbours, &neighbours(node));
    verdict.compare("forming", &step.forming, &forming(node));
}

fn compare_end(verdict: &mut Verdict, net: &HeightNet, end: &End, elections: usize) {
    let per_node = |of: fn(&HeightElection<LINKS_MAX>) -> Vec<u16>| -> BTreeMap<u16, Vec<u16>> {
        net.nodes().map(|at| (net.id(at).0, of(net.node(at)))).collect()
    };
    let symmetric = net.up_directions().all(|Direction { from, to }| net.is_up(to, from));
    let oriented = (net.is_quiet() && symmetric).then(|| oriented::check(net).is_ok());
    verdict.compare("final.quiescent", &end.quiescent, &net.is_quiet());
    verdict.compare("final.symmetric", &end.symmetric, &symmetric);
    verdict.compare("final.leader_oriented", &end.leader_oriented, &oriented);
    verdict.compare("final.N", &end.neighbours, &per_node(neighbours));
    verdict.compare("final.forming", &end.forming, &per_node(forming));
    let clocks = net.nodes().map(|at| (net.id(at).0, net.node(at).time())).collect();
    verdict.compare("final.clock", &end.clock, &clocks);
    let in_transit = |Direction { from, to }| {
        let messages = net.in_transit(from, to);
        InTransit { from: net.id(from).0, to: net.id(to).0, messages }
    };
    let mut expected = end.in_transit.clone();
    expected.sort_unstable();
    let mut got: Vec<InTransit> = net.pending().map(|channel| in_transit(channel.direction())).collect();
    got.sort_unstable();
    got.dedup();
    verdict.compare("final.in_transit", &expected, &got);
    verdict.compare("final.elections", &end.elections, &elections);
}

fn index(net: &HeightNet, id: u16) -> anyhow::Result<NodeIndex> {
    net.index_of(NodeId(id)).with_context(|| format!("there is no node {id}"))
}

fn neighbours(node: &HeightElection<LINKS_MAX>) -> Vec<u16> {
    node.neighbours().map(|height| height.id.0).collect()
}

fn forming(node: &HeightElection<LINKS_MAX>) -> Vec<u16> {
    node.forming().map(|id| id.0).collect()
}

/// The printed name of what a step did.
fn action(events: &[Event]) -> &'static str {
    match events.first() {
        Some(Event::Ignored(_)) => "ignored",
        Some(Event::Reflected) => "reflect",
        Some(Event::Propagated) => "propagate",
        Some(Event::Searching) => "newref",
        Some(Event::ElectedSelf) => "elect",
        Some(Event::Adopted(_)) => "adopt",
        Some(Event::Replied(_)) => "reply",
        _ => "none",
    }
}

pub(super) fn print_height(height: Height) -> Printed {
    let Height { level, delta, leader, id } = height;
    [
        i64::from(level.tau),
        i64::from(level.oid.0),
        i64::from(level.reflected),
        i64::from(delta),
        -i64::from(leader.elected_at),
        i64::from(leader.lid.0),
        i64::from(id.0),
    ]
}

fn parse_height([tau, oid, r, delta, nlts, lid, id]: Printed) -> anyhow::Result<Height> {
    let node = |value: i64| u16::try_from(value).map(NodeId).with_context(|| format!("{value} is not a node id"));
    let reflected = match r {
        0 => false,
        1 => true,
        _ => bail!("r is {r} but must be 0 or 1"),
    };
    Ok(Height {
        level: RefLevel {
            tau: u32::try_from(tau).with_context(|| format!("tau is {tau} but must not be negative"))?,
            oid: node(oid)?,
            reflected,
        },
        delta: i16::try_from(delta).with_context(|| format!("delta {delta} is too large"))?,
        leader: LeaderPair {
            elected_at: u32::try_from(-nlts).with_context(|| format!("nlts is {nlts} but must not be positive"))?,
            lid: node(lid)?,
        },
        id: node(id)?,
    })
}
