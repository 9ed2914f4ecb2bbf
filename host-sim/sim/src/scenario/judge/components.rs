//! Which nodes must agree with each other, and whether they do.
//!
//! A link is *usable* if its mean power is, both ways, at least 8 dB above the noise and 1 dB above what the program asks of a
//! link. A path is usable if all its links are. The nodes that usable paths join make a component, and a component agrees if
//! all its nodes follow one leader that is on, follows itself, and belongs to the component.
//!
//! A link is *faint* if it is at least 2 dB above the noise both ways and not usable. Such a link may come up or not,
//! and stay for an hour or for a second. So no agreement is required across it, and none counts: a component all of
//! whose nodes follow a leader beyond faint links that are up is *held*, which is neither agreement nor dispute, for as
//! long as those links are up at both ends. A node without any link that goes by what it hears over a faint one is held
//! too.

use std::collections::{BTreeMap, BTreeSet};

use crate::air::index::NodeIndex;

/// A link this far above the noise is usable.
const USABLE_DB: f64 = 8.0;

/// A link this far above the noise may come up or not.
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

/// How the nodes of a component stand to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Agreed,
    /// All follow one leader, but only faint links join them to it.
    Held,
    /// These nodes spoil the agreement.
    Disputed(Vec<NodeIndex>),
}

impl Standing {
    pub fn dissenters(&self) -> &[NodeIndex] {
        match self {
            Self::Disputed(dissenters) => dissenters,
            Self::Agreed | Self::Held => &[],
        }
    }
}

