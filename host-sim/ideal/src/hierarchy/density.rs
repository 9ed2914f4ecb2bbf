//! How the churn that has bars depends on the density of the graphs, and what distinguishes the densities.

use common::rng::Rng;
use serde::Serialize;

use super::churn::{BARRED, Bars, Broken, GraphSize, Row, measure_bars, measure_row, strew};
use crate::structure::Ground;

/// How many others are in range of a node, away from the rim.
const DEGREES: [f64; 8] = [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0];

/// The radii beside the one that has bars.
const OTHER_RADII: [&[u8]; 3] = [&[], &[1], &[3]];

/// Graphs of each density for the bars.
const BAR_GRAPHS: u64 = 500;

/// Graphs of each density for everything else, which varies less.
const OTHER_GRAPHS: u64 = 100;

/// Graphs of each density on which heads are counted by the definition, without a run.
const COUNTED_GRAPHS: u64 = 500;

/// The radii whose heads are counted.
const COUNTED_RADII: [u8; 3] = [1, 2, 3];

/// What was measured at one density.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Density {
    /// The row that has bars.
    pub bars: Bars,
    /// The single level, K = 1 and K = 3.
    pub others: Vec<Row>,
    /// Heads for K = 1, 2 and 3 if any node may lead, whatever its rank.
    pub heads: [f64; 3],
}

pub(super) fn measure(seed: u64, mut progress: impl FnMut(&str)) -> Result<Vec<Density>, Broken> {
    let GraphSize { kind, nodes } = BARRED;
    let mut densities = Vec::new();
    for degree in DEGREES {
        progress(&format!("graphs with {degree} in range"));
        let other = |radii| measure_row(Row::new(kind, nodes, radii, degree), kind, seed, OTHER_GRAPHS);
        let others = OTHER_RADII.into_iter().map(other).collect::<Result<_, _>>()?;
        let bars = measure_bars(seed, degree, BAR_GRAPHS)?;
        densities.push(Density { bars, others, heads: COUNTED_RADII.map(|radius| mean_heads(degree, radius, seed)) });
    }
    Ok(densities)
}

/// The number of heads by definition if any node may lead. Nodes that have just formed a network follow the smallest id,
/// which also has the best rank; a leader of any other rank is one more head.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn mean_heads(degree: f64, radius: u8, seed: u64) -> f64 {
    let GraphSize { kind, nodes } = BARRED;
    let mut heads = 0;
    for instance in 0..COUNTED_GRAPHS {
        let mut rng = Rng::stream(seed, (instance << 16) + u64::from(nodes));
        let seed = rng.next_u64();
        let (graph, ids) = strew(kind, nodes, degree, seed, &mut rng);
        let mut leads = vec![false; graph.len()];
        leads[rng.below(u32::from(nodes)) as usize] = true;
        let ground = Ground { graph: &graph, ids: &ids, fitness: &vec![0; graph.len()], leads: &leads };
        let structure = ground.structure(&[radius]);
        heads += graph.nodes().filter(|&u| structure[u][0].is_some_and(|standing| standing.head == u)).count();
    }
    heads as f64 / COUNTED_GRAPHS as f64
}
