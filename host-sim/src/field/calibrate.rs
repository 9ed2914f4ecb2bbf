//! The path loss of a site, from links and where their ends stand: loss = loss at 1 m + 10 · exponent · log10(distance),
//! fitted by least squares, with what is left over as shadowing.
//!
//! Both directions of a link have the same shadow, so they count as one. Some nodes are louder or hear better than others,
//! which is in all their links: where there are links enough, each node's own share is fitted too, and neither blurs the
//! exponent nor counts as shadowing. Pairs that are so far apart that some do not hear each other are left out: those that do
//! are not a fair sample of them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use serde::Serialize;

use super::links::{Ends, Link, Matrix};

/// A number and how far it may be off, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub value: f64,
    pub within: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Calibration {
    pub links: usize,
    pub exponent: Estimate,
    pub loss_at_1m_db: Estimate,
    /// The standard deviation around the line.
    pub sigma_db: Estimate,
    /// The standard deviation of one direction against the other.
    pub asymmetry_db: Option<f64>,
}

/// Where nodes stand: rows of node, x and y in metres.
pub fn sketch(text: &str) -> anyhow::Result<BTreeMap<u16, [f64; 2]>> {
    let mut positions = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if line.trim().is_empty() || line.starts_with('#') || number == 1 && cells[0].parse::<f64>().is_err() {
            continue;
        }
        let [node, x, y] = cells[..] else { anyhow::bail!("line {number}: must be node, x, y in metres") };
        let position = [x, y].map(|cell| cell.parse::<f64>().ok().filter(|metres| metres.is_finite()));
        let (node, [Some(x), Some(y)]) = (node.parse().with_context(|| format!("line {number}: no node"))?, position)
        else {
            anyhow::bail!("line {number}: must be node, x, y in metres")
        };
        ensure!(positions.insert(node, [x, y]).is_none(), "line {number}: node {node} already has a position");
    }
    Ok(positions)
}

/// A pair of nodes that hear each other, one way at least.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ends: [u16; 2],
    /// Ten times the logarithm of the distance in metres.
    distance: f64,
    /// The mean of both directions.
    loss_db: f64,
}

/// With at least this many pairs per node, each node's own share is fitted.
const PAIRS_PER_NODE: usize = 3;

/// Rounds in which the nodes' shares are fitted; far fewer suffice.
const TURNS: usize = 100;

#[expect(clippy::cast_precision_loss, reason = "there are few links")]
pub fn fit(matrix: &Matrix, positions: &BTreeMap<u16, [f64; 2]>, power_dbm: f64) -> anyhow::Result<Calibration> {
    let ends = |link: &Link| Ends { from: link.from, to: link.to };
    let losses: BTreeMap<Ends, f64> = matrix.links.iter().map(|link| (ends(link), link.loss_db(power_dbm))).collect();
    let mut pairs = pairs(&losses, positions);
    let reach = reach(&losses, matrix, positions);
    let near: Vec<Pair> = pairs.iter().copied().filter(|pair| pair.distance <= reach).collect();
    let near_nodes: BTreeSet<u16> = near.iter().flat_map(|pair| pair.ends).collect();
    // Too few of them would be worse than a biased choice.
    if near.len() >= 4.max(PAIRS_PER_NODE * near_nodes.len()) {
        pairs = near;
    }
    let count = pairs.len() as f64;
    ensure!(pairs.len() >= 4, "at least four links must have both ends on the sketch; {} of them do", pairs.len());
    let nodes: BTreeSet<u16> = pairs.iter().flat_map(|pair| pair.ends).collect();
    let are_told_apart = pairs.len() >= PAIRS_PER_NODE * nodes.len();
    let without_means = |of: fn(&Pair) -> f64| {
        let values: Vec<f64> = pairs.iter().map(of).collect();
        let mean = values.iter().sum::<f64>() / count;
        let rest: Vec<f64> = values.iter().map(|value| value - mean).collect();
        (mean, if are_told_apart { without_nodes(&pairs, &nodes, rest) } else { rest })
    };
    let (mean_x, xs) = without_means(|pair| pair.distance);
    let (mean_y, ys) = without_means(|pair| pair.loss_db);
    let spread: f64 = xs.iter().map(|x| x * x).sum();
    ensure!(spread > 1.0, "all links are equally long; an exponent takes short and long ones");
    let exponent = xs.iter().zip(&ys).map(|(x, y)| x * y).sum::<f64>() / spread;
    let at_1m = mean_y - exponent * mean_x;
    let squares: f64 = xs.iter().zip(&ys).map(|(x, y)| (y - exponent * x).powi(2)).sum();
    let fitted = 2.0 + if are_told_apart { nodes.len() as f64 - 1.0 } else { 0.0 };
    let freedom = (count - fitted).max(1.0);
    let sigma = (squares / freedom).sqrt();
    // The differences between nodes are in the loss at 1 m as well: other nodes would give another one.
    let all: f64 = pairs.iter().map(|pair| (pair.loss_db - at_1m - exponent * pair.distance).powi(2)).sum();
    let of_nodes = (all / count - sigma * sigma).max(0.0) / nodes.len() as f64 * 2.0;
    let slope = sigma * sigma / spread;
    let at_1m_variance = sigma * sigma / count + mean_x * mean_x * slope + of_nodes;
    let differences: Vec<f64> = losses
        .iter()
        .filter(|(Ends { from, to }, _)| from < to && positions.contains_key(from) && positions.contains_key(to))
        .filter_map(|(&Ends { from, to }, loss)| losses.get(&Ends { from: to, to: from }).map(|back| loss - back))
        .collect();
    let asymmetry: f64 = differences.iter().map(|difference| difference.powi(2)).sum();
    Ok(Calibration {
        links: pairs.len(),
        exponent: Estimate { value: exponent, within: SURE * slope.sqrt() },
        loss_at_1m_db: Estimate { value: at_1m, within: SURE * at_1m_variance.sqrt() },
        sigma_db: Estimate { value: sigma, within: SURE * sigma / (2.0 * freedom).sqrt() },
        asymmetry_db: (!differences.is_empty()).then(|| (asymmetry / (2.0 * differences.len() as f64)).sqrt()),
    })
}

