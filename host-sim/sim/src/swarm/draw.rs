//! Draws a stranger from a seed.

use std::collections::BTreeSet;

use common::limits::{LEVELS_MAX, MEMBERS_MAX, ORIGINS_MAX, RADIUS_MAX};
use common::names::Algorithm;

use super::bound::World;
use super::lot::Lot;
use super::stranger::{Air, Fades, Feature, Measuring, NextDoor, Position, Stranger, Walking};

pub const NODES_MAX: u64 = 300;

/// Walking takes at most this long.
const WALK_MAX_MS: u64 = 60_000;

/// The shortest interval, in milliseconds, at which all nodes together send a block: a block takes 4 ms of each hop.
const BLOCK_MS: u64 = 200;

/// A reading is given up after 24 hops, and ways are not always the shortest.
const READING_HOPS_MAX: usize = 12;

/// How likely each feature is, in per cent. Those that make a network easy to break in one way only are rarer, so that the
/// others show too.
const fn chance(feature: Feature) -> u32 {
    match feature {
        Feature::Long => 1,
        Feature::Wifi | Feature::Mobility => 8,
        Feature::Bursts
        | Feature::Noise
        | Feature::Attack
        | Feature::CorruptFrames
        | Feature::SlowRadio
        | Feature::Readings => 12,
        Feature::Levels | Feature::Walls | Feature::Churn | Feature::Drift | Feature::CorruptState | Feature::Lies => {
            15
        }
        Feature::Flash | Feature::Dense | Feature::Partition => 25,
        Feature::Strewn | Feature::Shadows | Feature::Loss | Feature::Clocks | Feature::JointLoss => 40,
        Feature::SingleLoss => 50,
    }
}

/// What runs on boards.
const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::Hierarchy,
    Algorithm::Height,
    Algorithm::Hs,
    Algorithm::Frlle,
    Algorithm::Bully,
    Algorithm::Ring,
    Algorithm::Lcr,
];

/// The stranger of a seed, and its world.
pub fn draw(seed: u64) -> (Stranger, World) {
    let mut features = drawn_features(&mut Lot::new(seed, 1));
    let mut lot = Lot::new(seed, 2);
    // The default algorithm is as likely as all others together.
    let algorithm = if lot.percent(40) { Algorithm::Hierarchy } else { lot.one_of(&ALGORITHMS) };
    let most = if features.contains(&Feature::Long) {
        8
    } else if algorithm.needs_ring() {
        MEMBERS_MAX as u64
    } else {
        NODES_MAX
    };
    let count = size(most, &mut lot);
    if features.contains(&Feature::Walls) {
        // Walls say where nodes may be, and walking nodes would go through them.
        features.remove(&Feature::Mobility);
    }
    if features.contains(&Feature::Long) {
        // Days of noise take hours to simulate.
        for feature in [Feature::Wifi, Feature::Attack, Feature::Bursts, Feature::Readings] {
            features.remove(&feature);
        }
    }
    if features.contains(&Feature::Lies) || features.contains(&Feature::CorruptState) {
        // Whether a reading is in a log is then no longer what a node says it is.
        features.remove(&Feature::Readings);
    }
    if algorithm != Algorithm::Hierarchy {
        features.remove(&Feature::Levels);
    }
    let mut stranger = Stranger {
        seed,
        features,
        algorithm,
        positions: Vec::new(),
        walls: Vec::new(),
        air: Air {
            model: "plain",
            loss_percent: 0,
            bursts: None,
            wifi: None,
            drift_ppm: 0,
            wake_jitter_us: 0,
            is_slow: false,
        },
        walking: None,
        measuring: None,
        radii: Vec::new(),
        events: Vec::new(),
        within_ms: 10_000,
        quiet_ms: 5_000,
        is_calm: false,
    };
    stranger.settle(count, &mut Lot::new(seed, 3));
    stranger.draw_air(&mut Lot::new(seed, 4));
    let world = World::of(&stranger);
    stranger.draw_use(&world, &mut Lot::new(seed, 6));
    stranger.bind(&world);
    stranger.draw_history(&mut Lot::new(seed, 5));
    (stranger, world)
}

impl Stranger {
    /// Takes over what must hold in this world.
    pub(super) fn bind(&mut self, world: &World) {
        self.within_ms = world.within_ms();
        self.is_calm = world.is_calm(self);
    }

    fn draw_air(&mut self, lot: &mut Lot) {
        let has = |feature| self.features.contains(&feature);
        if has(Feature::Shadows) {
            self.air.model = "usual";
        }
        if has(Feature::Loss) {
            self.air.loss_percent = lot.one_of(&[1, 5, 10, 10, 20, 20, 30, 40]);
        }
        if has(Feature::Bursts) {
            let bad_ms = lot.magnitude(50, 1_000);
            self.air.bursts = Some(Fades { good_ms: bad_ms * lot.between(5, 20), bad_ms });
        }
        if has(Feature::Wifi) {
            let at = Position { x_dm: -50, y_dm: -50 };
            self.air.wifi = Some(NextDoor { at, duty_percent: lot.one_of(&[5, 10, 20, 30, 60]) });
        }
        if has(Feature::Clocks) {
            self.air.drift_ppm = lot.one_of(&[20, 100, 1_000, 20_000]);
            self.air.wake_jitter_us = lot.one_of(&[0, 20, 100]);
        }
        self.air.is_slow = has(Feature::SlowRadio);
        if has(Feature::Mobility) {
            let far = self.positions.iter().map(|position| position.x_dm.max(position.y_dm)).max().unwrap_or(0);
            let side_m = u64::try_from(far / 10).unwrap_or(0).max(10);
            self.walking = Some(Walking { side_m, until_ms: lot.magnitude(5_000, WALK_MAX_MS) });
        }
    }
}

impl Stranger {
    /// What the network is used for, and how it is led.
    fn draw_use(&mut self, world: &World, lot: &mut Lot) {
        if world.diameter > READING_HOPS_MAX || world.forbids().is_some() {
            self.features.remove(&Feature::Readings);
        }
        let has = |feature| self.features.contains(&feature);
        if has(Feature::Readings) {
            let nodes = self.positions.len().min(ORIGINS_MAX);
            // Everything passes the leader's neighbours, which can hand on some frames a second.
            let least_ms = (BLOCK_MS * nodes as u64).max(1_000);
            self.measuring = Some(Measuring { nodes, every_ms: lot.magnitude(least_ms, 60_000) });
        }
        if has(Feature::Levels) {
            let mut radii: Vec<u64> =
                (0..=lot.index(LEVELS_MAX)).map(|_| lot.magnitude(1, u64::from(RADIUS_MAX))).collect();
            radii.sort_unstable();
            self.radii = radii;
        }
    }
}

fn drawn_features(lot: &mut Lot) -> BTreeSet<Feature> {
    Feature::ALL.into_iter().filter(|&feature| lot.percent(chance(feature))).collect()
}

/// Mostly small, so that many can be run.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few hundred at most"
)]
fn size(most: u64, lot: &mut Lot) -> usize {
    let share = lot.share();
    // One node is all that there is to see of one node.
    let least = if lot.percent(3) { 1 } else { 2 };
    (crate::maths::pow(most as f64, crate::maths::pow(share, 1.5)).floor() as usize).max(least)
}
