//! A spatial index: who is within reach of a place, without looking at everybody.

use std::collections::BTreeMap;

use super::propagation::Place;

/// Places sorted into squares as wide as the reach, so that everything in reach is in the nine squares around.
#[derive(Clone, Debug)]
pub struct Grid {
    width: Option<f64>,
    squares: BTreeMap<(i64, i64), Vec<(usize, Place)>>,
}

impl Grid {
    /// An index of these places for one reach; without a reach everybody is near.
    pub fn new(places: &[Place], reach: Option<f64>) -> Self {
        let width = reach.filter(|reach| reach.is_finite() && *reach > 0.0);
        let mut squares: BTreeMap<(i64, i64), Vec<(usize, Place)>> = BTreeMap::new();
        for (index, &place) in places.iter().enumerate() {
            squares.entry(square(place, width)).or_default().push((index, place));
        }
        Self { width, squares }
    }

    /// Calls `found` with everybody in reach of a place.
    pub fn near(&self, place: Place, mut found: impl FnMut(usize)) {
        let (column, row) = square(place, self.width);
        let reach_squared = self.width.map_or(f64::INFINITY, |width| width * width);
        for x in column - 1..=column + 1 {
            for (_, members) in self.squares.range((x, row - 1)..=(x, row + 1)) {
                for &(member, (mx, my)) in members {
                    let (dx, dy) = (mx - place.0, my - place.1);
                    if dx * dx + dy * dy <= reach_squared {
                        found(member);
                    }
                }
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a field is far smaller than 2^63 squares")]
fn square((x, y): Place, width: Option<f64>) -> (i64, i64) {
    width.map_or((0, 0), |width| ((x / width).floor() as i64, (y / width).floor() as i64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use common::rng::Rng;

    use super::Grid;

    #[test]
    fn everybody_in_reach_is_found_and_nobody_else() {
        let mut rng = Rng::new(5);
        let mut at = || f64::from(rng.below(10_000)) / 10.0 - 500.0;
        let places: Vec<(f64, f64)> = (0..800).map(|_| (at(), at())).collect();
        let grid = Grid::new(&places, Some(60.0));
        for &(x, y) in &places {
            let mut near = BTreeSet::new();
            grid.near((x, y), |index| assert!(near.insert(index), "nobody is found twice"));
            for (index, &(px, py)) in places.iter().enumerate() {
                assert_eq!((x - px).hypot(y - py) <= 60.0, near.contains(&index));
            }
        }
    }

    #[test]
    fn without_a_reach_everybody_is_near() {
        let grid = Grid::new(&[(0.0, 0.0), (1e9, 1e9)], None);
        let mut count = 0;
        grid.near((5.0, 5.0), |_| count += 1);
        assert_eq!(count, 2);
    }
}
