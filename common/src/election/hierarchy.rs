//! A hierarchy of leaders, each within a bounded distance of those it leads.
//!
//! Source: the title and abstract of Tbarka (2019) promise it and define neither; the definition is ours. On every level
//! `l` the nodes are visited by rank (fitness, then id; smaller is better), and whoever is not captured yet becomes a
//! head and captures every uncaptured node within `K[l]` hops. Level 1 is for all nodes, each further level for the heads
//! of the one below; the global leader heads every level and is captured by nobody. So every node has a head
//! within `K[1]` hops, that head has one within `K[2]`, and so on to the leader.
//!
//! Model: as the height algorithm, which it is layered on and cannot influence (see [`HeightCore`]); of several Updates
//! to one neighbour only the latest need arrive. Nodes may restart without their state.
//!
//! ```text
//!  link up, link down, Update, fitness ──► heights react ──► records are recomputed from the neighbours' records
//!                                                            │ changed: Update to all
//!                                                            └ not, but the sender had not heard this node: Update to it
//! ```
//! A record is the best of what the neighbours offer, one hop farther, and of oneself where eligible. It names its head,
//! so one that is gone is offered from farther and farther until its bound is passed; then it is forgotten.

use super::height::{HeightOptions, HeightRules};
use super::height_core::HeightCore;
use super::height_tuple::Height;
use super::hierarchy_update::{HierarchyUpdate, Record, Records};
use crate::Full;
use crate::bits::fold;
use crate::causal_clock::ClockKind;
pub use crate::config::{Radii, RadiiError};
use crate::limits::NEIGHBOURS_MAX;
use crate::notice::Event;
use crate::outbox::Dest;
use crate::peers::{PeerIndex, PeerSet};
use crate::protocol::{Cx, Protocol, Signal};
use crate::timer::NoTimer;
use crate::types::NodeId;

/// How a node of the hierarchy is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HierarchyOptions {
    pub radii: Radii,
    /// How unfit this node is; the same byte everywhere ranks by id alone.
    pub fitness: u8,
    pub clock: ClockKind,
    /// The rules of the heights below.
    pub rules: HeightRules,
}

/// Where a node stands on one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Standing {
    pub head: NodeId,
    pub fitness: u8,
    /// Hops to the head.
    pub distance: u8,
    /// The next node on the way there; itself for a head.
    pub parent: NodeId,
}

/// One node of the hierarchy, with room for `N` links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hierarchy<const N: usize = NEIGHBOURS_MAX> {
    core: HeightCore<N>,
    /// What each neighbour last said about each level, in the order of the channels.
    told: [Records; N],
    records: Records,
    fitness: u8,
    radii: Radii,
}

impl<const N: usize> Hierarchy<N> {
    /// A node alone: its own leader, and its own head on every level.
    pub fn new(id: NodeId, options: HierarchyOptions) -> Self {
        let HierarchyOptions { radii, fitness, clock, rules } = options;
        let core = HeightCore::new(Height::elected(id, 0), HeightOptions { clock, rules });
        let mut node = Self { core, told: [Records::default(); N], records: Records::default(), fitness, radii };
        node.records = node.recompute();
        node
    }

    pub fn height(&self) -> Height {
        self.core.height()
    }

    /// The causal time of this node's last event.
    pub fn time(&self) -> u32 {
        self.core.time()
    }

    /// How unfit this node is.
    pub fn fitness(&self) -> u8 {
        self.fitness
    }

    /// How it is layered.
    pub fn radii(&self) -> Radii {
        self.radii
    }

