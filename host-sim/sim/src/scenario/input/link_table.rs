//! Measured links: what each takes from a signal, and how that changes.

use std::collections::BTreeMap;

use crate::air::index::NodeIndex;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTable {
    /// The losses at the start in dB, by sender and receiver. Pairs that are not listed do not hear each other.
    pub losses: BTreeMap<(NodeIndex, NodeIndex), f64>,
    /// What changes later, in order of time.
    pub changes: Vec<LinkChange>,
}

/// From this time on a link has this loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkChange {
    pub at_us: u64,
    pub from: NodeIndex,
    pub to: NodeIndex,
    pub loss_db: f64,
}
