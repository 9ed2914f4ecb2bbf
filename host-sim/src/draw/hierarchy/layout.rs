//! Positions of nodes in the picture.

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
    /// The coordinates of every node in the picture.
    pub(super) points: Vec<(f64, f64)>,
    /// Where the network ends and the legend begins.
    pub(super) bottom: f64,
}

impl Layout {
    /// Scales the unit square, drops the empty space above and below, and moves apart nodes that would cover each other.
    pub(super) fn of(unit: &[(f64, f64)]) -> Self {
        let scale = WIDTH - 2.0 * LEFT;
        let least = unit.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let mut points: Vec<(f64, f64)> =
            unit.iter().map(|&(x, y)| (LEFT + x * scale, TOP + (y - least) * scale)).collect();
        for _ in 0..200 {
            if !push_apart(&mut points) {
                break;
            }
        }
        let lowest = points.iter().map(|point| point.1).fold(TOP, f64::max);
        Self { points, bottom: lowest + 40.0 }
    }
}

/// Moves every pair that is too close apart by half of the missing distance; returns whether there was one.
fn push_apart(points: &mut [(f64, f64)]) -> bool {
    let mut moved = false;
    for v in 1..points.len() {
        for u in 0..v {
            let (dx, dy) = (points[v].0 - points[u].0, points[v].1 - points[u].1);
            let distance = dx.hypot(dy);
            if distance >= APART {
                continue;
            }
            moved = true;
            // Two nodes at exactly the same point are moved sideways.
            let (ex, ey) = if distance > 0.0 { (dx / distance, dy / distance) } else { (1.0, 0.0) };
            let step = (APART - distance) / 4.0 + 0.1;
            let within = |(x, y): (f64, f64)| (x.clamp(LEFT, WIDTH - LEFT), y.max(TOP));
            points[u] = within((points[u].0 - ex * step, points[u].1 - ey * step));
            points[v] = within((points[v].0 + ex * step, points[v].1 + ey * step));
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use ideal::graph::{Graph, Kind};

    use super::{LEFT, Layout, WIDTH};

    #[test]
    fn nodes_do_not_cover_each_other() {
        for seed in 0..10 {
            let layout = Layout::of(&Graph::new(Kind::Rgg, 60, seed).points);
            for (at, &(x, y)) in layout.points.iter().enumerate() {
                assert!((LEFT..=WIDTH - LEFT).contains(&x) && y < layout.bottom);
                for other in &layout.points[..at] {
                    assert!((x - other.0).hypot(y - other.1) > 24.0, "seed {seed}");
                }
            }
        }
    }
}
