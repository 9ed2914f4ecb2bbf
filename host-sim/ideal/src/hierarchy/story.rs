//! A network that forms and changes a few times, compared with the same network without levels.

use common::election::hierarchy::Radii;
use common::rng::Rng;
use common::types::NodeId;
use serde::Serialize;

use super::field::{Change, Cost, Field, moved};
use crate::graph::{Graph, Kind};
use crate::index::{Edge, NodeIndex};
use crate::shuffle::shuffled_ids;
use crate::well_formed::Violation;

const PROGRAMME: [Act; 6] = [Act::Cut, Act::Link, Act::RestartHead, Act::LoseLeader, Act::Cut, Act::Link];

#[derive(Clone, Copy)]
enum Act {
    Cut,
    Link,
    RestartHead,
    LoseLeader,
}

/// The effect of one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    pub what: String,
    /// Updates until the network was quiet.
    pub updates: u64,
    /// The same without levels.
    pub single_level_updates: u64,
    /// Rounds until the network was quiet.
    pub rounds: u64,
    /// Nodes whose level-1 head changed.
    pub moved: Vec<NodeId>,
    /// Heads of level 1 afterwards.
    pub heads: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub kind: Kind,
    pub nodes: u16,
    pub radii: Radii,
    /// The seed of everything.
    pub seed: u64,
    pub changes: u32,
}

/// A network after its changes.
#[derive(Clone, Debug)]
pub struct Story {
    pub field: Field,
    /// What happened, forming included.
    pub lines: Vec<Line>,
    single: Field,
    rng: Rng,
}

impl Story {
    /// Forms the network and applies all changes.
    pub fn tell(request: Request) -> Result<Self, Violation> {
        let Request { kind, nodes, radii, seed, changes } = request;
        let mut rng = Rng::stream(seed, 0x41E);
        let graph = Graph::new(kind, nodes.into(), seed);
        let ids = shuffled_ids(nodes, &mut rng);
        let (field, cost) = Field::form(&graph, &ids, radii, seed)?;
        let (single, single_cost) = Field::form(&graph, &ids, Radii::default(), seed)?;
        let mut story = Self { field, lines: Vec::new(), single, rng };
        story.note("the network forms".into(), cost, single_cost, Vec::new());
        for act in PROGRAMME.into_iter().cycle().take(changes as usize) {
            // If no node or link is left for a change, the next one in the list happens.
            if let Some((change, what)) = [act, Act::Link, Act::Cut].into_iter().find_map(|act| story.plan(act)) {
                story.happen(change, what)?;
            }
        }
        Ok(story)
    }

    fn happen(&mut self, change: Change, what: String) -> Result<(), Violation> {
        let before = self.field.heads();
        let cost = self.field.apply(change)?;
        let single_cost = self.single.apply(change)?;
        let moved = moved(&before, &self.field.heads()).into_iter().map(|node| self.field.net.id(node)).collect();
        self.note(what, cost, single_cost, moved);
        Ok(())
    }

    fn note(&mut self, what: String, cost: Cost, single_cost: Cost, moved: Vec<NodeId>) {
        let (updates, single_level_updates, rounds) = (cost.updates, single_cost.updates, cost.rounds);
        let heads = self.field.head_count();
        self.lines.push(Line { what, updates, single_level_updates, rounds, moved, heads });
    }

    /// The change with its node or link, in words; none if no node or link is left for it.
    fn plan(&mut self, act: Act) -> Option<(Change, String)> {
        let net = &self.field.net;
        let alive: Vec<NodeIndex> = net.nodes().filter(|&node| net.is_alive(node)).collect();
        match act {
            Act::Cut => {
                let links: Vec<_> = self.field.graph.edges().collect();
                let edge = *one(&links, &mut self.rng)?;
                let what = format!("the link between {} and {} is cut", net.id(edge.u), net.id(edge.v));
                Some((Change::Cut(edge), what))
            }
            Act::Link => {
                let pairs = alive.iter().flat_map(|&u| alive.iter().map(move |&v| Edge { u, v }));
                let strangers = pairs.filter(|&Edge { u, v }| u < v && !self.field.graph.has(u, v));
                let (near, far): (Vec<_>, Vec<_>) =
                    strangers.partition(|&Edge { u, v }| self.field.graph.distances(u)[v] == Some(2));
                let edge = *one(if near.is_empty() { &far } else { &near }, &mut self.rng)?;
                Some((Change::Link(edge), format!("{} and {} meet", net.id(edge.u), net.id(edge.v))))
            }
            Act::RestartHead => {
                let leads = |node: NodeIndex| net.node(node).height().leader.lid == net.id(node);
                let heads = self.field.heads();
                let is_head = |&node: &NodeIndex| heads[node] == Some(net.id(node)) && !leads(node);
                let heads: Vec<NodeIndex> = alive.into_iter().filter(is_head).collect();
                let node = *one(&heads, &mut self.rng)?;
                Some((Change::Restart(node), format!("head {} restarts without its state", net.id(node))))
            }
            Act::LoseLeader => {
                // With several components, the leader of the first one large enough to go on.
                let parts = self.field.graph.components();
                let part = parts.iter().find(|part| part.len() > 1)?;
                let leader = net.node(part[0]).height().leader.lid;
                Some((Change::Lose(net.index_of(leader)?), format!("leader {leader} is lost")))
            }
        }
    }
}

fn one<'a, T>(things: &'a [T], rng: &mut Rng) -> Option<&'a T> {
    things.get(rng.below(u32::try_from(things.len()).unwrap_or(u32::MAX)) as usize)
}
