//! What must hold.
//!
//! Safety, at every node after every step: what follows from the rules whatever the air does.
//! - Records stay within the radius of their level, and one of distance 0 names the node itself.
//! - Within one life a node's leader pair only ever gets better, and is never from its own future.
//! - No leader comes out of thin air: whatever pair a node follows, its leader has once had itself.
//!   Where that leader is an emulated board, nobody can tell.
//! - The engine finds no defect in itself.
//!
//! That there is one leader is no safety property: while links break, each part rightly has one of its own.
//!
//! Liveness, once changes have ceased: in every component of the usable links (mean power both ways at least 8 dB above the
//! noise, and 1 dB above what the program asks of a link) all nodes follow one leader, and it is on, follows itself, and is
//! within reach. Reach counts fainter links too, as those may well come up and join two components. An agreement that is lost
//! without a change must be back as soon as one must be there after a change.

use std::collections::{BTreeMap, BTreeSet};

use common::election::height_tuple::LeaderPair;
use common::election::hierarchy_update::Records;
use common::types::NodeId;

use crate::air::index::NodeIndex;

/// Agreement counts once it has lasted this long: longer than it takes to notice that a neighbour is gone.
pub const HOLD_US: u64 = 2_500_000;

/// A link this far above the noise is usable.
const USABLE_DB: f64 = 8.0;

/// A link this far above the noise may be there or not.
const FAINT_DB: f64 = 2.0;

/// Which links a program takes up, whatever the noise: the link layer refuses neighbours that it hears too faintly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// From here on it takes every link up.
    pub surely_dbm: f64,
    /// From here on it may keep one that was up.
    pub perhaps_dbm: f64,
}

impl Admission {
    /// Nothing but the noise counts.
    pub const ANY: Self = Self { surely_dbm: f64::NEG_INFINITY, perhaps_dbm: f64::NEG_INFINITY };

    /// The link layer's: neighbours come up from a mean of -88 dBm on, with 1 dB to spare for the jitter of the mean. One
    /// that is up stays however faint it becomes, as long as its hellos arrive.
    pub const LINKS: Self = Self { surely_dbm: -87.0, perhaps_dbm: f64::NEG_INFINITY };
}

/// What the safety check sees of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    pub id: NodeId,
    /// Its causal time.
    pub time: u32,
    /// The leader it follows, where the algorithm has heights.
    pub leader: Option<LeaderPair>,
    /// What it says about each level.
    pub records: Records,
    /// Defects that its engine reported.
    pub faults: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Safety {
    radii: Vec<u8>,
    pairs: BTreeMap<NodeId, LeaderPair>,
    claimed: BTreeSet<(NodeId, u32)>,
    /// Nodes that do not show what they claim: boards tell their leader, not their height.
    opaque: BTreeSet<NodeId>,
}

impl Safety {
    pub fn new(radii: Vec<u8>) -> Self {
        Self { radii, ..Self::default() }
    }

    /// What this node claims to be cannot be seen.
    pub fn set_opaque(&mut self, id: NodeId) {
        self.opaque.insert(id);
    }

    /// A node begins a new life and remembers nothing.
    pub fn reborn(&mut self, id: NodeId) {
        self.pairs.remove(&id);
    }

