//! The positions of a scenario's nodes.

use common::rng::Rng;

use crate::air::propagation::Point;
use crate::maths;
use crate::scenario::input::plan::unit;

#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    Line {
        nodes: usize,
        spacing: f64,
    },
    /// On a circle, with this spacing between neighbours.
    Ring {
        nodes: usize,
        spacing: f64,
    },
    /// On a square grid. The last row may be incomplete.
    Grid {
        nodes: usize,
        spacing: f64,
    },
    /// Anywhere in a square with this side.
    Random {
        nodes: usize,
        side: f64,
    },
    Positions(Vec<Point>),
}

impl Topology {
    /// The position of each node. Only random positions depend on the seed.
    pub fn positions(&self, seed: u64) -> Vec<Point> {
        let number = |index: usize| f64::from(u32::try_from(index).unwrap_or(u32::MAX));
        match *self {
            Self::Line { nodes, spacing } => (0..nodes).map(|node| Point::new(number(node) * spacing, 0.0)).collect(),
            Self::Ring { nodes, spacing } => {
                let step = std::f64::consts::TAU / number(nodes.max(1));
                // The spacing is the length of the chord between neighbours.
                let radius = if nodes > 1 { spacing / (2.0 * maths::sin(step / 2.0)) } else { 0.0 };
                let at = |node| {
                    Point::new(radius * maths::cos(number(node) * step), radius * maths::sin(number(node) * step))
                };
                (0..nodes).map(at).collect()
            }
            Self::Grid { nodes, spacing } => {
                let columns = (1..=nodes).find(|side| side * side >= nodes).unwrap_or(1);
                let at = |node| Point::new(number(node % columns) * spacing, number(node / columns) * spacing);
                (0..nodes).map(at).collect()
            }
            Self::Random { nodes, side } => {
                let mut rng = Rng::stream(seed, 0x70B0);
                (0..nodes).map(|_| Point::new(unit(&mut rng) * side, unit(&mut rng) * side)).collect()
            }
            Self::Positions(ref positions) => positions.clone(),
        }
    }

    pub fn nodes(&self) -> usize {
        match self {
            Self::Line { nodes, .. }
            | Self::Ring { nodes, .. }
            | Self::Grid { nodes, .. }
            | Self::Random { nodes, .. } => *nodes,
            Self::Positions(positions) => positions.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Topology;

    #[test]
    fn neighbours_on_a_ring_are_the_spacing_apart() {
        let positions = Topology::Ring { nodes: 7, spacing: 12.0 }.positions(1);
        for (a, b) in positions.iter().zip(positions.iter().cycle().skip(1)) {
            assert!(((a.x - b.x).hypot(a.y - b.y) - 12.0).abs() < 1e-9);
        }
    }

    #[test]
    fn random_positions_belong_to_the_seed() {
        let field = Topology::Random { nodes: 20, side: 50.0 };
        assert_eq!(field.positions(3), field.positions(3));
        assert_ne!(field.positions(3), field.positions(4));
        assert!(field.positions(3).iter().all(|at| (0.0..50.0).contains(&at.x) && (0.0..50.0).contains(&at.y)));
    }
}
