//! Who followed whom, and what happened when: what a timeline is drawn from, be it of a run or of a recording.

use crate::scenario::report::outcome::{Follow, Outcome};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    pub title: String,
    pub lasts_ms: u64,
    /// The ids of all nodes.
    pub nodes: Vec<u16>,
    /// In order of time.
    pub follows: Vec<Follow>,
    /// When something happened to the network, and what; the start does not count.
    pub changes: Vec<(u64, String)>,
}

impl Story {
    pub fn of(outcome: &Outcome) -> Self {
        Self {
            title: format!("{}, seed {}", outcome.scenario, outcome.seed),
            lasts_ms: outcome.ran_ms,
            nodes: outcome.nodes.iter().map(|node| node.id).collect(),
            follows: outcome.follows.clone(),
            changes: outcome.changes.iter().skip(1).map(|change| (change.at_ms, change.what.clone())).collect(),
        }
    }
}
