//! How strongly a transmitter arrives at a receiver.
//!
//! The model is log-distance path loss with shadowing that is the same both ways, an asymmetry per node (some send more
//! strongly, some hear worse), and a jitter per frame. The defaults are exponent 3 and 40.2 dB at one metre (tsch-sim).
//! The harsh preset and the covariance of the asymmetry are TOSSIM's.

use std::collections::{BTreeMap, BTreeSet};

use common::rng::Rng;

use super::index::{NodeIndex, RadioIndex};
use crate::maths;

/// A position on the field, or the way from one to another, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    pub const ORIGIN: Self = Self::new(0.0, 0.0);

    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// Streams of the root seed that the radio uses.
const SHADOWING: u64 = 0x5AD0;
const ASYMMETRY: u64 = 0xA571;

#[derive(Clone, Debug, PartialEq)]
pub enum Spreading {
    /// Loss grows with the logarithm of the distance.
    LogDistance {
        exponent: f64,
        at_one_metre_db: f64,
        /// The standard deviation of the shadowing per pair of nodes, in dB.
        shadowing_db: f64,
    },
    /// Every radio within this many metres hears perfectly, and none beyond hears anything. For teaching.
    Disc { reach: f64 },
    /// Measured losses in dB per directed pair of nodes. Pairs that are not in the table do not hear each other. Radios
    /// other than nodes are heard by path loss alone, with exponent 3 and 40.2 dB at one metre.
    Table(BTreeMap<(NodeIndex, NodeIndex), f64>),
}

/// A wall, which adds this much loss between radios on different sides of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Wall {
    pub from: Point,
    pub to: Point,
    pub loss_db: f64,
}

/// Everything that decides how strong a signal arrives.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagation {
    pub spreading: Spreading,
    /// Whether nodes differ in how well they send and hear.
    pub asymmetry: bool,
    /// The standard deviation of the power from frame to frame, in dB.
    pub jitter_db: f64,
    pub noise_dbm: f64,
    pub walls: Vec<Wall>,
    /// Groups of nodes that are currently cut off from all other nodes.
    pub partitions: Vec<BTreeSet<NodeIndex>>,
    /// Radios from this number on are not nodes but jammers, attackers and neighbouring networks. Partitions do not
    /// keep them out, and tables do not list them.
    pub nodes: usize,
    /// The seed of everything random in this model.
    pub seed: u64,
}

impl Propagation {
    /// The usual model: a building, or a field with obstacles.
    pub fn usual(seed: u64) -> Self {
        Self {
            spreading: Spreading::LogDistance { exponent: 3.0, at_one_metre_db: 40.2, shadowing_db: 4.0 },
            asymmetry: true,
            jitter_db: 1.5,
            noise_dbm: -100.5,
            walls: Vec::new(),
            partitions: Vec::new(),
            nodes: usize::MAX,
            seed,
        }
    }

    /// The harsh model, after TOSSIM.
    pub fn harsh(seed: u64) -> Self {
        let spreading = Spreading::LogDistance { exponent: 4.7, at_one_metre_db: 55.4, shadowing_db: 3.2 };
        Self { spreading, ..Self::usual(seed) }
    }

    /// Path loss alone, with nothing random.
    pub fn plain(seed: u64) -> Self {
        let spreading = Spreading::LogDistance { exponent: 3.0, at_one_metre_db: 40.2, shadowing_db: 0.0 };
        Self { spreading, asymmetry: false, jitter_db: 0.0, ..Self::usual(seed) }
    }

