//! Reports on the hierarchy of leaders: who leads whom, what changes cost, and how many nodes they move.

pub mod churn_report;
mod tree;

use common::election::hierarchy::Radii;
use ideal::hierarchy::{Line, Story};
use ideal::index::{Edge, NodeIndex};
use serde::Serialize;

use crate::output::counted;

pub use tree::trees;

/// One line per change, and the totals.
pub fn table(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.what.chars().count()).max().unwrap_or(0);
    let mut out = format!("{:width$}  Updates  single level  rounds  heads  moved\n", "what happened");
    for Line { what, updates, single_level_updates, rounds, moved, heads } in lines {
        let who: Vec<String> = moved.iter().map(ToString::to_string).collect();
        let who = if who.is_empty() { String::new() } else { format!(": {}", who.join(" ")) };
        let count = moved.len();
        let line =
            format!("{what:width$}  {updates:>7}  {single_level_updates:>12}  {rounds:>6}  {heads:>5}  {count}{who}\n");
        out.push_str(&line);
    }
    let changes = lines.len().saturating_sub(1);
    let sum = |of: fn(&Line) -> u64| lines.iter().skip(1).map(of).sum::<u64>();
    let total = format!(
        "\n{}: {}, {} with a single level; nodes changed heads {}\n",
        counted(changes, "change"),
        counted(sum(|line| line.updates), "Update"),
        sum(|line| line.single_level_updates),
        counted(sum(|line| line.moved.len() as u64), "time"),
    );
    out + &total
}

#[derive(Serialize)]
pub struct Report<'a> {
    radii: Vec<u8>,
    changes: &'a [Line],
    nodes: Vec<NodeReport>,
    /// The ids of the ends of each.
    links: Vec<[u16; 2]>,
}

#[derive(Serialize)]
struct NodeReport {
    id: u16,
    alive: bool,
    leader: u16,
    levels: Vec<Option<LevelReport>>,
}

#[derive(Serialize)]
struct LevelReport {
    head: u16,
    distance: u8,
    parent: u16,
}

impl<'a> Report<'a> {
    /// Reports the final network of a story.
    pub fn new(story: &'a Story, radii: Radii) -> Self {
        let net = &story.field.net;
        let level = |node: NodeIndex, level: usize| {
            let standing = net.node(node).standing(level)?;
            Some(LevelReport { head: standing.head.0, distance: standing.distance, parent: standing.parent.0 })
        };
        let mut nodes: Vec<NodeReport> = net
            .nodes()
            .map(|node| NodeReport {
                id: net.id(node).0,
                alive: net.is_alive(node),
                leader: net.node(node).height().leader.lid.0,
                levels: (0..usize::from(radii.levels())).map(|l| level(node, l)).collect(),
            })
            .collect();
        nodes.sort_by_key(|node| node.id);
        let links = story.field.graph.edges().map(|Edge { u, v }| [net.id(u).0, net.id(v).0]).collect();
        Self { radii: radii.iter().collect(), changes: &story.lines, nodes, links }
    }
}
