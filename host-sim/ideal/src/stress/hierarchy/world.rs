//! A network under stress: pending changes, which each end detects at its own time, and the latest events.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use common::election::hierarchy::Hierarchy;
use common::election::hierarchy_update::Record;
use common::protocol::Signal;
use common::rng::Rng;
use common::types::NodeId;

use super::picker::Picker;
use super::plan::Plan;
use crate::graph::{Graph, UnitPoint};
use crate::index::{Direction, Edge, NodeIndex};
use crate::net::{Channel, Delay, Net};

/// Links a node may have: the largest clique has 60 nodes.
const LINKS_MAX: usize = 64;

pub(super) type HierarchyNet = Net<Hierarchy<LINKS_MAX>, LINKS_MAX>;

/// How many events a failure shows.
const TRAIL: usize = 40;

/// While detections are pending, one in this many steps is a detection rather than a delivery.
const NOTICE_EVERY: u32 = 4;

/// Something that happened, as it is shown.
#[derive(Clone, Copy, Debug)]
enum Event {
    Delivered { from: NodeId, to: NodeId },
    Lost { from: NodeId, to: NodeId },
    Up { from: NodeId, to: NodeId },
    Down { from: NodeId, to: NodeId },
    Crashed(NodeId),
    Restarted(NodeId),
    Rank { node: NodeId, fitness: u8 },
    Resent(NodeId),
    Corrupted(NodeId),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered { from, to } => write!(f, "deliver {from} {to}"),
            Self::Lost { from, to } => write!(f, "lose {from} {to}"),
            Self::Up { from, to } => write!(f, "up {from} {to}"),
            Self::Down { from, to } => write!(f, "down {from} {to}"),
            Self::Crashed(node) => write!(f, "crash {node}"),
            Self::Restarted(node) => write!(f, "restart {node}"),
            Self::Rank { node, fitness } => write!(f, "fitness {node} {fitness}"),
            Self::Resent(node) => write!(f, "resend {node}"),
            Self::Corrupted(node) => write!(f, "corrupt {node}"),
        }
    }
}

pub(super) struct World<'p> {
    plan: &'p Plan,
    pub(super) net: HierarchyNet,
    pub(super) rng: Rng,
    /// The actual links, whether or not their ends have detected them.
    pub(super) graph: Graph,
    picker: Picker,
    /// What the sender of each direction has yet to detect, in order: that it is up, or down.
    notices: BTreeMap<Direction, VecDeque<bool>>,
    /// The links that crashed nodes had.
    dead: BTreeMap<NodeIndex, Vec<Edge>>,
    trail: VecDeque<Event>,
    steps: u64,
}