    /// Checks a node; the error says what is wrong.
    pub fn check(&mut self, view: &View) -> Result<(), String> {
        let View { id, time, leader, records, faults } = *view;
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
        let Some(leader) = leader else { return Ok(()) };
        if let Some(before) = self.pairs.insert(id, leader).filter(|before| leader > *before) {
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// Joined by usable links; nodes in ascending order.
    pub usable: Vec<Vec<NodeIndex>>,
    /// The usable links, each with its smaller end first.
    pub links: BTreeSet<(NodeIndex, NodeIndex)>,
    /// For each node, the first node of the component that faint links join it to.
    within_reach: Vec<NodeIndex>,
}

impl Components {
    /// The components of the first `nodes` radios. `power_dbm` is the mean power with which the first of two arrives at the
    /// second, `noise_at` what a radio hears besides frames.
    pub fn find(
        power_dbm: impl Fn(NodeIndex, NodeIndex) -> Option<f64>,
        nodes: usize,
        is_on: impl Fn(NodeIndex) -> bool,
        noise_at: impl Fn(NodeIndex) -> f64,
        admission: Admission,
    ) -> Self {
        let (mut strong, mut faint) = (Union::new(nodes), Union::new(nodes));
        let noise: Vec<f64> = NodeIndex::first(nodes).map(noise_at).collect();
        let mut links = BTreeSet::new();
        for a in NodeIndex::first(nodes).filter(|&a| is_on(a)) {
            for b in NodeIndex::first(a.0).filter(|&b| is_on(b)) {
                let Some((there, back)) = power_dbm(a, b).zip(power_dbm(b, a)) else { continue };
                let (weaker, margin) = (there.min(back), (there - noise[b.0]).min(back - noise[a.0]));
                if margin >= USABLE_DB && weaker >= admission.surely_dbm {
                    strong.join(a, b);
                    links.insert((b, a));
                }
                if margin >= FAINT_DB && weaker >= admission.perhaps_dbm {
                    faint.join(a, b);
                }
            }
        }
        Self::grouped(links, &strong, &faint, is_on)
    }

    /// The components that links make of nodes; `reach` are further pairs that may well hear of each other.
    pub fn of_links(
        nodes: usize,
        is_on: impl Fn(NodeIndex) -> bool,
        links: impl IntoIterator<Item = (NodeIndex, NodeIndex)>,
        reach: impl IntoIterator<Item = (NodeIndex, NodeIndex)>,
    ) -> Self {
        let (mut strong, mut faint) = (Union::new(nodes), Union::new(nodes));
        let are_on = links.into_iter().filter(|&(a, b)| is_on(a) && is_on(b));
        let links: BTreeSet<(NodeIndex, NodeIndex)> = are_on.map(|(a, b)| (a.min(b), a.max(b))).collect();
        for &(a, b) in &links {
            strong.join(a, b);
            faint.join(a, b);
        }
        reach.into_iter().for_each(|(a, b)| faint.join(a, b));
        Self::grouped(links, &strong, &faint, is_on)
    }

    fn grouped(
        links: BTreeSet<(NodeIndex, NodeIndex)>,
        strong: &Union,
        faint: &Union,
        is_on: impl Fn(NodeIndex) -> bool,
    ) -> Self {
        let nodes = strong.0.len();
        let mut groups: BTreeMap<NodeIndex, Vec<NodeIndex>> = BTreeMap::new();
        for node in NodeIndex::first(nodes).filter(|&node| is_on(node)) {
            groups.entry(strong.root(node)).or_default().push(node);
        }
        Self {
            usable: groups.into_values().collect(),
            links,
            within_reach: NodeIndex::first(nodes).map(|node| faint.root(node)).collect(),
        }
    }

    /// The nodes that spoil the agreement; none where every component has one leader. `leader` gives whom a node
    /// that is on follows, as an index.
    pub fn dissenters(&self, leader: impl Fn(NodeIndex) -> Option<NodeIndex>) -> Vec<NodeIndex> {
        self.dissenters_by_component(leader).concat()
    }

    /// The nodes that spoil the agreement of each component.
    pub fn dissenters_by_component(&self, leader: impl Fn(NodeIndex) -> Option<NodeIndex>) -> Vec<Vec<NodeIndex>> {
        let of = |members: &Vec<NodeIndex>| -> Vec<NodeIndex> {
            let Some(chosen) = members.first().and_then(|&first| leader(first)) else { return members.clone() };
            let is_there = leader(chosen) == Some(chosen)
                && members.first().is_some_and(|&first| self.within_reach[first.0] == self.within_reach[chosen.0]);
            members.iter().copied().filter(|&node| !is_there || leader(node) != Some(chosen)).collect()
        };
        self.usable.iter().map(of).collect()
    }
}

/// Sets that are joined; the smallest member stands for each.
#[derive(Clone, Debug)]
struct Union(Vec<NodeIndex>);

impl Union {
    fn new(count: usize) -> Self {
        Self(NodeIndex::first(count).collect())
    }

    fn root(&self, mut node: NodeIndex) -> NodeIndex {
        while self.0[node.0] != node {
            node = self.0[node.0];
        }
        node
    }

    fn join(&mut self, a: NodeIndex, b: NodeIndex) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b).0] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use common::election::height_tuple::LeaderPair;
    use common::election::hierarchy_update::{Record, Records};
    use common::types::NodeId;