/// One of the components of a moment, counted from 0. What has this number after a change may be another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentIndex(pub usize);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// Joined by usable links; nodes in ascending order.
    pub usable: Vec<Vec<NodeIndex>>,
    /// The usable links, each with its smaller end first.
    pub links: BTreeSet<(NodeIndex, NodeIndex)>,
    /// The faint links between components. Those within one matter to nobody.
    faint: Vec<(NodeIndex, NodeIndex)>,
    /// The smallest node of each node's component.
    root: Vec<NodeIndex>,
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
        let noise: Vec<f64> = NodeIndex::first(nodes).map(noise_at).collect();
        let (mut links, mut faint) = (BTreeSet::new(), Vec::new());
        for a in NodeIndex::first(nodes).filter(|&a| is_on(a)) {
            for b in NodeIndex::first(a.0).filter(|&b| is_on(b)) {
                let Some((there, back)) = power_dbm(a, b).zip(power_dbm(b, a)) else { continue };
                let (weaker, margin) = (there.min(back), (there - noise[b.0]).min(back - noise[a.0]));
                if margin >= USABLE_DB && weaker >= admission.surely_dbm {
                    links.insert((b, a));
                } else if margin >= FAINT_DB && weaker >= admission.perhaps_dbm {
                    faint.push((b, a));
                }
            }
        }
        Self::grouped(nodes, is_on, links, faint)
    }

    /// The components that links make of nodes; `reach` are further pairs that may well hear of each other.
    pub fn of_links(
        nodes: usize,
        is_on: impl Fn(NodeIndex) -> bool,
        links: impl IntoIterator<Item = (NodeIndex, NodeIndex)>,
        reach: impl IntoIterator<Item = (NodeIndex, NodeIndex)>,
    ) -> Self {
        let are_on = links.into_iter().filter(|&(a, b)| is_on(a) && is_on(b));
        let links = are_on.map(|(a, b)| (a.min(b), a.max(b))).collect();
        Self::grouped(nodes, is_on, links, reach.into_iter().collect())
    }

    fn grouped(
        nodes: usize,
        is_on: impl Fn(NodeIndex) -> bool,
        links: BTreeSet<(NodeIndex, NodeIndex)>,
        mut faint: Vec<(NodeIndex, NodeIndex)>,
    ) -> Self {
        let mut joined = Union::new(nodes);
        for &(a, b) in &links {
            joined.join(a, b);
        }
        let mut groups: BTreeMap<NodeIndex, Vec<NodeIndex>> = BTreeMap::new();
        for node in NodeIndex::first(nodes).filter(|&node| is_on(node)) {
            groups.entry(joined.root(node)).or_default().push(node);
        }
        let root: Vec<NodeIndex> = NodeIndex::first(nodes).map(|node| joined.root(node)).collect();
        faint.retain(|&(a, b)| root[a.0] != root[b.0]);
        Self { usable: groups.into_values().collect(), links, faint, root }
    }

    /// Whether no faint links lie between components.
    pub fn is_apart(&self) -> bool {
        self.faint.is_empty()
    }

    /// The nodes that spoil the agreement, where every pair within reach counts as linked. `leader` gives whom a node that is
    /// on follows, as an index.
    pub fn dissenters(&self, leader: impl Fn(NodeIndex) -> Option<NodeIndex>) -> Vec<NodeIndex> {
        let standings = self.standings(leader, |_, _| true);
        standings.iter().flat_map(|standing| standing.dissenters().iter().copied()).collect()
    }

    /// How each component stands. `is_up` tells whether a faint link between two nodes
    /// holds: it is up at both ends, or one of them has no link and goes by it.
    pub fn standings(
        &self,
        leader: impl Fn(NodeIndex) -> Option<NodeIndex>,
        is_up: impl Fn(NodeIndex, NodeIndex) -> bool,
    ) -> Vec<Standing> {
        // Most networks have no use for it.
        let mut carried: Option<Union> = None;
        let of = |members: &Vec<NodeIndex>| {
            let first = members.first().copied();
            let Some((first, chosen)) = first.and_then(|first| Some((first, leader(first)?))) else {
                return Standing::Disputed(members.clone());
            };
            if leader(chosen) != Some(chosen) {
                return Standing::Disputed(members.clone());
            }
            let dissenters: Vec<NodeIndex> =
                members.iter().copied().filter(|&node| leader(node) != Some(chosen)).collect();
            if !dissenters.is_empty() {
                return Standing::Disputed(dissenters);
            }
            if self.root[first.0] == self.root[chosen.0] {
                return Standing::Agreed;
            }
            let carried = carried.get_or_insert_with(|| self.carried(&is_up));
            if carried.root(first) == carried.root(chosen) {
                Standing::Held
            } else {
                Standing::Disputed(members.clone())
            }
        };
        self.usable.iter().map(of).collect()
    }

    /// What usable links, and faint ones that are up, join.
    fn carried(&self, is_up: impl Fn(NodeIndex, NodeIndex) -> bool) -> Union {
        let mut joined = Union(self.root.clone());
        for &(a, b) in self.faint.iter().filter(|&&(a, b)| is_up(a, b)) {
            joined.join(a, b);
        }
        joined
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
    use super::{Admission, Components, NodeIndex, Standing};
    use crate::air::medium::{Medium, Tuning};
    use crate::air::propagation::{Point, Propagation, Spreading};

    fn numbers(nodes: &[NodeIndex]) -> Vec<usize> {
        nodes.iter().map(|node| node.0).collect()
    }

    #[test]
    fn every_component_has_a_leader_of_its_own() {
        let air = Propagation { spreading: Spreading::Disc { reach: 10.0 }, ..Propagation::plain(1) };
        let mut medium = Medium::new(air, None, 1);
        for x in [0.0, 9.0, 18.0, 60.0, 69.0] {
            medium.add(Point::new(x, 0.0), Tuning { channel: 15, tx_dbm: 0.0 });
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

    #[test]
    fn a_leader_beyond_a_faint_link_holds_but_is_no_agreement() {
        // Nodes 0 and 1 are joined by a usable link, 1 and 2 by a faint one.
        let power = |a: NodeIndex, b: NodeIndex| Some(if a.0 + b.0 == 1 { -60.0 } else { -95.0 });
        let power = |a: NodeIndex, b: NodeIndex| power(a, b).filter(|_| a.0.abs_diff(b.0) == 1);
        let found = Components::find(power, 3, |_| true, |_| -100.5, Admission::LINKS);
        assert_eq!(found.usable.len(), 2);
        let standings = |leaders: [usize; 3], is_up: bool| {
            found.standings(move |node| Some(NodeIndex(leaders[node.0])), move |_, _| is_up)
        };
        assert_eq!(standings([0, 0, 2], true), [Standing::Agreed, Standing::Agreed]);
        assert_eq!(standings([2, 2, 2], true), [Standing::Held, Standing::Agreed]);
        let lost = Standing::Disputed(vec![NodeIndex(0), NodeIndex(1)]);
        assert_eq!(standings([2, 2, 2], false), [lost, Standing::Agreed], "the link is down");
        assert_eq!(standings([2, 1, 2], true)[0], Standing::Disputed(vec![NodeIndex(1)]), "they are linked well");
    }
}
