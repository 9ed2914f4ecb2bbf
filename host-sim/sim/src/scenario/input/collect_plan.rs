//! What a scenario's nodes measure and gather.

use std::collections::BTreeSet;

use common::quantity::Quantity;

use crate::air::index::NodeIndex;

/// `[collect]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectPlan {
    /// How often a node's samples become a block that is stored and sent.
    pub every_us: u64,
    /// How often a node measures.
    pub sample_us: u64,
    pub quantities: Vec<Quantity>,
    /// Who measures; all nodes where none are named.
    pub from: Option<BTreeSet<NodeIndex>>,
    /// When they begin to.
    pub from_us: u64,
    /// How many blocks a node's store has room for.
    pub store: usize,
    /// Whose PC reads what all measure.
    pub reader: Option<NodeIndex>,
}

impl CollectPlan {
    pub fn measures(&self, node: NodeIndex) -> bool {
        self.from.as_ref().is_none_or(|from| from.contains(&node))
    }
}
