//! Golden files of the leaders' hierarchy: scenarios of events, and structures by definition.

use anyhow::{Context, ensure};
use common::causal_clock::ClockKind;
use common::election::height::HeightRules;
use common::election::height_tuple::Height;
use common::election::hierarchy::{Hierarchy, HierarchyOptions, Radii, RadiiError};
use common::protocol::Signal;
use common::types::NodeId;
use ideal::graph::{Graph, UnitPoint};
use ideal::index::{Edge, NodeIndex};
use ideal::net::{Channel, Delay, Net, Queueing};
use ideal::structure::Ground;
use ideal::well_formed;
use serde::Deserialize;

use super::height::{Link, print_height};
use super::verdict::{Report, Verdict};

/// Links a node may have in a golden file.
const LINKS_MAX: usize = 64;

type HierarchyNet = Net<Hierarchy<LINKS_MAX>, LINKS_MAX>;

/// One scenario: events and what must be true after them.
#[derive(Deserialize)]
pub(super) struct Scenario {
    name: String,
    queue: QueueName,
    #[serde(rename = "K")]
    radii: Vec<u8>,
    nodes: Vec<NodeEntry>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum QueueName {
    Latest,
    Fifo,
}

#[derive(Deserialize)]
struct NodeEntry {
    id: u16,
    fitness: u8,
}

#[derive(Deserialize)]
struct Step {
    events: Vec<Event>,
    quiescent: bool,
    expect: Expect,
}

/// An event is a list whose first entry names it.
#[derive(Clone, Copy, Deserialize)]
#[serde(
    untagged,
    expecting = "an event is [\"up\", u, v], [\"down\", u, v], [\"deliver\", u, v], [\"fitness\", u, byte] or [\"crash\", u]"
)]
enum Event {
    Three(Verb, u16, u16),
    Two(Verb, u16),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verb {
    Up,
    Down,
    Deliver,
    Fitness,
    Crash,
}

#[derive(Deserialize)]
struct Expect {
    sent: u64,
    delivered: u64,
    nodes: Vec<NodeState>,
    components: Vec<Component>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct NodeState {
    id: u16,
    clock: u32,
    height: [i64; 6],
    leader: u16,
    next_hop: u16,
    neighbours: Vec<u16>,
    fitness: u8,
    levels: Vec<Option<Level>>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Level {
    head: u16,
    head_fitness: u8,
    dist: u8,
    parent: u16,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Component {
    members: Vec<u16>,
    leader: u16,
    heads: Vec<Vec<u16>>,
}

/// A graph and the structure that its definition gives, independent of how it comes about.
#[derive(Deserialize)]
pub(super) struct StructureCase {
    n: u16,
    edges: Vec<Link>,
    fitness: Vec<u8>,
    leaders: Vec<u16>,
    #[serde(rename = "K")]
    radii: Vec<u8>,
    expect: Vec<Vec<Option<Captured>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct Captured {
    head: u16,
    dist: usize,
    parent: u16,
}

pub(super) fn replay_scenarios(scenarios: &[Scenario]) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for scenario in scenarios {
        let verdict = replay(scenario).with_context(|| format!("scenario \"{}\"", scenario.name))?;
        report.push(&scenario.name, verdict);
    }
    Ok(report)
}

fn options(radii: &[u8], fitness: u8) -> anyhow::Result<HierarchyOptions> {
    let radii = Radii::new(radii).map_err(|error| match error {
        RadiiError::TooMany => anyhow::anyhow!("K: {} levels are too many", radii.len()),
        RadiiError::OutOfRange(level) => anyhow::anyhow!("K: the radius of level {level} is not in 1..=15"),
    })?;
    Ok(HierarchyOptions { radii, fitness, clock: ClockKind::Lamport, rules: HeightRules::Claiming })
}

fn replay(scenario: &Scenario) -> anyhow::Result<Verdict> {
    let mut net = HierarchyNet::new(Delay::Round).with_queueing(match scenario.queue {
        QueueName::Latest => Queueing::Latest,
        QueueName::Fifo => Queueing::Fifo,
    });
    for (at, node) in scenario.nodes.iter().enumerate() {
        let id = NodeId(node.id);
        ensure!(net.index_of(id).is_none(), "nodes[{at}]: node {id} appears twice");
        net.add(id, 0, Hierarchy::new(id, options(&scenario.radii, node.fitness)?));
    }
    let mut verdict = Verdict::default();
    for (at, step) in scenario.steps.iter().enumerate() {
        for (index, &event) in step.events.iter().enumerate() {
            apply(&mut net, event, &scenario.radii).with_context(|| format!("steps[{at}].events[{index}]"))?;
        }
        verdict.at_step(at + 1);
        compare(&mut verdict, &net, step);
    }
    Ok(verdict)
}

fn apply(net: &mut HierarchyNet, event: Event, radii: &[u8]) -> anyhow::Result<()> {
    match event {
        Event::Three(Verb::Up, u, v) => {
            let (from, to) = (index(net, u)?, index(net, v)?);
            ensure!(!net.is_up(from, to), "channel {u} -> {v} is already up");
            net.link_up(from, to);
        }
        Event::Three(Verb::Down, u, v) => {
            let (from, to) = (index(net, u)?, index(net, v)?);
            ensure!(net.is_up(from, to), "channel {u} -> {v} is already down");
            net.link_down(from, to);
        }
        Event::Three(Verb::Deliver, u, v) => {
            let (from, to) = (index(net, u)?, index(net, v)?);
            ensure!(net.deliver(Channel { to, lane: 0, from }), "channel {u} -> {v} holds no message");
        }
        Event::Three(Verb::Fitness, u, fitness) => {
            let fitness = u8::try_from(fitness).with_context(|| format!("fitness {fitness} is no byte"))?;
            net.signal(index(net, u)?, Signal::Rank(fitness));
        }
        Event::Two(Verb::Crash, u) => {
            let node = index(net, u)?;
            let fitness = net.node(node).fitness();
            net.crash(node);
            net.restart(node, 0, Hierarchy::new(NodeId(u), options(radii, fitness)?));
        }
        Event::Three(verb, ..) | Event::Two(verb, _) => {
            anyhow::bail!("{} has the wrong number of arguments", format!("{verb:?}").to_lowercase())
        }
    }
    Ok(())
}

fn index(net: &HierarchyNet, id: u16) -> anyhow::Result<NodeIndex> {
    net.index_of(NodeId(id)).with_context(|| format!("there is no node {id}"))
}

fn compare(verdict: &mut Verdict, net: &HierarchyNet, step: &Step) {
    let Expect { sent, delivered, nodes, components } = &step.expect;
    verdict.compare("sent", sent, &net.counts().total());
    verdict.compare("delivered", delivered, &net.counts().delivered);
    for expected in nodes {
        match net.index_of(NodeId(expected.id)) {
            Some(node) => verdict.compare(&format!("nodes.{}", expected.id), expected, &state(net, node)),
            None => verdict.compare("nodes", &Some(expected.id), &None),
        }
    }
    // That a step is not quiescent is taken as given: one end of a link may still have to notice a change, which no message
    // in flight shows. Nothing can be said of the structure then.
    if step.quiescent {
        verdict.compare("quiescent", &true, &net.is_quiet());
        verdict.compare("components", components, &component_list(net));
        let fault = well_formed::check(net).err().map(|violation| violation.to_string());
        verdict.compare("well-formed", &None, &fault);
    }
}

fn state(net: &HierarchyNet, at: NodeIndex) -> NodeState {
    let node = net.node(at);
    let Height { leader, id, .. } = node.height();
    // These files leave out the last number, which is the node's own id.
    let [height @ .., _] = print_height(node.height());
    let levels = (0..usize::from(node.radii().levels())).map(|level| {
        let standing = node.standing(level)?;
        let (head, parent) = (standing.head.0, standing.parent.0);
        Some(Level { head, head_fitness: standing.fitness, dist: standing.distance, parent })
    });
    NodeState {
        id: id.0,
        clock: node.time(),
        height,
        leader: leader.lid.0,
        next_hop: node.next_hop().unwrap_or(id).0,
        neighbours: node.neighbours().map(|height| height.id.0).collect(),
        fitness: node.fitness(),
        levels: levels.collect(),
    }
}

fn component_list(net: &HierarchyNet) -> Vec<Component> {
    let of = |members: Vec<NodeIndex>| {
        let mut ids: Vec<u16> = members.iter().map(|&node| net.id(node).0).collect();
        ids.sort_unstable();
        let heads = (0..usize::from(net.node(members[0]).radii().levels())).map(|level| {
            let is_head = |node: NodeIndex| net.node(node).standing(level).is_some_and(|s| s.head == net.id(node));
            let mut heads: Vec<u16> = members.iter().filter(|&&n| is_head(n)).map(|&n| net.id(n).0).collect();
            heads.sort_unstable();
            heads
        });
        Component { leader: net.node(members[0]).height().leader.lid.0, heads: heads.collect(), members: ids }
    };
    let mut list: Vec<Component> = well_formed::link_graph(net).components().into_iter().map(of).collect();
    list.sort_by_key(|component| component.members.first().copied());
    list
}

pub(super) fn replay_structures(cases: &[StructureCase]) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for (at, case) in cases.iter().enumerate() {
        let path = format!("[{at}]");
        report.push(format!("structure {at}"), compare_structure(case).context(path)?);
    }
    Ok(report)
}

/// The node of an id, which count from 1.
fn at(id: u16) -> NodeIndex {
    NodeIndex(usize::from(id - 1))
}

fn compare_structure(case: &StructureCase) -> anyhow::Result<Verdict> {
    let count = usize::from(case.n);
    ensure!(case.fitness.len() == count, "fitness: {} entries for {count} nodes", case.fitness.len());
    ensure!(case.expect.len() == count, "expect: {} entries for {count} nodes", case.expect.len());
    options(&case.radii, 0)?;
    let known = |id: u16| (1..=case.n).contains(&id);
    for (at, &Link { u, v }) in case.edges.iter().enumerate() {
        ensure!(u != v && known(u) && known(v), "edges[{at}]: [{u}, {v}] is not a link of this graph");
    }
    for (at, &leader) in case.leaders.iter().enumerate() {
        ensure!(known(leader), "leaders[{at}]: there is no node {leader}");
    }
    let edges = case.edges.iter().map(|&Link { u, v }| Edge::between(at(u), at(v)));
    let graph = Graph::with(vec![UnitPoint::default(); count], edges);
    let ids: Vec<NodeId> = (1..=case.n).map(NodeId).collect();
    let mut leads = vec![false; count];
    case.leaders.iter().for_each(|&id| leads[at(id)] = true);
    let ground = Ground { graph: &graph, ids: &ids, fitness: &case.fitness, leads: &leads };

    let mut verdict = Verdict::default();
    let name = |node: NodeIndex| ids[node].0;
    for (node, levels) in graph.nodes().zip(ground.structure(&case.radii)) {
        let by_definition: Vec<Option<Captured>> = levels
            .into_iter()
            .map(|e| e.map(|e| Captured { head: name(e.head), dist: e.distance, parent: name(e.parent) }))
            .collect();
        verdict.compare(&format!("expect[{node}]"), &case.expect[node], &by_definition);
    }
    let net = settle(case, &graph)?;
    for (node, expected) in graph.nodes().zip(&case.expect) {
        let reached: Vec<Option<Captured>> = (0..case.radii.len())
            .map(|level| net.node(node).standing(level))
            .map(|s| s.map(|s| Captured { head: s.head.0, dist: usize::from(s.distance), parent: s.parent.0 }))
            .collect();
        verdict.compare(&format!("expect[{node}] as the nodes settle it"), expected, &reached);
    }
    Ok(verdict)
}

/// Lets the nodes themselves form the network, with the given leaders elected in it.
fn settle(case: &StructureCase, graph: &Graph) -> anyhow::Result<HierarchyNet> {
    let mut net = HierarchyNet::new(Delay::Round).with_queueing(Queueing::Latest);
    for (id, &fitness) in (1..=case.n).map(NodeId).zip(&case.fitness) {
        net.add(id, 0, Hierarchy::new(id, options(&case.radii, fitness)?));
    }
    graph.edges().for_each(|Edge { u, v }| net.connect(u, v));
    while net.step_round() {}
    for &leader in &case.leaders {
        net.signal(at(leader), Signal::Elect);
    }
    while net.step_round() {}
    Ok(net)
}
