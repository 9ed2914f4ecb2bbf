//! What a node of FRLLE knows of one election.

use crate::coefficient::Coefficient;
use crate::types::{NodeId, Side};

/// What one election has left at a node. It is wiped when another begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "these are the source's own flags, and independent of each other")]
pub(super) struct Ballot {
    /// `Ein`: this node began it.
    pub initiator: bool,
    /// `Frem`: no election message has come yet.
    pub untouched: bool,
    /// `M_Lc` and `N_Id_Mlc`: the best candidate seen.
    pub best: Coefficient,
    pub best_id: NodeId,
    /// A new leader is known.
    pub decided: bool,
    /// It is known from others, and the declaration may still come.
    pub hearsay: bool,
    /// This node has found out that the old leader is alive.
    pub recovery_creator: bool,
    /// This node has been told so.
    pub recovery_seen: bool,
    /// Which leader is believed lost.
    pub failed: Option<NodeId>,
    /// The way that the best candidate's token went through here.
    pub went: Option<Side>,
    /// The way that this node has not sent its own token yet.
    pub unsent: Option<Side>,
    /// How often it has sent its tokens again.
    pub again: u8,
}

impl Ballot {
    /// Before anything has come: the node itself is the best that it knows of.
    pub fn new(id: NodeId, coefficient: Coefficient, failed: Option<NodeId>) -> Self {
        Self {
            initiator: false,
            untouched: true,
            best: coefficient,
            best_id: id,
            decided: false,
            hearsay: false,
            recovery_creator: false,
            recovery_seen: false,
            failed,
            went: None,
            unsent: None,
            again: 0,
        }
    }
}