    /// The heights of the neighbours, ascending by id.
    pub fn neighbours(&self) -> impl Iterator<Item = Height> + '_ {
        self.core.neighbours()
    }

    /// What each neighbour last said about each level, ascending by id.
    pub fn neighbour_records(&self) -> impl Iterator<Item = (NodeId, &Records)> + '_ {
        let heard = self.core.channels().zip(&self.told).filter(|((_, height), _)| height.is_some());
        heard.map(|((id, _), records)| (id, records))
    }

    /// The nodes whose channel is up but that have not been heard, ascending.
    pub fn forming(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.core.forming()
    }

    /// What this node says about each level.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The next node on the way to the global leader; none for the leader and for a node alone.
    pub fn next_hop(&self) -> Option<NodeId> {
        self.core.next_hop()
    }

    /// As [`HeightCore::lower_neighbours`].
    pub fn lower_neighbours(&self, each: &mut dyn FnMut(NodeId, u8)) {
        self.core.lower_neighbours(each);
    }

    /// Where this node stands on a level, counted from 0. None if the level is only for heads and no head of it is
    /// within its radius.
    pub fn standing(&self, level: usize) -> Option<Standing> {
        let radius = self.radii.iter().nth(level)?;
        let (record, parent) = self.best(level, radius, self.is_eligible(level))?;
        Some(Standing { head: record.head, fitness: record.fitness, distance: record.distance(), parent })
    }

    /// Lets a fault change this node's records and what it believes its neighbours' to be. Heights are not touched.
    pub fn corrupt(&mut self, mut fault: impl FnMut(&mut Records)) {
        fault(&mut self.records);
        let heard = self.core.channels().zip(&mut self.told).filter(|((_, height), _)| height.is_some());
        heard.for_each(|(_, records)| fault(records));
    }

    /// Level 1 is for everybody, the next for the heads of the one below.
    fn is_eligible(&self, level: usize) -> bool {
        let id = self.core.height().id;
        self.records.iter().take(level).all(|record| record.is_some_and(|record| record.head == id))
    }

    /// The best head within reach, and who offers it: oneself where eligible, and what the neighbours say. The leader
    /// is captured by nobody.
    fn best(&self, level: usize, radius: u8, eligible: bool) -> Option<(Record, NodeId)> {
        let Height { id, leader, .. } = self.core.height();
        let own = eligible.then(|| (Record::new(self.fitness, id, 0), id));
        if leader.lid == id {
            return own;
        }
        let offers = self.neighbour_records().filter_map(|(peer, records)| {
            let record = records.get(level).copied().flatten()?;
            let near = record.head != id && record.distance() < radius;
            near.then(|| (Record::new(record.fitness, record.head, record.distance() + 1), peer))
        });
        offers.chain(own).min()
    }

    fn recompute(&self) -> Records {
        let id = self.core.height().id;
        let mut records = Records::default();
        let mut eligible = true;
        for ((level, record), radius) in records.iter_mut().enumerate().zip(self.radii.iter()) {
            *record = self.best(level, radius, eligible).map(|(record, _)| record);
            eligible &= record.is_some_and(|record| record.head == id);
        }
        records
    }

    fn update(&self, fresh: bool) -> HierarchyUpdate {
        let Height { level, delta, leader, .. } = self.core.height();
        let (levels, records) = (self.radii.levels(), self.records);
        HierarchyUpdate { stamp: self.core.time(), level, delta, leader, fresh, levels, records }
    }

    /// Recomputes the records and tells everybody what has changed, or `answer` where nothing has.
    fn finish(&mut self, did: Option<Event>, before: Height, answer: Option<NodeId>, cx: &mut Cx<'_, Self>) {
        // Heights answer a worse leader at once; here the newcomer's own mark asks for an answer.
        if let Some(event) = did.filter(|event| !matches!(event, Event::Replied(_))) {
            cx.note(event);
        }
        let records = self.recompute();
        let changed = records != self.records || self.core.height() != before;
        self.records = records;
        if changed {
            self.tell_everybody(cx);
        } else if let Some(peer) = answer {
            cx.send(Dest::One(peer), self.update(false));
        }
    }

    /// Those that have not been heard yet are asked for an answer, the others are not: two messages at most.
    fn tell_everybody(&self, cx: &mut Cx<'_, Self>) {
        let (mut forming, mut heard) = (PeerSet::EMPTY, PeerSet::EMPTY);
        for (index, &peer) in cx.peers.iter().enumerate() {
            let set = if self.core.forming().any(|id| id == peer) { &mut forming } else { &mut heard };
            set.insert(PeerIndex(index));
        }
        for (set, fresh) in [(heard, false), (forming, true)] {
            if !set.is_empty() {
                cx.send(Dest::Peers(set), self.update(fresh));
            }
        }
    }
}

impl<const N: usize> Protocol for Hierarchy<N> {
    type Msg = HierarchyUpdate;
    type Timer = NoTimer;

    /// A node that starts leads itself; its links tell it the rest.
    fn on_start(&mut self, _cx: &mut Cx<'_, Self>) {}

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        let place = self.core.place(peer);
        match self.core.link_up(cx.now, peer) {
            Ok(()) => {
                // What others told moves back by one, as their channels did; the last place was free.
                let mut told = Records::default();
                for records in place.err().and_then(|at| self.told.get_mut(at..)).into_iter().flatten() {
                    core::mem::swap(records, &mut told);
                }
                cx.send(Dest::One(peer), self.update(true));
            }
            // The engine refuses links beyond the same capacity; a table smaller than the engine's is a wrong set-up.
            Err(Full) => cx.note(Event::Ignored(peer)),
        }
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        let before = self.core.height();
        let mut told = Records::default();
        for records in self.core.place(peer).ok().and_then(|at| self.told.get_mut(at..)).into_iter().flatten().rev() {
            core::mem::swap(records, &mut told);
        }
        let did = self.core.link_down(cx.now, peer);
        self.finish(did, before, None, cx);
    }