    /// The received power in dBm of a transmitter of 0 dBm, before jitter; `None` if nothing at all arrives.
    pub fn gain_db(&self, from: (RadioIndex, Point), to: (RadioIndex, Point)) -> Option<f64> {
        let ((sender, start), (receiver, end)) = (from, to);
        let nodes = sender.node(self.nodes).zip(receiver.node(self.nodes));
        if let Some((a, b)) = nodes
            && self.partitions.iter().any(|group| group.contains(&a) != group.contains(&b))
        {
            return None;
        }
        let (dx, dy) = (start.x - end.x, start.y - end.y);
        let distance_squared = dx * dx + dy * dy;
        let spread = match &self.spreading {
            Spreading::LogDistance { exponent, at_one_metre_db, shadowing_db } => {
                // Closer than a hand's breadth the law is meaningless.
                let loss = at_one_metre_db + 5.0 * exponent * maths::log10(distance_squared.max(0.01));
                let shadow = if *shadowing_db > 0.0 { shadowing_db * self.shadowing(sender, receiver) } else { 0.0 };
                shadow - loss
            }
            // Loud enough for error-free bits and for energy detection.
            Spreading::Disc { reach } => (distance_squared <= reach * reach).then_some(-50.0)?,
            Spreading::Table(losses) => match nodes {
                Some(link) => -losses.get(&link)?,
                None => -(40.2 + 15.0 * maths::log10(distance_squared.max(0.01))),
            },
        };
        let walls: f64 = self.walls.iter().filter(|wall| crosses(wall, start, end)).map(|wall| wall.loss_db).sum();
        Some(spread - walls + self.offsets(sender).louder_db - self.offsets(receiver).deafer_db)
    }

    /// Whether only the distance between two radios decides how strongly one arrives at the other.
    pub fn is_plain(&self) -> bool {
        let without_shadows = match self.spreading {
            Spreading::LogDistance { shadowing_db, .. } => shadowing_db <= 0.0,
            Spreading::Disc { .. } => true,
            Spreading::Table(_) => false,
        };
        without_shadows && !self.asymmetry && self.walls.is_empty() && self.partitions.is_empty()
    }

    /// The greatest distance at which a signal can still arrive with this power, for a spatial index. `None` if
    /// distance does not decide.
    pub fn reach(&self, tx_dbm: f64, least_dbm: f64) -> Option<f64> {
        match self.spreading {
            Spreading::LogDistance { exponent, at_one_metre_db, shadowing_db } => {
                // All random terms exceed three deviations at once for fewer than one pair in a thousand, and such a
                // pair can barely hear each other anyway.
                let asymmetry = if self.asymmetry { 3.0 * (3.7_f64 + 6.0 + 6.6).sqrt() } else { 0.0 };
                let margin = 3.0 * shadowing_db + asymmetry;
                Some(maths::pow(10.0, (tx_dbm + margin - least_dbm - at_one_metre_db) / (10.0 * exponent)))
            }
            Spreading::Disc { reach } => Some(reach),
            Spreading::Table(_) => None,
        }
    }

    /// A normally distributed number that belongs to a pair of nodes, the same both ways.
    fn shadowing(&self, a: RadioIndex, b: RadioIndex) -> f64 {
        let pair = (a.min(b).0 as u64) << 32 | a.max(b).0 as u64;
        normal(&mut Rng::stream(self.seed ^ SHADOWING, pair))[0]
    }

    fn offsets(&self, radio: RadioIndex) -> Offsets {
        if !self.asymmetry {
            return Offsets::default();
        }
        let [a, b] = normal(&mut Rng::stream(self.seed ^ ASYMMETRY, radio.0 as u64));
        // The Cholesky factor of the covariance: a lower triangle.
        let (l11, l21) = (3.7_f64.sqrt(), -3.3 / 3.7_f64.sqrt());
        let l22 = (6.0 - l21 * l21).sqrt();
        Offsets { louder_db: l11 * a, deafer_db: l21 * a + l22 * b }
    }
}

/// How much more strongly a node sends and how much worse it hears than others. The covariance is (3.7, -3.3; -3.3,
/// 6.0).
#[derive(Clone, Copy, Debug, Default)]
struct Offsets {
    louder_db: f64,
    deafer_db: f64,
}

