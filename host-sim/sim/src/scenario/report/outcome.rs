//! What came of a run.

use serde::{Deserialize, Serialize};

use crate::scenario::input::units::secs;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything held.
    Ok,
    /// Something happened that never may.
    Safety,
    /// There was no agreement in time.
    Liveness,
}

impl Verdict {
    /// The exit code of the process; 1 is for bad input.
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
    /// When, in milliseconds: where agreement did not come in time, the end of that time.
    pub at_ms: u64,
    pub what: String,
    pub nodes: Vec<u16>,
    /// What happened last before.
    pub last_events: Vec<String>,
    /// The command that runs the same again, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// The version of the program that ran it, where nothing around it names that: another one need not do the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Failure {
    /// Says how to run the same again: by which command, and with which version of the program.
    pub fn set_replay(&mut self, command: String) {
        self.replay = Some(command);
        self.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    }

    /// When, at which nodes and what, in a line.
    pub fn line(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(u16::to_string).collect();
        let at = if nodes.is_empty() { String::new() } else { format!(", nodes {}", nodes.join(", ")) };
        format!("at {}{at}: {}", secs(self.at_ms), self.what)
    }
}

/// A change of the network and how long it took to deal with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub at_ms: u64,
    pub what: String,
    /// Until the first node at an end of a link that the change made or broke took that link up or down. None where no
    /// link was made or broken, or nobody had noticed before the next change.
    pub detected_after_ms: Option<u64>,
    /// Until the first node let go of the leader it had followed. None where nobody did.
    #[serde(default)]
    pub called_after_ms: Option<u64>,
    /// Until agreement that lasted; none where the next change came first.
    pub agreed_after_ms: Option<u64>,
}

impl Change {
    /// Until agreement from the moment at which the change was noticed; none where it disturbed no agreement.
    pub fn elected_after_ms(&self) -> Option<u64> {
        self.agreed_after_ms?.checked_sub(self.detected_after_ms?).filter(|_| self.agreed_after_ms != Some(0))
    }

    /// From the first node that let go of its leader to agreement: on a ring the wave of the election itself.
    pub fn wave_ms(&self) -> Option<u64> {
        self.agreed_after_ms?.checked_sub(self.called_after_ms?)
    }
}

/// Who led from when on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reign {
    pub at_ms: u64,
    /// Each leader with the number of nodes that followed it, in ascending order.
    pub leaders: Vec<(u16, usize)>,
}

/// Whom a node followed from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    pub at_ms: u64,
    pub node: u16,
    /// Its leader; none where it has none, or no power.
    pub leader: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeUse {
    pub id: u16,
    pub sent: u64,
    pub received: u64,
    pub damaged: u64,
    /// Frames that were handed to it with wrong bits.
    pub corrupted: u64,
    /// Frames with an impossible length.
    pub malformed: u64,
    /// Share of the run it was transmitting, in millionths.
    pub airtime_ppm: u64,
    /// What it took from its battery while it was on, in microampere-hours, by the published currents of the nRF52840; see
    /// `energy` in the documentation of the air for how far off that can be.
    pub charge_uah: f64,
    /// Of that, for sending.
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
    /// The mean current while it was on, in microamperes.
    pub mean_ua: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub scenario: String,
    pub seed: u64,
    pub verdict: Verdict,
    /// Why, where it failed.
    pub failure: Option<Failure>,
    pub ran_ms: u64,
    /// Components of the usable links at the end.
    pub components: usize,
    /// The changes, the start first.
    pub changes: Vec<Change>,
    /// Agreements lost although nothing had changed: links at the edge of being usable do that.
    pub relapses: u64,
    pub reigns: Vec<Reign>,
    /// Who followed whom from when on.
    pub follows: Vec<Follow>,
    pub sent: u64,
    pub received: u64,
    pub damaged: u64,
    /// Frames given up because the channel was never clear.
    pub busy: u64,
    /// Elections of a node by itself.
    pub elections: u64,
    pub searches: u64,
    /// Links that went up or down at one of their ends.
    pub link_changes: u64,
    /// Frames that nodes refused: foreign, senseless, forged or heard before.
    pub refused: u64,
    /// Frames sent again because nobody acknowledged them.
    pub retries: u64,
    /// Events of the simulator.
    pub events: u64,
    pub nodes: Vec<NodeUse>,
    /// A fingerprint of every frame with its time and sender.
    pub digest: String,
}

impl Outcome {
    /// How long agreement took after the last change.
    pub fn last_agreement_ms(&self) -> Option<u64> {
        self.changes.last().and_then(|change| change.agreed_after_ms)
    }
}