/// 95 of 100 values lie within this many standard deviations.
pub const SURE: f64 = 1.96;

/// Of the pairs up to some distance, at least this share must hear each other both ways.
const HEARD: f64 = 0.99;

/// How far nearly all pairs hear each other. Farther off, only those do that have less loss than is usual there, and they would
/// make the exponent too small.
#[expect(clippy::cast_precision_loss, reason = "there are few links")]
fn reach(losses: &BTreeMap<Ends, f64>, matrix: &Matrix, positions: &BTreeMap<u16, [f64; 2]>) -> f64 {
    let watched: Vec<u16> = matrix.nodes.iter().copied().filter(|node| !matrix.unwatched.contains(node)).collect();
    let ends = watched.iter().enumerate().flat_map(|(at, &a)| watched[at + 1..].iter().map(move |&b| [a, b]));
    let mut all: Vec<(f64, bool)> = ends
        .filter_map(|[a, b]| {
            let is_heard =
                losses.contains_key(&Ends { from: a, to: b }) && losses.contains_key(&Ends { from: b, to: a });
            Some((distance([a, b], positions)?, is_heard))
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut heard, mut reach) = (0, f64::NEG_INFINITY);
    for (at, &(distance, is_heard)) in all.iter().enumerate() {
        heard += usize::from(is_heard);
        // Pairs of one distance stay together.
        let is_last = all.get(at + 1).is_none_or(|next| next.0 > distance + 1e-9);
        if is_last && heard as f64 >= HEARD * (at + 1) as f64 {
            reach = distance + 1e-9;
        }
    }
    reach
}

/// Ten times the logarithm of the metres between two nodes; none if one of them has no position, or both have the same.
fn distance([a, b]: [u16; 2], positions: &BTreeMap<u16, [f64; 2]>) -> Option<f64> {
    let ([ax, ay], [bx, by]) = (positions.get(&a)?, positions.get(&b)?);
    let metres = (ax - bx).hypot(ay - by);
    (metres > 0.0).then(|| 10.0 * metres.log10())
}

fn pairs(losses: &BTreeMap<Ends, f64>, positions: &BTreeMap<u16, [f64; 2]>) -> Vec<Pair> {
    let ends: BTreeSet<[u16; 2]> = losses.keys().map(|&Ends { from, to }| [from.min(to), from.max(to)]).collect();
    let pair = |ends: [u16; 2]| {
        let [a, b] = ends;
        let distance = distance(ends, positions)?;
        let directions = [Ends { from: a, to: b }, Ends { from: b, to: a }];
        let ways: Vec<f64> = directions.iter().filter_map(|ends| losses.get(ends).copied()).collect();
        let loss_db = ways.iter().sum::<f64>() / if ways.len() == 2 { 2.0 } else { 1.0 };
        Some(Pair { ends, distance, loss_db })
    };
    ends.into_iter().filter_map(pair).collect()
}

/// What is left of a number of each pair when every node's own share is taken out.
#[expect(clippy::cast_precision_loss, reason = "there are few links")]
fn without_nodes(pairs: &[Pair], nodes: &BTreeSet<u16>, mut rest: Vec<f64>) -> Vec<f64> {
    for _ in 0..TURNS {
        for node in nodes {
            let of_it: Vec<usize> = (0..pairs.len()).filter(|&at| pairs[at].ends.contains(node)).collect();
            let share = of_it.iter().map(|&at| rest[at]).sum::<f64>() / of_it.len() as f64;
            for at in of_it {
                rest[at] -= share;
            }
        }
    }
    rest
}