    fn on_message(&mut self, from: NodeId, msg: HierarchyUpdate, cx: &mut Cx<'_, Self>) {
        let before = self.core.height();
        let peer = Height { level: msg.level, delta: msg.delta, leader: msg.leader, id: from };
        let did = self.core.receive(cx.now, msg.stamp, peer);
        let is_ignored = matches!(did, Some(Event::Ignored(_) | Event::OutOfTime(_)));
        if let Some(told) = self.core.place(from).ok().and_then(|at| self.told.get_mut(at)).filter(|_| !is_ignored) {
            *told = msg.records;
        }
        self.finish(did, before, msg.fresh.then_some(from), cx);
    }

    /// Not part of any up-interval: unlike the heights alone, this layer does not even take its time from it.
    fn on_stranger(&mut self, from: NodeId, _msg: HierarchyUpdate, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Ignored(from));
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        let before = self.core.height();
        let did = match signal {
            Signal::Elect => {
                self.core.tick(cx.now, None);
                Some(self.core.elect_self())
            }
            Signal::Succeed(precedence) => Some(self.core.succeed(cx.now, precedence)),
            Signal::Audit => self.core.audit(cx.now),
            Signal::Fitness(coefficient) => {
                self.core.tick(cx.now, None);
                self.fitness = coefficient.as_byte();
                None
            }
            Signal::Rank(fitness) => {
                self.core.tick(cx.now, None);
                self.fitness = fitness;
                None
            }
            Signal::Resend => {
                self.records = self.recompute();
                self.tell_everybody(cx);
                return;
            }
            Signal::StepDown => {
                self.core.step_down();
                None
            }
            Signal::LeaderLost | Signal::LeaderHeard | Signal::Ring(_) | Signal::Disturbed | Signal::Outcome(_) => {
                return;
            }
        };
        self.finish(did, before, None, cx);
    }

    fn leader(&self) -> Option<NodeId> {
        Some(self.core.height().leader.lid)
    }

    fn told(&self) -> Option<u32> {
        Some(sum(self.core.height(), &self.records))
    }

    fn heard(&self, peer: NodeId) -> Option<u32> {
        let ((_, height), records) = self.core.channels().zip(&self.told).find(|((id, _), _)| *id == peer)?;
        Some(height.map_or(0, |height| sum(height, records)))
    }
}

/// A number that stands for what an Update tells.
fn sum(height: Height, records: &Records) -> u32 {
    let record = |record: &Option<Record>| {
        record.map_or(0, |Record { fitness, head, .. }| u32::from(fitness) << 16 | u32::from(head.0))
    };
    let distance = |record: &Option<Record>| record.map_or(0, |record| 1 + u32::from(record.distance()));
    fold(height.words().into_iter().chain(records.iter().map(record)).chain(records.iter().map(distance)))
}

/// The most that a node of the hierarchy may take for its state with all levels and neighbours, in bytes.
pub const HIERARCHY_STATE_MAX: usize = 560;

const _: () = assert!(size_of::<Hierarchy>() <= HIERARCHY_STATE_MAX, "the hierarchy outgrew its bar");

#[cfg(test)]
mod tests {
    use super::{Height, Hierarchy, HierarchyOptions, Radii, RadiiError};
    use crate::coefficient::Coefficient;
    use crate::election::height_tuple::LeaderPair;
    use crate::engine::Engine;
    use crate::notice::{Event, Notice};
    use crate::protocol::Signal;
    use crate::time::Instant;
    use crate::types::NodeId;

    type Node = Engine<Hierarchy<4>, 4>;

    fn node(id: u16) -> Node {
        let options = HierarchyOptions { radii: Radii::new(&[2]).unwrap(), ..HierarchyOptions::default() };
        Node::new(NodeId(id), 0, Hierarchy::new(NodeId(id), options))
    }

