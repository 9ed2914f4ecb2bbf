//! The details of a trace: what a picture of the network needs besides frames and leaders.

use std::collections::BTreeSet;
use std::io::Write;

use common::types::NodeId;

use super::observer::number;
use crate::air::index::NodeIndex;
use crate::air::propagation::{Point, Wall};
use crate::air::trace::{Event, ObstacleKind, Trace};
use crate::scenario::run::drive::id_of;
use crate::scenario::run::program::Program;

/// What was last written of each node.
#[derive(Debug, Default)]
pub struct Scenery(Vec<Seen>);

#[derive(Clone, Debug, Default)]
struct Seen {
    links: Vec<NodeId>,
    parent: Option<NodeId>,
}

impl Scenery {
    /// Writes what has changed of a node.
    pub fn look<W: Write>(&mut self, world_us: u64, node: NodeIndex, program: &Program, trace: &mut Trace<W>) {
        self.write(world_us, node, Seen { links: program.links(), parent: program.parent() }, trace);
    }

    /// A node goes off, and with it all it had.
    pub fn forget<W: Write>(&mut self, world_us: u64, node: NodeIndex, trace: &mut Trace<W>) {
        self.write(world_us, node, Seen::default(), trace);
    }

    fn write<W: Write>(&mut self, world_us: u64, node: NodeIndex, now: Seen, trace: &mut Trace<W>) {
        if self.0.len() <= node.0 {
            self.0.resize(node.0 + 1, Seen::default());
        }
        let (seen, number) = (&mut self.0[node.0], Some(number(node.radio())));
        for &peer in seen.links.iter().filter(|peer| !now.links.contains(peer)) {
            trace.write(world_us, number, Event::Link { peer, up: false });
        }
        for &peer in now.links.iter().filter(|peer| !seen.links.contains(peer)) {
            trace.write(world_us, number, Event::Link { peer, up: true });
        }
        if now.parent != seen.parent {
            trace.write(world_us, number, Event::Parent { parent: now.parent });
        }
        *seen = now;
    }
}

/// Something in the way of signals.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    kind: ObstacleKind,
    points: Vec<Point>,
    nodes: Vec<NodeId>,
}

impl Obstacle {
    pub fn wall(wall: &Wall) -> Self {
        Self { kind: ObstacleKind::Wall, points: vec![wall.from, wall.to], nodes: Vec::new() }
    }

    pub fn noise(at: Point) -> Self {
        Self { kind: ObstacleKind::Noise, points: vec![at], nodes: Vec::new() }
    }

    pub fn attacker(at: Point) -> Self {
        Self { kind: ObstacleKind::Attacker, points: vec![at], nodes: Vec::new() }
    }

    /// These nodes are cut off.
    pub fn split(group: &BTreeSet<NodeIndex>) -> Self {
        Self { kind: ObstacleKind::Split, points: Vec::new(), nodes: group.iter().map(|&node| id_of(node)).collect() }
    }

    pub fn event(&self, on: bool) -> Event {
        let points_mm = self.points.iter().map(|at| [millimetres(at.x), millimetres(at.y)]).collect();
        Event::Obstacle { kind: self.kind, points_mm, nodes: self.nodes.clone(), on }
    }
}

pub fn place(Point { x, y }: Point) -> Event {
    Event::Place { x_mm: millimetres(x), y_mm: millimetres(y) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "charges are positive and small")]
pub fn energy(charge_uah: f64, airtime_us: u64) -> Event {
    Event::Energy { charge_nah: (charge_uah * 1_000.0).round() as u64, airtime_us }
}

#[expect(clippy::cast_possible_truncation, reason = "positions are within 100 km")]
fn millimetres(metres: f64) -> i64 {
    (metres * 1_000.0).round() as i64
}
