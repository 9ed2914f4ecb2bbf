//! The `hierarchy` command: builds one, changes the network, and shows who leads whom and what it cost.

mod churn;
mod churn_report;
mod density;
mod field;
mod story;
mod svg;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use common::election::hierarchy::{Radii, RadiiError};
use common::limits::{LEVELS_MAX, RADIUS_MAX};
use serde::Serialize;

pub use churn::{Bars, Churn, DEGREE, Measured, Row, measure_bars};
pub use density::Density;
pub use field::{Change, Cost, Field, moved};
pub use story::{Line, Request, Story};

use crate::graph::Kind;
use crate::stress::hierarchy::radii_name;
use crate::{note, output};

/// What is not finished after this long says how far it is.
const QUIET_FOR: Duration = Duration::from_secs(2);

/// Arguments of `hierarchy`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Every node has a head of level 1 within the first radius, every such head one of level 2 within the
second, and so on up to the global leader. Nodes are ranked by id, which are strewn at random; the
smallest uncaptured one is a head and captures everybody within the radius.

Columns of the text output:
  Updates   sent until all was quiet; 'single level' is the same change in the same network with
            the global leader alone
  rounds    until all was quiet; an Update takes one
  moved     nodes that have another head of level 1 than before
  heads     of level 1, afterwards

Fields of --json: radii, changes (what, updates, single_level_updates, rounds, moved, heads), nodes
(id, alive, leader, levels: head, distance, parent), links. With --churn: rows, one per graph and
radii (graph, nodes, degree, radii, graphs, edges, forming_updates, updates, rounds, heads, links,
restarts, the last two with changes, moved, moved_elsewhere, still; all sums), bars (row, moved_error,
still_error), and densities, one per number of nodes in reach (bars, others: rows, heads).

Examples:
  ringleader hierarchy
  ringleader hierarchy --graph grid --nodes 49 --radius 1,3 --svg grid.svg
  ringleader hierarchy --churn")]
pub struct Args {
    /// The kind of graph
    #[arg(long, value_enum, default_value_t = Kind::Rgg, value_name = "KIND")]
    graph: Kind,
    /// How many nodes
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(2..=60))]
    nodes: u16,
    /// The radius of each level in hops, level 1 first: up to three, each from 1 to 15, such as 2 or 1,3
    #[arg(long, default_value = "2", value_parser = parse_radii, value_name = "K1[,K2..]")]
    radius: Radii,
    /// The seed of everything
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many changes: a link cut, a link up, a head restarted, the leader lost, a link cut, a link up, and again
    #[arg(long, default_value_t = 6)]
    changes: u32,
    /// Draw the network as it is in the end into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Instead of all this, measure how much changes move and cost: 5 graphs, 5 sets of radii, 400 changes each, and
    /// the bars at 8 densities; about a minute
    #[arg(long, conflicts_with_all = ["graph", "nodes", "radius", "changes", "svg"])]
    churn: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Reads radii such as `2` or `1,3`.
