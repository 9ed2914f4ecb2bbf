//! How many nodes a change moves and what it costs, measured over many changes of many graphs.

use std::fmt;

use common::election::hierarchy::Radii;
use common::rng::Rng;
use common::types::NodeId;
use serde::Serialize;

use super::density::{self, Density};
use super::field::{Change, Field, moved};
use crate::graph::{Graph, Kind};
use crate::index::{Edge, NodeIndex};
use crate::shuffle::shuffled_ids;
use crate::stress::hierarchy::radii_name;

/// What the graphs of one row have in common.
#[derive(Clone, Copy, Debug)]
pub struct GraphSize {
    pub kind: Kind,
    pub nodes: u16,
}

/// The graphs that are measured.
pub const GRAPHS: [GraphSize; 5] = [
    GraphSize { kind: Kind::Rgg, nodes: 20 },
    GraphSize { kind: Kind::Rgg, nodes: 40 },
    GraphSize { kind: Kind::Rgg, nodes: 60 },
    GraphSize { kind: Kind::Grid, nodes: 49 },
    GraphSize { kind: Kind::Ring, nodes: 24 },
];

/// The radii that are measured; without levels there is only the election of the global leader.
pub const RADII: [&[u8]; 5] = [&[], &[1], &[2], &[3], &[1, 3]];

/// Graphs of each kind and size, and changes of each.
pub const INSTANCES: u64 = 8;
/// See [`INSTANCES`].
pub const CHANGES: u32 = 50;

/// How many others are in range of a node of the random geometric graphs, away from the rim. Churn falls as it grows:
/// where there are few paths, losing one often moves a node. The design that the bars come from does not say how dense
/// its graphs are, but how many heads they have: 12.7, 7.3 and 5.4 for K = 1, 2 and 3. Nine in range give as many.
pub const DEGREE: f64 = 9.0;

/// The graphs that have bars, and their radii.
pub const BARRED: GraphSize = GraphSize { kind: Kind::Rgg, nodes: 60 };
/// See [`BARRED`].
pub const BARRED_RADII: &[u8] = &[2];

/// Graphs that the bars are measured on: enough to know the mean to two digits.
pub const BAR_INSTANCES: u64 = 1_000;

/// How many nodes the changes of one kind moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Churn {
    pub changes: u64,
    /// Nodes whose level-1 head changed, including those that restarted.
    pub moved: u64,
    /// Of these, nodes whose former head led neither end of the link, or was not the head of the restarted node.
    pub moved_elsewhere: u64,
    /// Changes that moved no node.
    pub still: u64,
}

impl Churn {
    /// Nodes that moved per change.
    pub fn mean(self) -> f64 {
        ratio(self.moved, self.changes)
    }

    /// Nodes that moved per change outside the clusters that the change touched.
    pub fn mean_elsewhere(self) -> f64 {
        ratio(self.moved_elsewhere, self.changes)
    }

    /// The share of changes that moved no node, in per cent.
    pub fn still_percent(self) -> f64 {
        100.0 * ratio(self.still, self.changes)
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            changes: self.changes + other.changes,
            moved: self.moved + other.moved,
            moved_elsewhere: self.moved_elsewhere + other.moved_elsewhere,
            still: self.still + other.still,
        }
    }
}

/// What was measured for one kind and size of graph and one set of radii.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub graph: &'static str,
    pub nodes: u16,
    /// How many others are in range of a node away from the rim; meaningful for geometric graphs only.
    pub degree: f64,
    /// The radii; none for the election of the global leader alone.
    pub radii: &'static [u8],
    pub graphs: u64,
    /// Their links before anything changed.
    pub edges: u64,
    /// Updates until they had formed.
    pub forming_updates: u64,
    pub updates: u64,
    pub rounds: u64,
    /// Heads of level 1, counted after every change.
    pub heads: u64,
    /// What changes of links moved.
    pub links: Churn,
    /// What restarts of nodes moved.
    pub restarts: Churn,
}

impl Row {
    pub fn graph_name(&self) -> String {
        format!("{} {}", self.graph, self.nodes)
    }

    pub fn radii_name(&self) -> String {
        radii_name(self.radii)
    }

    pub fn all(&self) -> Churn {
        self.links.and(self.restarts)
    }

    pub fn mean_updates(&self) -> f64 {
        ratio(self.updates, self.all().changes)
    }

    pub fn mean_rounds(&self) -> f64 {
        ratio(self.rounds, self.all().changes)
    }

    /// Heads of level 1, on average.
    pub fn mean_heads(&self) -> f64 {
        ratio(self.heads, self.all().changes)
    }

    /// Links per node before anything changed, counted at both ends.
    pub fn mean_degree(&self) -> f64 {
        2.0 * ratio(self.edges, self.graphs * u64::from(self.nodes))
    }

    /// Updates until a network had formed.
    pub fn mean_forming(&self) -> f64 {
        ratio(self.forming_updates, self.graphs)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn ratio(sum: u64, count: u64) -> f64 {
    sum as f64 / (count.max(1)) as f64
}

impl Row {
    pub(super) fn new(kind: Kind, nodes: u16, radii: &'static [u8], degree: f64) -> Self {
        let (links, restarts) = (Churn::default(), Churn::default());
        Self {
            graph: kind.name(),
            nodes,
            degree,
            radii,
            graphs: 0,
            edges: 0,
            forming_updates: 0,
            updates: 0,
            rounds: 0,
            heads: 0,
            links,
            restarts,
        }
    }
}

/// The measurement for the bars: over many more graphs than a row has, since few changes move many nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bars {
    /// All graphs together.
    pub row: Row,
    /// The standard error of the nodes moved per change of a link, from the differences between graphs.
    pub moved_error: f64,
    /// The standard error of the share of link changes that move no node, in per cent.
    pub still_error: f64,
}

/// A network ended wrongly while it was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Graphs in order, and for each all radii.
    pub rows: Vec<Row>,
    /// The row that has bars, over more graphs.
    pub bars: Bars,
    /// The same at other densities.
    pub densities: Vec<Density>,
}

