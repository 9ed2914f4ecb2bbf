//! A spatial index: finds who is within reach of a point without testing everybody.

use std::collections::BTreeMap;

use super::index::RadioIndex;
use super::propagation::Point;

/// How many strips a reach takes: narrow enough to visit few points out of reach, wide enough to visit few strips.
const STRIPS: f64 = 8.0;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Point,
    radio: RadioIndex,
}

/// Points sorted into narrow strips, and from left to right within each: those in reach of a point lie side by side in their
/// strip.
#[derive(Clone, Debug)]
pub struct Grid {
    reach: Option<f64>,
    strips: BTreeMap<i64, Vec<Entry>>,
}

impl Grid {
    /// An index of the radios at these points for one reach; without a reach everybody is near.
    pub fn new(points: &[Point], reach: Option<f64>) -> Self {
        let reach = reach.filter(|reach| reach.is_finite() && *reach > 0.0);
        let mut strips: BTreeMap<i64, Vec<Entry>> = BTreeMap::new();
        for (index, &at) in points.iter().enumerate() {
            strips
                .entry(reach.map_or(0, |reach| strip(at.y, reach)))
                .or_default()
                .push(Entry { at, radio: RadioIndex(index) });
        }
        for strip in strips.values_mut() {
            strip.sort_by(|a, b| a.at.x.total_cmp(&b.at.x));
        }
        Self { reach, strips }
    }

    /// Calls `found` with everybody in reach of a point, and with the square of the distance.
    pub fn near(&self, Point { x, y }: Point, mut found: impl FnMut(RadioIndex, f64)) {
        let reach = self.reach.unwrap_or(f64::INFINITY);
        let reach_squared = reach * reach;
        let strips = self.reach.map_or(0..=0, |reach| strip(y - reach, reach)..=strip(y + reach, reach));
        for (&strip, members) in self.strips.range(strips) {
            let half = self.reach.map_or(f64::INFINITY, |reach| half_chord(y, strip, reach));
            let first = members.partition_point(|left| left.at.x < x - half);
            for &Entry { at, radio } in members[first..].iter().take_while(|right| right.at.x <= x + half) {
                let (dx, dy) = (at.x - x, at.y - y);
                let distance_squared = dx * dx + dy * dy;
                if distance_squared <= reach_squared {
                    found(radio, distance_squared);
                }
            }
        }
    }
}

/// Half the width of the circle around a point where it is widest within a strip, and a little more.
#[expect(clippy::cast_precision_loss, reason = "a field is far smaller than 2^53 strips")]
fn half_chord(y: f64, strip: i64, reach: f64) -> f64 {
    let height = reach / STRIPS;
    let bottom = strip as f64 * height;
    let away = (bottom - y).max(y - bottom - height).max(0.0);
    (reach * reach - away * away).max(0.0).sqrt() + height / STRIPS
}

#[expect(clippy::cast_possible_truncation, reason = "a field is far smaller than 2^63 strips")]
fn strip(y: f64, reach: f64) -> i64 {
    (y / reach * STRIPS).floor() as i64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use common::rng::Rng;

    use super::{Grid, Point, RadioIndex};

    #[test]
    fn everybody_in_reach_is_found_and_nobody_else() {
        let mut rng = Rng::new(5);
        let mut at = || f64::from(rng.below(10_000)) / 10.0 - 500.0;
        let points: Vec<Point> = (0..800).map(|_| Point::new(at(), at())).collect();
        let grid = Grid::new(&points, Some(60.0));
        for &here in &points {
            let mut near = BTreeSet::new();
            grid.near(here, |radio, _| assert!(near.insert(radio), "nobody is found twice"));
            for (index, point) in points.iter().enumerate() {
                assert_eq!((here.x - point.x).hypot(here.y - point.y) <= 60.0, near.contains(&RadioIndex(index)));
            }
        }
    }

    #[test]
    fn without_a_reach_everybody_is_near() {
        let grid = Grid::new(&[Point::ORIGIN, Point::new(1e9, 1e9)], None);
        let mut count = 0;
        grid.near(Point::new(5.0, 5.0), |_, _| count += 1);
        assert_eq!(count, 2);
    }
}
