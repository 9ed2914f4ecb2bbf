//! Where a stranger's nodes stand, and what stands between them.

use super::lot::Lot;
use super::stranger::{Feature, Position, Side, Stranger};

/// How far apart neighbours are in a thin network: links of this length are usable in most models.
const THIN_DM: u64 = 250;

/// Rooms of a star and their hub.
const STAR_MAX: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Line,
    Ring,
    Grid,
    Random,
    Clusters,
    Corridor,
    Rooms,
    Star,
}

impl Stranger {
    /// Draws the positions of this many nodes, and the walls between them.
    pub(super) fn settle(&mut self, count: usize, lot: &mut Lot) {
        let has_walls = self.features.contains(&Feature::Walls);
        let shape = if has_walls {
            lot.one_of(&[Shape::Corridor, Shape::Rooms, Shape::Star])
        } else {
            lot.one_of(&[Shape::Line, Shape::Ring, Shape::Grid, Shape::Random, Shape::Random, Shape::Clusters])
        };
        let is_dense = self.features.contains(&Feature::Dense);
        let spacing = if is_dense { lot.magnitude(1, 40) } else { lot.between(80, THIN_DM) };
        self.positions = match shape {
            Shape::Line => line(count, spacing),
            Shape::Ring => ring(count, spacing),
            Shape::Grid | Shape::Rooms => grid(count, spacing, columns_of(count)),
            Shape::Corridor => grid(count, spacing, count.div_ceil(2).max(1)),
            Shape::Random => random(count, spacing, lot),
            Shape::Clusters => clusters(count, spacing, lot),
            Shape::Star => star(count.min(STAR_MAX)),
        };
        match shape {
            Shape::Rooms => self.walls = room_walls(count, spacing),
            // A wall along the corridor, with a door at one end.
            Shape::Corridor => {
                let length = i64::try_from(count.div_ceil(2) as u64 * spacing).unwrap_or(0);
                let middle = i64::try_from(spacing / 2).unwrap_or(0);
                self.walls = vec![Side { start: at(middle, middle), end: at(length, middle) }];
            }
            Shape::Star => self.walls = star_walls(self.positions.len() - 1),
            _ => {}
        }
        if self.features.contains(&Feature::Strewn) {
            lot.shuffle(&mut self.positions);
        }
    }
}

const fn at(x_dm: i64, y_dm: i64) -> Position {
    Position { x_dm, y_dm }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a field of some kilometres")]
fn polar(radius_dm: f64, part: usize, of: usize) -> Position {
    let angle = std::f64::consts::TAU * part as f64 / of.max(1) as f64;
    at((radius_dm * crate::maths::cos(angle)).round() as i64, (radius_dm * crate::maths::sin(angle)).round() as i64)
}

fn line(count: usize, spacing: u64) -> Vec<Position> {
    (0..count as u64).map(|node| at(signed(node * spacing), 0)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a field of some kilometres")]
fn ring(count: usize, spacing: u64) -> Vec<Position> {
    let radius =
        if count < 2 { 0.0 } else { spacing as f64 / 2.0 / crate::maths::sin(std::f64::consts::PI / count as f64) };
    (0..count).map(|node| polar(radius, node, count)).collect()
}

fn columns_of(count: usize) -> usize {
    (1..=count).find(|side| side * side >= count).unwrap_or(1)
}

fn grid(count: usize, spacing: u64, columns: usize) -> Vec<Position> {
    let position =
        |node: usize| at(signed((node % columns) as u64 * spacing), signed((node / columns) as u64 * spacing));
    (0..count).map(position).collect()
}

/// As many per area as in a grid of that spacing.
fn random(count: usize, spacing: u64, lot: &mut Lot) -> Vec<Position> {
    let side = columns_of(count) as u64 * spacing;
    (0..count).map(|_| at(signed(lot.between(0, side)), signed(lot.between(0, side)))).collect()
}

/// Groups on a line, each within a few metres.
fn clusters(count: usize, spacing: u64, lot: &mut Lot) -> Vec<Position> {
    let groups = lot.between(2, 5);
    let position = |node: usize| {
        let group = node as u64 % groups;
        at(signed(group * (spacing + 30) + lot.between(0, 40)), signed(lot.between(0, 40)))
    };
    (0..count).map(position).collect()
}

fn star(count: usize) -> Vec<Position> {
    let leaves = count.saturating_sub(1);
    std::iter::once(at(0, 0)).chain((0..leaves).map(|leaf| polar(150.0, leaf, leaves))).collect()
}

/// Walls from near the hub outwards, between each two leaves.
fn star_walls(leaves: usize) -> Vec<Side> {
    if leaves < 2 {
        return Vec::new();
    }
    let between = |wall: usize, radius: f64| polar(radius, 2 * wall + 1, 2 * leaves);
    (0..leaves).map(|wall| Side { start: between(wall, 3.0), end: between(wall, 5_000.0) }).collect()
}

/// A wall after every third row, which leaves out the last column.
fn room_walls(count: usize, spacing: u64) -> Vec<Side> {
    let columns = columns_of(count) as u64;
    let rows = (count as u64).div_ceil(columns.max(1));
    let end = signed(columns.saturating_sub(2) * spacing + spacing / 2);
    (1..rows)
        .filter(|row| row % 3 == 0)
        .map(|row| signed(row * spacing - spacing / 2))
        .map(|y| Side { start: at(-signed(spacing), y), end: at(end, y) })
        .collect()
}
