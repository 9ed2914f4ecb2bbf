//! What a scenario says, in metres, microseconds and decibels.

use common::rng::Rng;

use crate::air::medium::Bursts;
use crate::air::propagation::{Place, Propagation, Spreading, Wall};

/// A scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is about, in a line.
    pub summary: String,
    /// The root seed, unless another is given.
    pub seed: u64,
    /// How long it runs.
    pub duration_us: u64,
    /// Where the nodes are.
    pub topology: Topology,
    /// The radios and the air between them.
    pub radio: RadioPlan,
    /// Radii of the hierarchy, level 1 first.
    pub radii: Vec<u8>,
    /// How nodes move.
    pub mobility: Option<Mobility>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// After the last change there must be agreement within this time.
    pub within_us: u64,
}

/// Where the nodes are.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// A line with this spacing.
    Line(usize, f64),
    /// A circle with this spacing.
    Ring(usize, f64),
    /// A square grid with this spacing, the last row perhaps not full.
    Grid(usize, f64),
    /// Anywhere in a square with this side.
    Random(usize, f64),
    /// As listed.
    Places(Vec<Place>),
}

impl Topology {
    /// Where each node is. Only random places need the seed.
    pub fn places(&self, seed: u64) -> Vec<Place> {
        let number = |index: usize| f64::from(u32::try_from(index).unwrap_or(u32::MAX));
        match *self {
            Self::Line(nodes, spacing) => (0..nodes).map(|node| (number(node) * spacing, 0.0)).collect(),
            Self::Ring(nodes, spacing) => {
                let step = std::f64::consts::TAU / number(nodes.max(1));
                // Neighbours are a chord apart.
                let radius = if nodes > 1 { spacing / (2.0 * (step / 2.0).sin()) } else { 0.0 };
                let at = |node| (radius * (number(node) * step).cos(), radius * (number(node) * step).sin());
                (0..nodes).map(at).collect()
            }
            Self::Grid(nodes, spacing) => {
                let columns = (1..=nodes).find(|side| side * side >= nodes).unwrap_or(1);
                (0..nodes).map(|node| (number(node % columns) * spacing, number(node / columns) * spacing)).collect()
            }
            Self::Random(nodes, side) => {
                let mut rng = Rng::stream(seed, 0x70B0);
                (0..nodes).map(|_| (unit(&mut rng) * side, unit(&mut rng) * side)).collect()
            }
            Self::Places(ref places) => places.clone(),
        }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Line(nodes, _) | Self::Ring(nodes, _) | Self::Grid(nodes, _) | Self::Random(nodes, _) => *nodes,
            Self::Places(places) => places.len(),
        }
    }
}

/// A number from 0 up to 1.
pub fn unit(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

/// How waves spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// Path loss alone.
    Plain,
    /// With shadowing, asymmetry and jitter.
    Usual,
    /// The same with much more loss.
    Harsh,
    /// A disc with this reach.
    Disc(f64),
}

/// The radios and the air between them.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioPlan {
    /// How waves spread.
    pub model: Model,
    /// The path-loss exponent, where it is not the model's.
    pub exponent: Option<f64>,
    /// The noise at every receiver, where it is not the model's.
    pub noise_dbm: Option<f64>,
    /// Links that break down for a while.
    pub bursts: Option<Bursts>,
    /// A wireless network next door.
    pub wifi: Option<Wifi>,
    /// Whether the radio's driver is the fast one.
    pub is_fast: bool,
    /// The channel.
    pub channel: u8,
    /// Transmit power.
    pub tx_dbm: f64,
    /// Clocks run fast or slow by up to this many millionths.
    pub drift_ppm: u32,
}

impl RadioPlan {
    /// The model with its settings.
    pub fn propagation(&self, seed: u64) -> Propagation {
        let mut air = match self.model {
            Model::Plain => Propagation::plain(seed),
            Model::Usual => Propagation::usual(seed),
            Model::Harsh => Propagation::harsh(seed),
            Model::Disc(reach) => Propagation { spreading: Spreading::Disc { reach }, ..Propagation::plain(seed) },
        };
        if let (Some(own), Spreading::LogDistance { exponent, .. }) = (self.exponent, &mut air.spreading) {
            *exponent = own;
        }
        air.noise_dbm = self.noise_dbm.unwrap_or(air.noise_dbm);
        air
    }
}

/// Bursts of noise from one place, all the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wifi {
    /// Where it is.
    pub at: Place,
    /// How strong it is within the channel.
    pub power_dbm: f64,
    /// The share of the time that it sends.
    pub duty: f64,
    /// Mean length of a burst.
    pub burst_us: u64,
}

/// How nodes move, until they stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mobility {
    /// Whether everybody moves as one, each keeping its place within the group.
    pub as_group: bool,
    /// Slowest and fastest, in metres per second.
    pub speed: (f64, f64),
    /// The side of the square in which they walk to random points.
    pub side: f64,
    /// When they stop.
    pub until_us: u64,
}

/// Whom a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// These nodes, counted from 0.
    Nodes(Vec<usize>),
    /// Whoever most nodes follow.
    Leader,
    /// Anybody that is on.
    Random,
}

/// What a fault is.
#[derive(Clone, Debug, PartialEq)]
pub enum Harm {
    /// Power is cut, and comes back after this long, if ever.
    Crash(Who, Option<u64>),
    /// Power comes back; the state is lost.
    Restart(Who),
    /// A wall goes up, and comes down after this long, if ever.
    Wall(Wall, Option<u64>),
    /// Noise from a place, of this power, for this long.
    Jam(Place, f64, u64),
}

/// When a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Once.
    At(u64),
    /// Again and again: after random times with this mean, from one time to another.
    Every(u64, u64, u64),
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// When.
    pub when: When,
    /// What.
    pub harm: Harm,
}

impl Fault {
    /// When its last effect sets in.
    fn ends_us(&self) -> u64 {
        let lasts = match self.harm {
            Harm::Crash(_, down) => down.unwrap_or(0),
            Harm::Wall(_, stands) => stands.unwrap_or(0),
            Harm::Jam(_, _, lasts) => lasts,
            Harm::Restart(_) => 0,
        };
        let begins = match self.when {
            When::At(at) => at,
            When::Every(_, _, until) => until,
        };
        begins + lasts
    }
}

impl Scenario {
    /// When the last change may come.
    pub fn last_change_us(&self) -> u64 {
        let moves = self.mobility.map_or(0, |mobility| mobility.until_us);
        self.faults.iter().map(Fault::ends_us).fold(moves, u64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::Topology;

    #[test]
    fn neighbours_on_a_ring_are_the_spacing_apart() {
        let places = Topology::Ring(7, 12.0).places(1);
        for (a, b) in places.iter().zip(places.iter().cycle().skip(1)) {
            assert!(((a.0 - b.0).hypot(a.1 - b.1) - 12.0).abs() < 1e-9);
        }
    }

    #[test]
    fn random_places_belong_to_the_seed() {
        let field = Topology::Random(20, 50.0);
        assert_eq!(field.places(3), field.places(3));
        assert_ne!(field.places(3), field.places(4));
        assert!(field.places(3).iter().all(|&(x, y)| (0.0..50.0).contains(&x) && (0.0..50.0).contains(&y)));
    }
}