/// Two independent, normally distributed numbers (Box and Muller).
pub fn normal(rng: &mut Rng) -> [f64; 2] {
    let unit = |rng: &mut Rng| (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
    let (radius, angle) = ((-2.0 * maths::ln(unit(rng))).sqrt(), std::f64::consts::TAU * unit(rng));
    [radius * maths::cos(angle), radius * maths::sin(angle)]
}

/// Whether the straight line between two positions crosses a wall.
fn crosses(wall: &Wall, start: Point, end: Point) -> bool {
    let side = |a: Point, b: Point, p: Point| ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)).signum();
    let apart = |a: f64, b: f64| (a - b).abs() > f64::EPSILON;
    apart(side(wall.from, wall.to, start), side(wall.from, wall.to, end))
        && apart(side(start, end, wall.from), side(start, end, wall.to))
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;

    use super::{NodeIndex, Offsets, Point, Propagation, RadioIndex, Spreading, Wall, normal};

    const HERE: Point = Point::ORIGIN;

    #[test]
    fn loss_follows_the_law() {
        let air = Propagation::plain(1);
        let at = |metres| air.gain_db((RadioIndex(0), HERE), (RadioIndex(1), Point::new(metres, 0.0))).unwrap();
        assert!((at(1.0) + 40.2).abs() < 1e-9);
        assert!((at(10.0) + 70.2).abs() < 1e-9);
        assert!((at(100.0) + 100.2).abs() < 1e-9);
    }

    #[test]
    fn shadowing_is_the_same_both_ways_and_asymmetry_is_not() {
        let mut air = Propagation::usual(9);
        let there = Point::new(30.0, 40.0);
        assert_ne!(
            air.gain_db((RadioIndex(0), HERE), (RadioIndex(1), there)),
            air.gain_db((RadioIndex(1), there), (RadioIndex(0), HERE))
        );
        air.asymmetry = false;
        assert_eq!(
            air.gain_db((RadioIndex(0), HERE), (RadioIndex(1), there)),
            air.gain_db((RadioIndex(1), there), (RadioIndex(0), HERE))
        );
        assert_ne!(
            air.gain_db((RadioIndex(0), HERE), (RadioIndex(1), there)),
            air.gain_db((RadioIndex(0), HERE), (RadioIndex(2), there))
        );
    }

    #[test]
    fn shadowing_has_its_deviation() {
        let air = Propagation { asymmetry: false, ..Propagation::usual(3) };
        let mean =
            Propagation::plain(3).gain_db((RadioIndex(0), HERE), (RadioIndex(1), Point::new(50.0, 0.0))).unwrap();
        let off: Vec<f64> = (1..4_000)
            .map(|to| air.gain_db((RadioIndex(0), HERE), (RadioIndex(to), Point::new(50.0, 0.0))).unwrap() - mean)
            .collect();
        let count = 3_999.0;
        let average = off.iter().sum::<f64>() / count;
        let variance = off.iter().map(|x| x * x).sum::<f64>() / count;
        assert!(average.abs() < 0.25 && (variance.sqrt() - 4.0).abs() < 0.2, "{average} {variance}");
    }

    #[test]
    fn asymmetry_has_its_covariance() {
        let air = Propagation::usual(4);
        let pairs: Vec<Offsets> = (0..8_000).map(|node| air.offsets(RadioIndex(node))).collect();
        let mean = |of: fn(&Offsets) -> f64| pairs.iter().map(of).sum::<f64>() / 8_000.0;
        assert!((mean(|p| p.louder_db * p.louder_db) - 3.7).abs() < 0.3);
        assert!((mean(|p| p.deafer_db * p.deafer_db) - 6.0).abs() < 0.4);
        assert!((mean(|p| p.louder_db * p.deafer_db) + 3.3).abs() < 0.3);
    }

    #[test]
    fn nothing_beyond_its_reach_is_heard() {
        let air = Propagation::plain(1);
        let reach = air.reach(0.0, -100.0).unwrap();
        let at = |metres| air.gain_db((RadioIndex(0), HERE), (RadioIndex(1), Point::new(metres, 0.0))).unwrap();
        assert!(at(reach * 1.001) < -100.0 && at(reach * 0.999) > -100.0);
    }

    #[test]
    fn a_disc_has_an_edge_and_a_table_its_entries() {
        let disc = Propagation { spreading: Spreading::Disc { reach: 10.0 }, ..Propagation::plain(0) };
        assert!(disc.gain_db((RadioIndex(0), HERE), (RadioIndex(1), Point::new(10.0, 0.0))).is_some());
        assert!(disc.gain_db((RadioIndex(0), HERE), (RadioIndex(1), Point::new(10.1, 0.0))).is_none());
        let table = Spreading::Table([((NodeIndex(0), NodeIndex(1)), 77.0)].into());
        let measured = Propagation { spreading: table, ..Propagation::plain(0) };
        assert_eq!(measured.gain_db((RadioIndex(0), HERE), (RadioIndex(1), HERE)), Some(-77.0));
        assert_eq!(measured.gain_db((RadioIndex(1), HERE), (RadioIndex(0), HERE)), None);
    }

    #[test]
    fn walls_stand_between_and_not_beside() {
        let wall = Wall { from: Point::new(5.0, -5.0), to: Point::new(5.0, 5.0), loss_db: 30.0 };
        let air = Propagation { walls: vec![wall], ..Propagation::plain(0) };
        let clear = Propagation::plain(0);
        let gain = |air: &Propagation, to| air.gain_db((RadioIndex(0), HERE), (RadioIndex(1), to)).unwrap();
        assert!((gain(&clear, Point::new(10.0, 0.0)) - gain(&air, Point::new(10.0, 0.0)) - 30.0).abs() < 1e-9);
        assert!((gain(&clear, Point::new(10.0, 20.0)) - gain(&air, Point::new(10.0, 20.0))).abs() < 1e-9);
        assert!((gain(&clear, Point::new(4.0, 0.0)) - gain(&air, Point::new(4.0, 0.0))).abs() < 1e-9);
    }

    #[test]
    fn partitions_cut_between_and_not_within() {
        let air = Propagation { partitions: vec![[NodeIndex(0), NodeIndex(1)].into()], ..Propagation::plain(0) };
        let heard = |from: usize, to: usize| {
            air.gain_db((RadioIndex(from), HERE), (RadioIndex(to), Point::new(10.0, 0.0))).is_some()
        };
        assert!(heard(0, 1) && heard(2, 3));
        assert!(!heard(0, 2) && !heard(3, 1));
    }

    #[test]
    fn radios_that_are_no_nodes_are_in_no_table_and_behind_no_partition() {
        let table = Spreading::Table([((NodeIndex(0), NodeIndex(1)), 77.0)].into());
        let air = Propagation {
            spreading: table,
            partitions: vec![[NodeIndex(0)].into()],
            nodes: 2,
            ..Propagation::plain(0)
        };
        assert_eq!(air.gain_db((RadioIndex(0), HERE), (RadioIndex(1), HERE)), None, "cut off");
        let jammer = air.gain_db((RadioIndex(2), Point::new(10.0, 0.0)), (RadioIndex(0), HERE));
        assert!(jammer.is_some_and(|gain| (gain + 70.2).abs() < 1e-9), "{jammer:?}");
    }

    #[test]
    fn in_a_disc_walls_take_what_they_take() {
        let behind = |loss_db: f64| {
            let wall = Wall { from: Point::new(5.0, -5.0), to: Point::new(5.0, 5.0), loss_db };
            let spreading = Spreading::Disc { reach: 20.0 };
            Propagation { spreading, walls: vec![wall], ..Propagation::plain(0) }
                .gain_db((RadioIndex(0), HERE), (RadioIndex(1), Point::new(10.0, 0.0)))
        };
        assert_eq!((behind(1.0), behind(60.0)), (Some(-51.0), Some(-110.0)));
    }

    #[test]
    fn normal_numbers_are_normal() {
        let mut rng = Rng::new(1);
        let numbers: Vec<f64> = (0..10_000).flat_map(|_| normal(&mut rng)).collect();
        let within_one = numbers.iter().filter(|x| x.abs() < 1.0).count();
        assert!((13_400..13_900).contains(&within_one), "{within_one} of 20000 within one deviation");
    }
}
