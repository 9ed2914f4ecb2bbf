//! The path loss of a place, from links and where their ends stand: loss = loss at 1 m + 10 · exponent · log10(distance),
//! fitted by least squares, with what is left over as shadowing.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde::Serialize;

use super::links::Matrix;

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
    let mut places = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if line.trim().is_empty() || line.starts_with('#') || number == 1 && cells[0].parse::<f64>().is_err() {
            continue;
        }
        let [node, x, y] = cells[..] else { anyhow::bail!("line {number}: must be node, x, y in metres") };
        let place = [x, y].map(|cell| cell.parse::<f64>().ok().filter(|metres| metres.is_finite()));
        let (node, [Some(x), Some(y)]) = (node.parse().with_context(|| format!("line {number}: no node"))?, place)
        else {
            anyhow::bail!("line {number}: must be node, x, y in metres")
        };
        ensure!(places.insert(node, [x, y]).is_none(), "line {number}: node {node} has a place already");
    }
    Ok(places)
}

#[expect(clippy::cast_precision_loss, reason = "there are few links")]
pub fn fit(matrix: &Matrix, places: &BTreeMap<u16, [f64; 2]>, power_dbm: f64) -> anyhow::Result<Calibration> {
    let mut points = Vec::new();
    let mut losses = BTreeMap::new();
    for link in &matrix.links {
        let (Some([ax, ay]), Some([bx, by])) = (places.get(&link.from), places.get(&link.to)) else { continue };
        let metres = (ax - bx).hypot(ay - by);
        if metres > 0.0 {
            points.push([10.0 * metres.log10(), link.loss_db(power_dbm)]);
            losses.insert((link.from, link.to), link.loss_db(power_dbm));
        }
    }
    let count = points.len() as f64;
    ensure!(points.len() >= 4, "{} links have both ends on the sketch; four are the least", points.len());
    let mean = |of: fn(&[f64; 2]) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point[0]), mean(|point| point[1]));
    let spread: f64 = points.iter().map(|[x, _]| (x - mean_x).powi(2)).sum();
    ensure!(spread > 1.0, "all links are equally long: an exponent needs short and long ones");
    let exponent = points.iter().map(|[x, y]| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    let at_1m = mean_y - exponent * mean_x;
    let squares: f64 = points.iter().map(|[x, y]| (y - at_1m - exponent * x).powi(2)).sum();
    let sigma = (squares / (count - 2.0)).sqrt();
    let within = 1.96 * sigma;
    let differences: Vec<f64> = losses
        .iter()
        .filter(|((from, to), _)| from < to)
        .filter_map(|(&(from, to), loss)| losses.get(&(to, from)).map(|back| loss - back))
        .collect();
    let squares: f64 = differences.iter().map(|difference| difference.powi(2)).sum();
    Ok(Calibration {
        links: points.len(),
        exponent: Estimate { value: exponent, within: within / spread.sqrt() },
        loss_at_1m_db: Estimate { value: at_1m, within: within * (1.0 / count + mean_x.powi(2) / spread).sqrt() },
        sigma_db: Estimate { value: sigma, within: within / (2.0 * count).sqrt() },
        asymmetry_db: (!differences.is_empty()).then(|| (squares / (2.0 * differences.len() as f64)).sqrt()),
    })
}
