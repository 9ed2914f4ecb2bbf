//! Positions of nodes in the picture.

use ideal::graph::UnitPoint;

use crate::draw::svg::Spot;

pub(super) const WIDTH: f64 = 900.0;
/// The left and right margin.
pub(super) const LEFT: f64 = 40.0;
/// The room for the title.
pub(super) const TOP: f64 = 66.0;
/// The room below the network.
pub(super) const HEIGHT_OF_LEGEND: f64 = 96.0;

/// Nodes nearer than this cover each other.
const APART: f64 = 44.0;

pub(super) struct Layout {
    /// Where every node is.
    pub(super) points: Vec<Spot>,
    /// Where the network ends and the legend begins.
    pub(super) bottom: f64,
}

impl Layout {
    /// Scales the unit square, drops the empty space above and below, and moves apart nodes that would cover each other.
    pub(super) fn of(unit: &[UnitPoint]) -> Self {
        let scale = WIDTH - 2.0 * LEFT;
        let least = unit.iter().map(|point| point.y).fold(f64::INFINITY, f64::min);
        let mut points: Vec<Spot> =
            unit.iter().map(|at| Spot::new(LEFT + at.x * scale, TOP + (at.y - least) * scale)).collect();
        for _ in 0..200 {
            if !push_apart(&mut points) {
                break;
            }
        }
        let lowest = points.iter().map(|point| point.y).fold(TOP, f64::max);
        Self { points, bottom: lowest + 40.0 }
    }
}

/// Moves every pair that is too close apart by half of the missing distance; returns whether there was one.
fn push_apart(points: &mut [Spot]) -> bool {
    let mut moved = false;
    for v in 1..points.len() {
        for u in 0..v {
            let (dx, dy) = (points[v].x - points[u].x, points[v].y - points[u].y);
            let distance = dx.hypot(dy);
            if distance >= APART {
                continue;
            }
            moved = true;
            // Two nodes at exactly the same point are moved sideways.
            let (ex, ey) = if distance > 0.0 { (dx / distance, dy / distance) } else { (1.0, 0.0) };
            let step = (APART - distance) / 4.0 + 0.1;
            let within = |x: f64, y: f64| Spot::new(x.clamp(LEFT, WIDTH - LEFT), y.max(TOP));
            points[u] = within(points[u].x - ex * step, points[u].y - ey * step);
            points[v] = within(points[v].x + ex * step, points[v].y + ey * step);
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use ideal::graph::{Graph, Kind};

    use super::{LEFT, Layout, Spot, WIDTH};

    #[test]
    fn nodes_do_not_cover_each_other() {
        for seed in 0..10 {
            let layout = Layout::of(&Graph::new(Kind::Rgg, 60, seed).points);
            for (at, &Spot { x, y }) in layout.points.iter().enumerate() {
                assert!((LEFT..=WIDTH - LEFT).contains(&x) && y < layout.bottom);
                for other in &layout.points[..at] {
                    assert!((x - other.x).hypot(y - other.y) > 24.0, "seed {seed}");
                }
            }
        }
    }
}