    use super::{Admission, Components, NodeIndex, Safety, View};
    use crate::air::medium::{Medium, Tuning};
    use crate::air::propagation::{Propagation, Spreading};

    fn view(id: u16, time: u32, lid: u16, elected_at: u32) -> View {
        let leader = Some(LeaderPair { elected_at, lid: NodeId(lid) });
        View { id: NodeId(id), time, leader, records: Records::default(), faults: 0 }
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

    fn numbers(nodes: &[NodeIndex]) -> Vec<usize> {
        nodes.iter().map(|node| node.0).collect()
    }

    #[test]
    fn every_component_has_a_leader_of_its_own() {
        let air = Propagation { spreading: Spreading::Disc { reach: 10.0 }, ..Propagation::plain(1) };
        let mut medium = Medium::new(air, None, 1);
        for x in [0.0, 9.0, 18.0, 60.0, 69.0] {
            medium.add((x, 0.0), Tuning { channel: 15, tx_dbm: 0.0 });
        }
        let all =
            Components::find(|a, b| medium.mean_dbm(a.radio(), b.radio()), 5, |_| true, |_| -100.5, Admission::ANY);
        let groups =
            |found: &Components| -> Vec<Vec<usize>> { found.usable.iter().map(|group| numbers(group)).collect() };
        assert_eq!(groups(&all), [vec![0, 1, 2], vec![3, 4]]);
        let follow = |leaders: [usize; 5]| numbers(&all.dissenters(move |node| Some(NodeIndex(leaders[node.0]))));
        assert!(follow([1, 1, 1, 4, 4]).is_empty());
        assert_eq!(follow([1, 1, 2, 4, 4]), [2]);
        assert_eq!(follow([1, 1, 1, 1, 1]), [3, 4], "a leader out of reach leads nobody");
        assert_eq!(follow([1, 2, 1, 4, 4]), [0, 1, 2], "a leader that follows another is none");
        let jammed = Components::find(
            |a, b| medium.mean_dbm(a.radio(), b.radio()),
            5,
            |_| true,
            |node| if node == NodeIndex(4) { -55.0 } else { -100.5 },
            Admission::ANY,
        );
        assert_eq!(groups(&jammed), [vec![0, 1, 2], vec![3], vec![4]], "it hears nothing but noise");
        // Everything within the disc arrives with -50 dBm.
        let choosy = Admission { surely_dbm: -49.0, perhaps_dbm: -60.0 };
        let refused = Components::find(|a, b| medium.mean_dbm(a.radio(), b.radio()), 5, |_| true, |_| -100.5, choosy);
        assert_eq!(refused.usable.len(), 5);
        assert!(
            refused.dissenters(|node| Some(NodeIndex([0, 0, 2, 3, 3][node.0]))).is_empty(),
            "such links may be there or not"
        );
        assert_eq!(all.links, [(0, 1), (1, 2), (3, 4)].map(|(a, b)| (NodeIndex(a), NodeIndex(b))).into());
        let without = Components::find(
            |a, b| medium.mean_dbm(a.radio(), b.radio()),
            5,
            |node| node != NodeIndex(1),
            |_| -100.5,
            Admission::ANY,
        );
        assert_eq!(groups(&without), [vec![0], vec![2], vec![3, 4]]);
        let leaders = [Some(1), None, Some(2), Some(4), Some(4)];
        let dissenters = without.dissenters(|node| leaders[node.0].map(NodeIndex));
        assert_eq!(dissenters, [NodeIndex(0)], "it is off");
    }
}
