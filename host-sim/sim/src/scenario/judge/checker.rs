//! What must hold.
//!
//! Safety, at every node after every step: what follows from the rules whatever the air does.
//! - Records stay within the radius of their level, and one of distance 0 names the node itself.
//! - Within one life a node's leader pair only ever gets better, and is never from its own future. Only a node that is alone may
//!   give up its own, which nobody else follows.
//! - No leader is made up: whatever pair a node follows, that leader itself once had. If the leader is an emulated
//!   board, this cannot be checked.
//! - The engine finds no defect in itself.
//!
//! Once a scenario has corrupted a memory, leader pairs are no longer checked.
//!
//! That there is one leader is no safety property: while links break, each part rightly has one of its own.
//!
//! Liveness, after every change: agreement in every component, as `components` has it, within the time that the scenario
//! allows. An agreement that is lost without a change must be back as soon as one must be there after a change.

use std::collections::{BTreeMap, BTreeSet};

use common::election::height_tuple::LeaderPair;
use common::election::hierarchy_update::Records;
use common::types::NodeId;

/// Agreement counts once it has lasted this long: longer than it takes to notice that a neighbour is gone.
pub const HOLD_US: u64 = 2_500_000;

/// What the safety check sees of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    pub id: NodeId,
    /// Its causal time.
    pub time: u32,
    /// The leader it follows, where the algorithm has heights.
    pub leader: Option<LeaderPair>,
    /// Whether its election knows of nobody else.
    pub is_alone: bool,
    /// What it says about each level.
    pub records: Records,
    /// Defects that its engine reported.
    pub faults: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Safety {
    radii: Vec<u8>,
    /// What each node followed when it was last checked, and whether it was alone.
    pairs: BTreeMap<NodeId, (LeaderPair, bool)>,
    claimed: BTreeSet<(NodeId, u32)>,
    /// Nodes that do not show what they claim: boards tell their leader, not their height.
    opaque: BTreeSet<NodeId>,
    /// Once a memory is corrupted, leaders may come from anywhere, and pairs may get worse.
    is_corrupted: bool,
}

impl Safety {
    pub fn new(radii: Vec<u8>) -> Self {
        Self { radii, ..Self::default() }
    }

    /// What this node claims to be cannot be seen.
    pub fn set_opaque(&mut self, id: NodeId) {
        self.opaque.insert(id);
    }

    /// From now on leaders may come from anywhere.
    pub fn note_corruption(&mut self) {
        self.is_corrupted = true;
    }

    /// A node begins a new life and remembers nothing.
    pub fn reborn(&mut self, id: NodeId) {
        self.pairs.remove(&id);
    }

    /// Checks a node; the error says what is wrong.
    pub fn check(&mut self, view: &View) -> Result<(), String> {
        let View { id, time, leader, is_alone, records, faults } = *view;
        for (level, record) in records.iter().enumerate() {
            let Some(record) = record else { continue };
            let radius = self.radii.get(level).copied().unwrap_or(0);
            if record.distance() > radius || level >= self.radii.len() {
                let distance = record.distance();
                return Err(format!(
                    "node {id} has a head {distance} hops away on level {}, radius {radius}",
                    level + 1
                ));
            }
            if (record.distance() == 0) != (record.head == id) {
                return Err(format!("node {id} has node {} as head at distance {}", record.head, record.distance()));
            }
        }
        if faults > 0 {
            return Err(format!("the engine of node {id} reports {faults} defects of its own"));
        }
        let Some(leader) = leader.filter(|_| !self.is_corrupted) else { return Ok(()) };
        let before = self.pairs.insert(id, (leader, is_alone));
        if let Some((before, _)) = before.filter(|&(before, was_alone)| leader > before && !was_alone) {
            return Err(format!("node {id} went back from {} to {}", pair(before), pair(leader)));
        }
        if leader.elected_at > time {
            return Err(format!("node {id} follows {} at its time {time}, before the election", pair(leader)));
        }
        let claim = (leader.lid, leader.elected_at);
        if leader.lid == id {
            self.claimed.insert(claim);
        } else if !self.claimed.contains(&claim) && !self.opaque.contains(&leader.lid) {
            return Err(format!("node {id} follows {}, which that node never was", pair(leader)));
        }
        Ok(())
    }
}

fn pair(pair: LeaderPair) -> String {
    format!("leader {} of time {}", pair.lid, pair.elected_at)
}

#[cfg(test)]
mod tests {
    use common::election::height_tuple::LeaderPair;
    use common::election::hierarchy_update::{Record, Records};
    use common::types::NodeId;

    use super::{Safety, View};

    fn view(id: u16, time: u32, lid: u16, elected_at: u32) -> View {
        let leader = Some(LeaderPair { elected_at, lid: NodeId(lid) });
        View { id: NodeId(id), time, leader, is_alone: false, records: Records::default(), faults: 0 }
    }

    #[test]
    fn leaders_get_better_and_come_from_somewhere() {
        let mut safety = Safety::new(vec![2]);
        safety.check(&view(1, 5, 1, 5)).unwrap();
        safety.check(&view(2, 6, 1, 5)).unwrap();
        assert!(safety.check(&view(3, 6, 1, 4)).unwrap_err().contains("never was"));
        safety.check(&view(2, 9, 2, 9)).unwrap();
        assert!(safety.check(&view(2, 9, 1, 5)).unwrap_err().contains("went back"));
        safety.reborn(NodeId(2));
        safety.check(&View { is_alone: true, ..view(2, 9, 2, 9) }).unwrap();
        safety.check(&view(2, 9, 1, 5)).unwrap();
        assert!(safety.check(&view(4, 3, 4, 4)).unwrap_err().contains("before the election"));
        assert!(safety.check(&View { faults: 1, ..view(1, 5, 1, 5) }).unwrap_err().contains("defects"));
    }

    #[test]
    fn heads_are_within_their_radius() {
        let with = |fitness, head, distance| {
            let mut records = Records::default();
            records[0] = Some(Record::new(fitness, NodeId(head), distance));
            View { records, ..view(1, 5, 1, 5) }
        };
        let mut safety = Safety::new(vec![2]);
        safety.check(&with(0, 9, 2)).unwrap();
        assert!(safety.check(&with(0, 9, 3)).unwrap_err().contains("3 hops away"));
        assert!(safety.check(&with(0, 9, 0)).unwrap_err().contains("at distance 0"));
        assert!(Safety::new(Vec::new()).check(&with(0, 1, 0)).is_err(), "there is no such level");
    }
}