impl<'p> World<'p> {
    /// Nodes alone, and the links of the plan's graph about to come up.
    pub(super) fn new(plan: &'p Plan) -> Self {
        let mut rng = plan.rng();
        let mut net = HierarchyNet::new(Delay::Round).with_queueing(plan.queueing);
        for (id, fitness) in plan.draw_nodes(&mut rng) {
            net.add(id, plan.seed, Hierarchy::new(id, plan.options(fitness)));
        }
        net.start_all();
        let mut world = Self {
            plan,
            net,
            rng,
            graph: Graph::with(vec![UnitPoint::default(); plan.nodes], std::iter::empty()),
            picker: Picker::new(plan.scheduler),
            notices: BTreeMap::new(),
            dead: BTreeMap::new(),
            trail: VecDeque::new(),
            steps: 0,
        };
        plan.graph().edges().for_each(|edge| world.link(edge, true));
        world
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The last events, oldest first.
    pub(super) fn trail(&self) -> Vec<String> {
        self.trail.iter().map(ToString::to_string).collect()
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.rng.below(u32::try_from(bound).unwrap_or(u32::MAX)) as usize
    }

    pub(super) fn alive(&self) -> Vec<NodeIndex> {
        self.net.nodes().filter(|&node| self.net.is_alive(node)).collect()
    }

    /// A link comes up or goes down; its ends have yet to detect that.
    pub(super) fn link(&mut self, edge: Edge, up: bool) {
        let Edge { u, v } = edge;
        if up {
            self.graph.insert(u, v);
        } else {
            self.graph.remove(u, v);
        }
        for direction in edge.directions() {
            self.want(direction, up);
        }
    }

    /// One direction goes down and up again.
    pub(super) fn flap(&mut self, direction: Direction) {
        self.notices.entry(direction).or_default().extend([false, true]);
    }

    /// Both ends detect everything about their link now.
    pub(super) fn notice_now(&mut self, edge: Edge) {
        for direction in edge.directions() {
            while self.notices.contains_key(&direction) {
                self.notice(direction);
            }
        }
    }

    /// A node loses its state. Its neighbours have yet to detect that.
    pub(super) fn crash(&mut self, node: NodeIndex) {
        self.record(Event::Crashed(self.net.id(node)));
        self.net.crash(node);
        self.notices.retain(|direction, _| direction.from != node);
        let links: Vec<Edge> = self.graph.edges().filter(|edge| edge.touches(node)).collect();
        for edge in &links {
            self.graph.remove(edge.u, edge.v);
            self.want(Direction { from: edge.other(node), to: node }, false);
        }
        self.dead.insert(node, links);
    }

    /// A crashed node restarts; the links it had to live nodes are about to come up.
    pub(super) fn restart(&mut self, node: NodeIndex) {
        let Some(links) = self.dead.remove(&node) else { return };
        let id = self.net.id(node);
        let fitness = self.net.node(node).fitness();
        self.record(Event::Restarted(id));
        self.net.restart(node, self.plan.seed, Hierarchy::new(id, self.plan.options(fitness)));
        self.net.start(node);
        for edge in links {
            if self.net.is_alive(edge.u) && self.net.is_alive(edge.v) {
                self.link(edge, true);
            }
        }
    }

    /// Nodes that are dead and may come back.
    pub(super) fn dead(&self) -> Vec<NodeIndex> {
        self.dead.keys().copied().collect()
    }

    /// A node becomes more or less fit.
    pub(super) fn rank(&mut self, node: NodeIndex, fitness: u8) {
        self.record(Event::Rank { node: self.net.id(node), fitness });
        self.net.signal(node, Signal::Rank(fitness));
        self.picker.watch(&self.net, node);
    }

    /// A node resends its last state.
    pub(super) fn resend(&mut self, node: NodeIndex) {
        self.record(Event::Resent(self.net.id(node)));
        self.net.signal(node, Signal::Resend);
        self.picker.watch(&self.net, node);
    }

    /// A node's records, and its view of its neighbours' records, are corrupted.
    pub(super) fn corrupt(&mut self, node: NodeIndex) {
        self.record(Event::Corrupted(self.net.id(node)));
        let levels = self.plan.radii.len();
        // Some of these ids belong to no node, and some of these distances exceed every radius.
        let ids = u32::try_from(self.net.len() + 3).unwrap_or(u32::MAX);
        let rng = &mut self.rng;
        self.net.tamper(node, |state| {
            state.corrupt(|records| {
                for record in records.iter_mut().take(levels) {
                    if rng.below(2) == 0 {
                        continue;
                    }
                    let fitness = u8::try_from(rng.below(4)).unwrap_or(0);
                    let head = NodeId(u16::try_from(rng.below(ids)).unwrap_or(0));
                    let distance = u8::try_from(rng.below(20)).unwrap_or(0);
                    *record = (rng.below(4) > 0).then(|| Record::new(fitness, head, distance));
                }
            });
        });
    }

    /// Runs one event: a delivery, or a node detects a change of a link. False if nothing is left to do.
    pub(super) fn step(&mut self) -> bool {
        let notices = self.notices.len();
        if notices > 0 && (self.net.is_quiet() || self.rng.below(NOTICE_EVERY) == 0) {
            let chosen = self.below(notices);
            if let Some(&direction) = self.notices.keys().nth(chosen) {
                self.notice(direction);
            }
            return true;
        }
        let Some(channel) = self.picker.next(&self.net, &mut self.rng) else { return false };
        let Channel { from, to, .. } = channel;
        let (sender, receiver) = (self.net.id(from), self.net.id(to));
        if self.plan.loss > 0 && self.rng.below(10) < self.plan.loss {
            self.record(Event::Lost { from: sender, to: receiver });
            self.net.lose(channel);
        } else {
            self.record(Event::Delivered { from: sender, to: receiver });
            self.net.deliver(channel);
            self.picker.watch(&self.net, to);
        }
        true
    }

    /// Adds what the sender of a direction has to detect, if that is new.
    fn want(&mut self, direction: Direction, up: bool) {
        let queue = self.notices.entry(direction).or_default();
        if queue.back().copied().unwrap_or(self.net.is_up(direction.from, direction.to)) != up {
            queue.push_back(up);
        }
        if queue.is_empty() {
            self.notices.remove(&direction);
        }
    }

    fn notice(&mut self, direction: Direction) {
        let Direction { from, to } = direction;
        let Some(queue) = self.notices.get_mut(&direction) else { return };
        let up = queue.pop_front();
        if queue.is_empty() {
            self.notices.remove(&direction);
        }
        let (sender, receiver) = (self.net.id(from), self.net.id(to));
        match up {
            Some(true) => {
                self.record(Event::Up { from: sender, to: receiver });
                self.net.link_up(from, to);
            }
            Some(false) => {
                self.record(Event::Down { from: sender, to: receiver });
                self.net.link_down(from, to);
            }
            None => {}
        }
        self.picker.watch(&self.net, from);
    }

    fn record(&mut self, event: Event) {
        self.steps += 1;
        if self.trail.len() == TRAIL {
            self.trail.pop_front();
        }
        self.trail.push_back(event);
    }
}
