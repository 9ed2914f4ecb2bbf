//! What a network looks like at a moment, by the records of a trace with details up to then.

use std::collections::{BTreeMap, BTreeSet};

use common::types::NodeId;
use sim::air::propagation::Point;
use sim::air::trace::{Event, NodeNumber, ObstacleKind, Record};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub id: NodeId,
    pub position: Option<Point>,
    pub is_on: bool,
    pub leader: Option<NodeId>,
    /// The next one on the way to the leader.
    pub parent: Option<NodeId>,
    pub links: BTreeSet<NodeId>,
}

impl Node {
    pub fn leads(&self) -> bool {
        self.is_on && self.leader == Some(self.id)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    pub kind: ObstacleKind,
    pub points: Vec<Point>,
    pub nodes: Vec<NodeId>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    pub nodes: BTreeMap<NodeNumber, Node>,
    pub obstacles: Vec<Obstacle>,
}

impl Network {
    /// The network after everything that happened by this time.
    pub fn at<'r>(records: impl IntoIterator<Item = &'r Record>, time_us: u64) -> Self {
        let mut network = Self::default();
        records.into_iter().take_while(|record| record.time_us <= time_us).for_each(|record| network.apply(record));
        network
    }

    pub fn apply(&mut self, record: &Record) {
        if let Event::Obstacle { kind, points_mm, nodes, on } = &record.event {
            let points = points_mm.iter().map(|&[x, y]| Point::new(metres(x), metres(y))).collect();
            let obstacle = Obstacle { kind: *kind, points, nodes: nodes.clone() };
            if *on {
                self.obstacles.push(obstacle);
            } else if let Some(at) = self.obstacles.iter().position(|other| *other == obstacle) {
                self.obstacles.remove(at);
            }
            return;
        }
        let Some(number) = record.node else { return };
        match record.event {
            // Senders may be attackers, which are no nodes.
            Event::Frame { .. }
            | Event::Received { .. }
            | Event::Damaged { .. }
            | Event::Note { .. }
            | Event::Recording { .. }
            | Event::Board { .. }
            | Event::Reading { .. }
            | Event::Neighbour { .. }
            | Event::Heard { .. } => return,
            _ => {}
        }
        let node = self.nodes.entry(number).or_default();
        match record.event {
            Event::Id { id } => node.id = id,
            Event::PowerOn {} => node.is_on = true,
            Event::PowerOff {} | Event::Unseen {} => {
                *node = Node { id: node.id, position: node.position, ..Node::default() };
            }
            Event::Leader { leader } => {
                node.is_on = true;
                node.leader = leader;
            }
            Event::Parent { parent } => node.parent = parent,
            Event::Link { peer, up: true } => {
                node.links.insert(peer);
            }
            Event::Link { peer, up: false } => {
                node.links.remove(&peer);
            }
            Event::Place { x_mm, y_mm } => node.position = Some(Point::new(metres(x_mm), metres(y_mm))),
            _ => {}
        }
    }

    pub fn by_id(&self, id: NodeId) -> Option<&Node> {
        self.nodes.values().find(|node| node.id == id)
    }

    /// How many follow each leader, those with the most first.
    pub fn followers(&self) -> Vec<(NodeId, usize)> {
        let mut counts: BTreeMap<NodeId, usize> = BTreeMap::new();
        for leader in self.nodes.values().filter(|node| node.is_on).filter_map(|node| node.leader) {
            *counts.entry(leader).or_default() += 1;
        }
        let mut followers: Vec<_> = counts.into_iter().collect();
        followers.sort_by_key(|&(leader, count)| (std::cmp::Reverse(count), leader));
        followers
    }

    /// The one leader that every node with power follows, if it has power itself.
    pub fn agreed(&self) -> Option<NodeId> {
        let on = self.nodes.values().filter(|node| node.is_on).count();
        match self.followers()[..] {
            [(leader, count)] if count == on && self.by_id(leader).is_some_and(Node::leads) => Some(leader),
            _ => None,
        }
    }

    /// Both ends of every link that is up at one of them at least, each link once.
    pub fn links(&self) -> BTreeSet<(NodeId, NodeId)> {
        let ends = self.nodes.values().flat_map(|node| node.links.iter().map(|&peer| (node.id, peer)));
        ends.map(|(a, b)| (a.min(b), a.max(b))).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "positions are within 100 km")]
fn metres(millimetres: i64) -> f64 {
    millimetres as f64 / 1_000.0
}
