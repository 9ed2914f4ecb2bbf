//! `ringleader hierarchy`: builds one, changes the network, and shows who leads whom and at what cost.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use common::election::hierarchy::{Radii, RadiiError};
use common::limits::{LEVELS_MAX, RADIUS_MAX};
use ideal::graph::Kind;
use ideal::hierarchy::{Request, Story, measure};
use ideal::stress::hierarchy::radii_name;

use super::graph_kind::graph_kind;
use crate::draw;
use crate::lab::hierarchy::{Report, churn_report, table, trees};
use crate::note;
use crate::output;

/// A run that takes longer than this reports its progress.
const QUIET_FOR: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Every node has a level-1 head within the first radius, every such head has a level-2 head within the
second, and so on up to the global leader. Nodes are ranked by id, and ids are placed at random. The
lowest uncaptured node becomes a head and captures every node within the radius.

Columns of the text output:
  Updates   messages until the network was quiet; 'single level' is the same change in the same
            network with the global leader alone
  rounds    until the network was quiet; an Update takes one
  moved     nodes whose level-1 head changed
  heads     of level 1, afterwards

Fields of --json: radii, changes (what, updates, single_level_updates, rounds, moved, heads), nodes
(id, alive, leader, levels: head, distance, parent), links. With --churn: rows, one per graph and
radii (graph, nodes, degree, radii, graphs, edges, forming_updates, updates, rounds, heads, links,
restarts; the last two have changes, moved, moved_elsewhere, still; all are sums), bars (row,
moved_error, still_error), and densities, one per number of nodes in range (bars, others: rows, heads).

Examples:
  ringleader hierarchy
  ringleader hierarchy --graph grid --nodes 49 --radius 1,3 --svg grid.svg
  ringleader hierarchy --churn")]
pub struct Args {
    /// The kind of graph
    #[arg(long, value_parser = graph_kind(), default_value = "rgg", value_name = "KIND")]
    graph: Kind,
    /// The number of nodes
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(2..=60))]
    nodes: u16,
    /// The radius of each level in hops, level 1 first: up to three, each from 1 to 15, such as 2 or 1,3
    #[arg(long, default_value = "2", value_parser = parse_radii, value_name = "K1[,K2..]")]
    radius: Radii,
    /// The random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of changes; they cycle through link cut, link up, head restarted, leader lost, link cut, link up
    #[arg(long, default_value_t = 6)]
    changes: u32,
    /// Draw the final network into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Measure instead how many nodes changes move and what they cost: 5 graphs, 5 sets of radii, 400 changes each, and
    /// the bars at 8 densities. Takes about a minute
    #[arg(long, conflicts_with_all = ["graph", "nodes", "radius", "changes", "svg"])]
    churn: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

fn parse_radii(text: &str) -> Result<Radii, String> {
    let mut radii = Vec::new();
    for (piece, level) in text.split(',').zip(1..) {
        let radius: u64 =
            piece.trim().parse().map_err(|_| format!("level {level}: '{piece}' is not a number of hops"))?;
        radii.push(u8::try_from(radius).unwrap_or(u8::MAX));
    }
    Radii::new(&radii).map_err(|error| match error {
        RadiiError::TooMany => format!("{} levels are too many; the maximum is {LEVELS_MAX}", radii.len()),
        RadiiError::OutOfRange(level) => format!("level {level}: a radius must be from 1 to {RADIUS_MAX} hops"),
    })
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let text = if args.churn { churn_output(args)? } else { story_output(args)? };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn churn_output(args: &Args) -> anyhow::Result<String> {
    let started = Instant::now();
    let measured = measure(args.seed, |what| {
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
        std::fs::write(path, draw::hierarchy::draw(&story.field, &title))
            .with_context(|| format!("cannot write {}", path.display()))?;
        note!("wrote {}", path.display());
    }
    if args.json {
        return Ok(serde_json::to_string_pretty(&Report::new(&story, radii))? + "\n");
    }
    let mut out = trees(&story.field.net);
    out.push('\n');
    out.push_str(&table(&story.lines));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::parse_radii;

    #[test]
    fn radii_are_read_or_refused_with_the_reason() {
        assert!(parse_radii("1, 3,15").unwrap().iter().eq([1, 3, 15]));
        for (text, complaint) in [
            ("0", "level 1: a radius must be from 1 to 15 hops"),
            ("2,16", "level 2: a radius must be from 1 to 15 hops"),
            ("2,272", "level 2: a radius must be from 1 to 15 hops"),
            ("1,2,3,4", "4 levels are too many; the maximum is 3"),
            ("1,,2", "level 2: '' is not a number of hops"),
            ("far", "level 1: 'far' is not a number of hops"),
        ] {
            assert_eq!(parse_radii(text).unwrap_err(), complaint);
        }
    }
}
