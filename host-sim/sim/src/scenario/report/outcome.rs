//! The outcome of one run.

use serde::{Deserialize, Serialize};

use super::collected::Collected;
use super::commands::Commands;
use super::fleet::Fleet;
use crate::scenario::input::units::secs;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every property held.
    Ok,
    /// Something happened that must never happen.
    Safety,
    /// The nodes did not agree in time.
    Liveness,
}

impl Verdict {
    /// The exit code of the process. Code 1 is reserved for bad input.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Safety => 2,
            Self::Liveness => 3,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The time of the failure in milliseconds. If the nodes did not agree in time, this is the deadline.
    pub at_ms: u64,
    pub what: String,
    pub nodes: Vec<u16>,
    /// The last events before the failure.
    pub last_events: Vec<String>,
    /// The command that repeats the run, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// The version that ran it, unless the surrounding report names it. Another version may behave differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Failure {
    /// Records how to repeat the run: the command, and the version of the program.
    pub fn set_replay(&mut self, command: String) {
        self.replay = Some(command);
        self.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    }

    /// One line with the time, the nodes and the failure.
    pub fn line(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(u16::to_string).collect();
        let at = if nodes.is_empty() { String::new() } else { format!(", nodes {}", nodes.join(", ")) };
        format!("at {}{at}: {}", secs(self.at_ms), self.what)
    }
}

/// A change of the network, and how long the nodes took to deal with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub at_ms: u64,
    pub what: String,
    /// The time until a node first noticed: it stood at the end of a link that the change made or broke, and took that
    /// link up or down. `None` if no link was made or broken, or if nobody noticed before the next change.
    pub detected_after_ms: Option<u64>,
    /// The time until the first node let go of the leader it had followed. `None` if no node did.
    #[serde(default)]
    pub called_after_ms: Option<u64>,
    /// The time until a lasting agreement. `None` if the next change came first.
    pub agreed_after_ms: Option<u64>,
}

impl Change {
    /// The time from noticing the change to agreement. `None` if the change did not disturb the agreement.
    pub fn elected_after_ms(&self) -> Option<u64> {
        self.agreed_after_ms?.checked_sub(self.detected_after_ms?).filter(|_| self.agreed_after_ms != Some(0))
    }

    /// The time from the first node that let go of its leader to agreement. On a ring this is the wave of the election
    /// itself.
    pub fn wave_ms(&self) -> Option<u64> {
        self.agreed_after_ms?.checked_sub(self.called_after_ms?)
    }
}

/// How steady leadership was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steadiness {
    /// How often a node let go of a leader, other than by losing its power.
    pub leader_changes: u64,
    /// The sum over the nodes of the time that they were on.
    pub node_ms: u64,
    /// The changes of leaders that nothing called for: agreement had been found and lasted, and the next change had not come.
    pub spontaneous: u64,
    /// The part of `node_ms` in which a change would have been spontaneous.
    pub quiet_node_ms: u64,
    /// The frames that nodes sent in that time.
    #[serde(default)]
    pub quiet_frames: u64,
    /// The same two from when on the last change of the run must have been agreed on: until then links are still being made, and
    /// heads found.
    #[serde(default)]
    pub last_quiet_node_ms: u64,
    #[serde(default)]
    pub last_quiet_frames: u64,
}

impl Steadiness {
    /// Changes of leaders for each day that a node was on.
    pub fn per_node_day(&self) -> f64 {
        per_day(self.leader_changes, self.node_ms)
    }

    /// Frames per node and minute while nothing changed.
    pub fn quiet_frames_per_minute(&self) -> f64 {
        per_day(self.quiet_frames, self.quiet_node_ms) / 1_440.0
    }

    /// The same after the last change of the run.
    pub fn last_quiet_frames_per_minute(&self) -> f64 {
        per_day(self.last_quiet_frames, self.last_quiet_node_ms) / 1_440.0
    }

    /// Spontaneous ones for each quiet day of a node.
    pub fn spontaneous_per_node_day(&self) -> f64 {
        per_day(self.spontaneous, self.quiet_node_ms)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run is far shorter than 2^52 ms")]
fn per_day(count: u64, ms: u64) -> f64 {
    if ms == 0 { 0.0 } else { count as f64 * 86_400_000.0 / ms as f64 }
}

/// The leaders from this time on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reign {
    pub at_ms: u64,
    /// In ascending order.
    pub leaders: Vec<Followed>,
}

/// A leader and how many follow it. In JSON it is a list of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u16, usize)", into = "(u16, usize)")]
pub struct Followed {
    pub leader: u16,
    pub followers: usize,
}

impl From<(u16, usize)> for Followed {
    fn from((leader, followers): (u16, usize)) -> Self {
        Self { leader, followers }
    }
}

impl From<Followed> for (u16, usize) {
    fn from(followed: Followed) -> Self {
        (followed.leader, followed.followers)
    }
}

/// Whom a node followed from this time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    pub at_ms: u64,
    pub node: u16,
    /// `None` if the node has no leader, or no power.
    pub leader: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeUse {
    pub id: u16,
    pub sent: u64,
    pub received: u64,
    pub damaged: u64,
    /// Frames that reached the node with wrong bits and a valid checksum.
    pub corrupted: u64,
    /// Frames with an impossible length.
    pub malformed: u64,
    /// The share of the run spent transmitting, in millionths.
    pub airtime_ppm: u64,
    /// The charge taken from the battery while the node was on, in microampere-hours, from the published currents of
    /// the nRF52840. The air's `energy` module documents how far off this can be.
    pub charge_uah: f64,
    /// The part of the charge spent on sending.
    #[serde(default)]
    pub tx_uah: f64,
    #[serde(default)]
    pub rx_uah: f64,
    #[serde(default)]
    pub idle_uah: f64,
    #[serde(default)]
    pub cpu_uah: f64,
    #[serde(default)]
    pub sleep_uah: f64,
    /// The mean current while the node was on, in microamperes.
    pub mean_ua: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub scenario: String,
    pub seed: u64,
    pub verdict: Verdict,
    /// The reason, if the run failed.
    pub failure: Option<Failure>,
    pub ran_ms: u64,
    /// The number of connected components of the usable links at the end.
    pub components: usize,
    /// All changes; the first is the start.
    pub changes: Vec<Change>,
    /// Agreements that were lost although nothing had changed. Links that are barely usable cause these.
    pub relapses: u64,
    pub steadiness: Steadiness,
    pub reigns: Vec<Reign>,
    /// Who followed whom, and from when on.
    pub follows: Vec<Follow>,
    pub sent: u64,
    pub received: u64,
    pub damaged: u64,
    /// Frames that were given up because the channel was never clear.
    pub busy: u64,
    /// How often nodes elected themselves.
    pub elections: u64,
    pub searches: u64,
    /// How often one end of a link took it up or down.
    pub link_changes: u64,
    /// Frames that nodes refused because they were foreign, malformed, forged or replayed.
    pub refused: u64,
    /// Frames that were sent again because no acknowledgement came.
    pub retries: u64,
    /// Events that the simulator processed.
    pub events: u64,
    pub nodes: Vec<NodeUse>,
    /// What became of readings, where the scenario collects any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collect: Option<Collected>,
    /// What became of the scenario's commands, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
    /// What became of questions to all nodes, where the scenario asks any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// A fingerprint of every frame with its time and sender.
    pub digest: String,
}

impl Outcome {
    /// How long agreement took after the last change.
    pub fn last_agreement_ms(&self) -> Option<u64> {
        self.changes.last().and_then(|change| change.agreed_after_ms)
    }
}