    /// Two nodes that follow the first.
    fn pair() -> [Node; 2] {
        let mut nodes = [node(1), node(2)];
        for (at, peer) in [(0, 2), (1, 1)] {
            nodes[at].handle_link_up(Instant::ZERO, NodeId(peer)).unwrap();
        }
        // A few rounds settle two nodes; a defect that keeps them talking must not keep the test running.
        for _ in 0..8 {
            let [said, answered] = nodes.each_mut().map(Node::poll_decoded);
            for (message, from, to) in [(said, 1, 1), (answered, 2, 0)] {
                if let Some((_, message)) = message {
                    nodes[to].handle_decoded(Instant::ZERO, NodeId(from), message);
                }
            }
        }
        for node in &mut nodes {
            assert_eq!(node.poll_decoded(), None, "all is said");
            while node.poll_notice().is_some() {}
        }
        nodes
    }

    #[test]
    fn a_node_asked_to_elect_leads_and_says_so() {
        let [_, mut node] = pair();
        let time = node.protocol().time();
        node.handle_signal(Instant::ZERO, Signal::Elect);
        assert_eq!(node.protocol().height(), Height::elected(NodeId(2), time + 1));
        let (_, update) = node.poll_decoded().unwrap();
        assert_eq!((update.stamp, update.leader.lid, update.fresh), (time + 1, NodeId(2), false));
    }

    #[test]
    fn fitness_is_an_event_and_is_told() {
        let coefficient = Coefficient(5_000);
        for (signal, fitness) in [(Signal::Fitness(coefficient), coefficient.as_byte()), (Signal::Rank(7), 7)] {
            let [mut head, _] = pair();
            let time = head.protocol().time();
            head.handle_signal(Instant::ZERO, signal);
            assert_eq!((head.protocol().fitness(), head.protocol().time()), (fitness, time + 1), "{signal:?}");
            let record = head.poll_decoded().unwrap().1.records[0].unwrap();
            assert_eq!((record.fitness, record.head), (fitness, NodeId(1)));
        }
    }

    #[test]
    fn a_node_never_takes_its_own_name_from_others() {
        let [mut head, mut other] = pair();
        other.handle_signal(Instant::ZERO, Signal::Resend);
        let (_, mut update) = other.poll_decoded().unwrap();
        // Somebody else leads, or nobody could capture this node; it became less fit, and its neighbour does not know.
        update.leader = LeaderPair { elected_at: 9, lid: NodeId(2) };
        head.handle_signal(Instant::ZERO, Signal::Rank(7));
        head.handle_decoded(Instant::ZERO, NodeId(2), update);
        let standing = head.protocol().standing(0).unwrap();
        assert_eq!((standing.head, standing.fitness, standing.distance), (NodeId(1), 7, 0));
    }

    #[test]
    fn what_is_said_again_is_recomputed_first() {
        let [_, mut node] = pair();
        let right = *node.protocol().records();
        node.protocol_mut().records = [None; 3];
        node.handle_signal(Instant::ZERO, Signal::Resend);
        assert_eq!((node.poll_decoded().unwrap().1.records, node.poll_decoded()), (right, None));
    }

    /// The better node's Update brings its leader; the worse one's asks for an answer by its mark alone.
    #[test]
    fn a_worse_leader_is_answered_where_asked_and_never_noted_as_answered() {
        let [mut head, mut other] = pair();
        other.handle_signal(Instant::ZERO, Signal::Resend);
        let (_, mut update) = other.poll_decoded().unwrap();
        update.leader.lid = NodeId(2);
        for fresh in [false, true] {
            update.fresh = fresh;
            head.handle_decoded(Instant::ZERO, NodeId(2), update.clone());
            assert_eq!(head.poll_decoded().map(|(to, answer)| (to, answer.fresh)), fresh.then_some((NodeId(2), false)));
            assert_eq!(head.poll_notice(), None);
        }
    }

    #[test]
    fn a_stranger_moves_nothing() {
        let [mut head, other] = pair();
        let before = head.protocol().clone();
        head.handle_decoded(Instant::ZERO, NodeId(3), other.protocol().update(true));
        assert_eq!((head.poll_decoded(), head.protocol()), (None, &before));
        assert_eq!(head.poll_notice(), Some(Notice::NotAPeer(NodeId(3))));
        assert_eq!(head.poll_notice(), Some(Notice::Event(Event::Ignored(NodeId(3)))));
    }

    #[test]
    fn radii_that_describe_no_hierarchy_are_refused() {
        assert_eq!(Radii::new(&[1, 15, 3]).map(Radii::levels), Ok(3));
        assert_eq!(Radii::new(&[1, 1, 1, 1]), Err(RadiiError::TooMany));
        assert_eq!(Radii::new(&[1, 0]), Err(RadiiError::OutOfRange(2)));
        assert_eq!(Radii::new(&[16]), Err(RadiiError::OutOfRange(1)));
    }
}