fn parse_radii(text: &str) -> Result<Radii, String> {
    let mut radii = Vec::new();
    for (piece, level) in text.split(',').zip(1..) {
        let radius: u64 =
            piece.trim().parse().map_err(|_| format!("level {level}: '{piece}' is not a number of hops"))?;
        radii.push(u8::try_from(radius).unwrap_or(u8::MAX));
    }
    Radii::new(&radii).map_err(|error| match error {
        RadiiError::TooMany => format!("{} levels are too many, there can be {LEVELS_MAX}", radii.len()),
        RadiiError::OutOfRange(level) => format!("level {level}: a radius is from 1 to {RADIUS_MAX} hops"),
    })
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let text = if args.churn { churn_output(args)? } else { story_output(args)? };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn churn_output(args: &Args) -> anyhow::Result<String> {
    let started = Instant::now();
    let measured = churn::measure(args.seed, |what| {
        if started.elapsed() > QUIET_FOR {
            note!("measuring {what}");
        }
    })?;
    Ok(if args.json { serde_json::to_string_pretty(&measured)? + "\n" } else { churn_report::markdown(&measured) })
}

fn story_output(args: &Args) -> anyhow::Result<String> {
    let Args { graph: kind, nodes, radius: radii, seed, changes, .. } = *args;
    let story = Story::tell(Request { kind, nodes, radii, seed, changes })
        .map_err(|violation| anyhow::anyhow!("the hierarchy is not well-formed: {violation}"))?;
    if let Some(path) = &args.svg {
        let title = format!("{} of {nodes} nodes, {}", kind.name(), radii_name(&radii.iter().collect::<Vec<_>>()));
        std::fs::write(path, svg::draw(&story.field, &title))
            .with_context(|| format!("cannot write {}", path.display()))?;
        note!("wrote {}", path.display());
    }
    if args.json {
        return Ok(serde_json::to_string_pretty(&Report::new(&story, radii))? + "\n");
    }
    let mut out = tree::trees(&story.field.net);
    out.push('\n');
    out.push_str(&table(&story.lines));
    Ok(out)
}

/// What happened, line by line.
fn table(lines: &[Line]) -> String {
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
        "\n{changes} changes: {} Updates, {} with a single level; {} times a node was led by another head than before\n",
        sum(|line| line.updates),
        sum(|line| line.single_level_updates),
        sum(|line| line.moved.len() as u64),
    );
    out + &total
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    radii: Vec<u8>,
    changes: &'a [Line],
    nodes: Vec<NodeReport>,
    links: Vec<(u16, u16)>,
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
    fn new(story: &'a Story, radii: Radii) -> Self {
        let net = &story.field.net;
        let level = |node: usize, level: usize| {
            let standing = net.node(node).standing(level)?;
            Some(LevelReport { head: standing.head.0, distance: standing.distance, parent: standing.parent.0 })
        };
        let mut nodes: Vec<NodeReport> = (0..net.len())
            .map(|node| NodeReport {
                id: net.id(node).0,
                alive: net.is_alive(node),
                leader: net.node(node).height().leader.lid.0,
                levels: (0..usize::from(radii.levels())).map(|l| level(node, l)).collect(),
            })
            .collect();
        nodes.sort_by_key(|node| node.id);
        let links = story.field.graph.edges().map(|(u, v)| (net.id(u).0, net.id(v).0)).collect();
        Self { radii: radii.iter().collect(), changes: &story.lines, nodes, links }
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, Story, parse_radii};
    use crate::graph::Kind;

    #[test]
    fn radii_are_read_or_refused_with_the_reason() {
        assert!(parse_radii("1, 3,15").unwrap().iter().eq([1, 3, 15]));
        for (text, complaint) in [
            ("0", "level 1: a radius is from 1 to 15 hops"),
            ("2,16", "level 2: a radius is from 1 to 15 hops"),
            ("2,272", "level 2: a radius is from 1 to 15 hops"),
            ("1,2,3,4", "4 levels are too many, there can be 3"),
            ("1,,2", "level 2: '' is not a number of hops"),
            ("far", "level 1: 'far' is not a number of hops"),
        ] {
            assert_eq!(parse_radii(text).unwrap_err(), complaint);
        }
    }

    #[test]
    fn every_story_stays_well_formed_and_tells_what_happened() {
        for kind in Kind::ALL {
            for (seed, radii) in [(1, "1"), (2, "2"), (3, "1,2,4")] {
                let request = Request { kind, nodes: 20, radii: parse_radii(radii).unwrap(), seed, changes: 12 };
                let story = Story::tell(request).unwrap();
                assert_eq!(story.lines.len(), 13, "{kind:?}: {:?}", story.lines);
                assert!(story.lines.iter().any(|line| line.what.starts_with("leader")), "{kind:?}");
                assert_eq!(story.lines, Story::tell(request).unwrap().lines);
            }
        }
    }
}