/// Measures everything; `progress` gets what is being measured.
pub fn measure(seed: u64, mut progress: impl FnMut(&str)) -> Result<Measured, Broken> {
    let mut rows = Vec::new();
    for GraphSize { kind, nodes } in GRAPHS {
        for radii in RADII {
            progress(&row_name(kind, nodes, radii));
            rows.push(measure_row(Row::new(kind, nodes, radii, DEGREE), kind, seed, INSTANCES)?);
        }
    }
    progress("the bars");
    let bars = measure_bars(seed, DEGREE, BAR_INSTANCES)?;
    Ok(Measured { rows, bars, densities: density::measure(seed, progress)? })
}

/// Measures this many graphs of a row.
pub(super) fn measure_row(mut row: Row, kind: Kind, seed: u64, instances: u64) -> Result<Row, Broken> {
    for instance in 0..instances {
        measure_graph(&mut row, kind, instance, seed)?;
    }
    Ok(row)
}

/// Measures the row that has bars over this many graphs of this density.
pub fn measure_bars(seed: u64, degree: f64, instances: u64) -> Result<Bars, Broken> {
    let GraphSize { kind, nodes } = BARRED;
    let mut row = Row::new(kind, nodes, BARRED_RADII, degree);
    let (mut moved, mut still) = (Vec::new(), Vec::new());
    for instance in 0..instances {
        let before = row.links;
        measure_graph(&mut row, kind, instance, seed)?;
        let changes = row.links.changes - before.changes;
        moved.push(ratio(row.links.moved - before.moved, changes));
        still.push(100.0 * ratio(row.links.still - before.still, changes));
    }
    Ok(Bars { row, moved_error: standard_error(&moved), still_error: standard_error(&still) })
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 graphs")]
fn standard_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (spread / count).sqrt()
}

/// A graph with ids in random order.
pub(super) fn strew(kind: Kind, nodes: u16, degree: f64, seed: u64, rng: &mut Rng) -> (Graph, Vec<NodeId>) {
    let graph = match kind {
        Kind::Rgg => Graph::random_geometric(nodes.into(), degree, seed),
        _ => Graph::new(kind, nodes.into(), seed),
    };
    (graph, shuffled_ids(nodes, rng))
}

/// Adds one graph to a row. The graph, its ids and the changes do not depend on the radii.
fn measure_graph(row: &mut Row, kind: Kind, instance: u64, seed: u64) -> Result<(), Broken> {
    let Row { nodes, radii, degree, .. } = *row;
    let levels = Radii::new(radii).map_err(|error| Broken(format!("{}: {error:?}", radii_name(radii))))?;
    let mut rng = Rng::stream(seed, (instance << 16) + u64::from(nodes));
    let seed = rng.next_u64();
    let (graph, ids) = strew(kind, nodes, degree, seed, &mut rng);
    let wrong = |violation| {
        let name = row_name(kind, nodes, radii);
        Broken(format!("{name}, graph {instance}: {violation}; replay: ringleader hierarchy --churn --seed {seed}"))
    };
    let (mut field, cost) = Field::form(&graph, &ids, levels, seed).map_err(wrong)?;
    row.graphs += 1;
    row.edges += graph.edges().count() as u64;
    row.forming_updates += cost.updates;
    for _ in 0..CHANGES {
        let change = draw(&graph, &field.graph, &mut rng);
        let before = field.heads();
        let cost = field.apply(change).map_err(wrong)?;
        row.updates += cost.updates;
        row.rounds += cost.rounds;
        row.heads += field.head_count() as u64;
        let churn = if change.is_of_link() { &mut row.links } else { &mut row.restarts };
        let moved = moved(&before, &field.heads());
        let touched: Vec<_> = change.nodes().iter().map(|&node| before[node]).collect();
        churn.changes += 1;
        churn.moved += moved.len() as u64;
        churn.moved_elsewhere += moved.iter().filter(|&&node| !touched.contains(&before[node])).count() as u64;
        churn.still += u64::from(moved.is_empty());
    }
    Ok(())
}

fn row_name(kind: Kind, nodes: u16, radii: &[u8]) -> String {
    format!("{} {nodes}, {}", kind.name(), radii_name(radii))
}

/// The next change: of twenty, nine cut a link, nine restore one, two restart a node. If there is no link to restore, one
/// is cut, and vice versa.
fn draw(whole: &Graph, now: &Graph, rng: &mut Rng) -> Change {
    let kind = rng.below(20);
    let cut: Vec<Edge> = whole.edges().filter(|&Edge { u, v }| !now.has(u, v)).collect();
    let up: Vec<Edge> = now.edges().collect();
    let mut below = |count: usize| rng.below(u32::try_from(count).unwrap_or(u32::MAX)) as usize;
    if kind >= 18 {
        Change::Restart(NodeIndex(below(whole.len())))
    } else if up.is_empty() || kind < 9 && !cut.is_empty() {
        Change::Link(cut[below(cut.len())])
    } else {
        Change::Cut(up[below(up.len())])
    }
}
