//! Whether everything held that must hold of a stranger.

use serde::{Deserialize, Serialize};

use super::bound::{AIRTIME_MAX_PPM, World};
use super::stranger::{Feature, Stranger};
use crate::scenario::judge::collection::STILL_WAITS;
use crate::scenario::report::outcome::{Failure, Outcome, Verdict};
use crate::scenario::run::drive;

/// The quiet time of each node from which on its frames are counted, in milliseconds: less is chance.
const QUIET_MIN_MS: u64 = 30_000;

/// While these last, something disturbs the network all the time, so that only the time after the last of them is quiet.
const DISTURBING: [Feature; 4] = [Feature::Attack, Feature::CorruptFrames, Feature::Noise, Feature::Drift];

/// How a stranger fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    Held,
    /// Agreement could not be asked for, and what is left held.
    Degraded,
    /// Something happened that never may.
    Safety,
    /// No agreement in time.
    Agreement,
    /// A leader changed while nothing else did.
    Unsteady,
    /// A node spent too much of the time sending.
    Airtime,
    /// Nodes sent too much while nothing changed.
    Frames,
    /// A reading waited too long.
    Readings,
}

impl Fate {
    pub const ALL: [Self; 8] = [
        Self::Held,
        Self::Degraded,
        Self::Safety,
        Self::Agreement,
        Self::Unsteady,
        Self::Airtime,
        Self::Frames,
        Self::Readings,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Degraded => "degraded",
            Self::Safety => "safety",
            Self::Agreement => "agreement",
            Self::Unsteady => "unsteady",
            Self::Airtime => "airtime",
            Self::Frames => "frames",
            Self::Readings => "readings",
        }
    }

    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Held | Self::Degraded)
    }

    /// As exit codes go: what is not unsafe came too late or was too much.
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Held | Self::Degraded => Verdict::Ok,
            Self::Safety => Verdict::Safety,
            Self::Agreement | Self::Unsteady | Self::Airtime | Self::Frames | Self::Readings => Verdict::Liveness,
        }
    }
}

/// The result of a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub seed: u64,
    pub fate: Fate,
    pub algorithm: String,
    pub nodes: usize,
    pub features: Vec<Feature>,
    /// Parts of the network without a usable path between them.
    pub components: usize,
    pub audible: usize,
    pub diameter: usize,
    pub loss: f64,
    /// Why agreement could not be asked for.
    pub forbids: Option<String>,
    /// How long agreement may take, and how long it took at worst.
    pub bound_ms: u64,
    pub worst_ms: Option<u64>,
    pub spontaneous: u64,
    /// Of the node that sent the most, in millionths of the time.
    pub airtime_ppm: u64,
    /// Frames per node and minute after the last change was settled, where that was long enough.
    pub quiet_frames: Option<f64>,
    pub failure: Option<Failure>,
}

/// Runs a stranger and returns its result.
pub fn examine(stranger: &Stranger, world: &World) -> Row {
    let outcome = drive::run(&stranger.scenario(), stranger.seed);
    let steadiness = outcome.steadiness;
    let is_long_enough = steadiness.last_quiet_node_ms >= QUIET_MIN_MS * stranger.positions.len() as u64;
    let airtime_ppm = outcome.nodes.iter().map(|node| node.airtime_ppm).max().unwrap_or(0);
    let mut row = Row {
        seed: stranger.seed,
        fate: Fate::Held,
        algorithm: stranger.algorithm.name().to_owned(),
        nodes: stranger.positions.len(),
        features: stranger.features.iter().copied().collect(),
        components: world.components,
        audible: world.audible,
        diameter: world.diameter,
        loss: world.loss,
        forbids: world.forbids(),
        bound_ms: stranger.within_ms,
        worst_ms: outcome.changes.iter().filter_map(|change| change.agreed_after_ms).max(),
        spontaneous: steadiness.spontaneous,
        airtime_ppm,
        quiet_frames: is_long_enough.then(|| steadiness.last_quiet_frames_per_minute()),
        failure: None,
    };
    (row.fate, row.failure) = judge(&row, outcome, stranger, world);
    row
}

fn judge(row: &Row, outcome: Outcome, stranger: &Stranger, world: &World) -> (Fate, Option<Failure>) {
    let at_ms = outcome.ran_ms;
    let found =
        |what| Some(Failure { at_ms, what, nodes: Vec::new(), last_events: Vec::new(), replay: None, version: None });
    let is_asked = row.forbids.is_none();
    if outcome.verdict == Verdict::Safety {
        return (Fate::Safety, outcome.failure);
    }
    if is_asked && outcome.verdict == Verdict::Liveness {
        let says = |what| outcome.failure.as_ref().is_some_and(|failure| failure.what.contains(what));
        let fate = match (says("changed its leader"), says(STILL_WAITS)) {
            (true, _) => Fate::Unsteady,
            (_, true) => Fate::Readings,
            _ => Fate::Agreement,
        };
        return (fate, outcome.failure);
    }
    let is_disturbed = stranger.features.iter().any(|feature| DISTURBING.contains(feature));
    if is_asked && stranger.is_calm && !is_disturbed && row.spontaneous > 0 {
        let what = format!("changes of leader for no reason: {}", row.spontaneous);
        return (Fate::Unsteady, found(what));
    }
    if row.airtime_ppm > AIRTIME_MAX_PPM {
        return (Fate::Airtime, found(format!("a node spent {} ppm of the time sending", row.airtime_ppm)));
    }
    match row.quiet_frames {
        Some(frames) if stranger.is_calm && stranger.measuring.is_none() && frames > world.quiet_frames_max() => {
            let most = world.quiet_frames_max();
            (Fate::Frames, found(format!("{frames:.0} frames per node and quiet minute, not at most {most:.0}")))
        }
        _ if is_asked => (Fate::Held, None),
        _ => (Fate::Degraded, None),
    }
}
