//! The height algorithm: link reversal with causal clocks for networks whose links come and go.
//!
//! Source: seed 001 (after Ingram, Radeva, Shields, Viqar, Walter and Welch, itself after TORA), corrected: SINK requires
//! `lid != u`; the three subroutines it lost in print are restored; equal election times go to the smaller leader id; a
//! node that does not adopt answers; adopting copies the reference level; an Update carries the sender's clock.
//!
//! Model: each direction of a link comes up and goes down on its own and in the end both agree; while up it is FIFO and
//! reliable, with any delay. Nodes keep their state. Once changes cease, every component ends leader-oriented: nothing
//! under way, views correct, one leader, and every path downhill ends at it.
//!
//! ```text
//!                 lost the last way down                 all neighbours in the same search
//!  Following ─────────────────────────────► Searching ─────────────────────────────────► Reflected
//!   ▲   ▲ │                                    ▲ larger search: pass it on                   │
//!   │   │ └ better leader: adopt               └──────── others' search came back ───────────┤
//!   │   └────────────── new leader's Update ── Leader ◄──── my own search came back ─────────┘
//! ```

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::height_tuple::{Height, LeaderPair, RefLevel};
use crate::Full;
use crate::clock::{CausalClock, ClockKind};
use crate::limits::NEIGHBOURS_MAX;
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::timer::NoTimer;
use crate::types::NodeId;

/// Which rules a node follows where the published ones do more than a radio needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum HeightRules {
    /// As published (and corrected).
    Published,
    /// For radio. `ChannelDown` of a channel that never became a link changes nothing, which halves the elections of a
    /// network that is still forming; and a node that is told of its own leadership in a former life, before it
    /// restarted, elects itself anew instead of adopting a distance from itself.
    #[default]
    Radio,
}

/// How the height algorithm is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HeightOptions {
    /// The causal clock.
    pub clock: ClockKind,
    /// The rules.
    pub rules: HeightRules,
}

/// The one message: a node's height and the time at which it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Update {
    /// The sender's causal time.
    pub stamp: u32,
    /// The sender's height, without its id, which the link knows.
    pub level: RefLevel,
    /// See [`Height::delta`].
    pub delta: i16,
    /// See [`Height::leader`].
    pub leader: LeaderPair,
}

impl Update {
    fn height(&self, id: NodeId) -> Height {
        Height { level: self.level, delta: self.delta, leader: self.leader, id }
    }
}

impl Message for Update {
    fn kind(&self) -> &'static str {
        "update"
    }
}

/// A link as this node sees it. The printed sets: `N` are those with a height, `forming` those without. The height is
/// kept in its parts: an `Option` of the whole would hold the id a second time and cost a fifth more memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Link {
    id: NodeId,
    /// None until the peer has been heard; the other parts mean nothing before.
    level: Option<RefLevel>,
    delta: i16,
    leader: LeaderPair,
}

impl Link {
    fn forming(id: NodeId) -> Self {
        Self { id, level: None, delta: 0, leader: LeaderPair::default() }
    }

    fn height(&self) -> Option<Height> {
        self.level.map(|level| Height { level, delta: self.delta, leader: self.leader, id: self.id })
    }
}

/// One node of the height algorithm, with room for `N` links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeightElection<const N: usize = NEIGHBOURS_MAX> {
    rules: HeightRules,
    clock: CausalClock,
    height: Height,
    /// Sorted by id.
    links: Vec<Link, N, u8>,
}

impl<const N: usize> HeightElection<N> {
    /// A node alone, leader of itself.
    pub fn new(id: NodeId, options: HeightOptions) -> Self {
        Self::with_height(Height::elected(id, 0), options)
    }

    /// A node with this height and no links.
    pub fn with_height(height: Height, options: HeightOptions) -> Self {
        let clock = CausalClock::new(options.clock);
        Self { rules: options.rules, clock, height, links: Vec::new() }
    }

    /// Adds a link whose other end's height is known, as an initial state has them.
    pub fn with_neighbour(mut self, neighbour: Height) -> Result<Self, Full> {
        self.insert(neighbour.id).map_err(|_| Full)?;
        self.learn(neighbour);
        Ok(self)
    }

    /// This node's height.
    pub fn height(&self) -> Height {
        self.height
    }

    /// The causal time of this node's last event.
    pub fn time(&self) -> u32 {
        self.clock.time()
    }

    /// The heights of the neighbours, ascending by id: the printed `N`.
    pub fn neighbours(&self) -> impl Iterator<Item = Height> + '_ {
        self.links.iter().filter_map(Link::height)
    }

    /// The nodes whose channel is up but that have not been heard, ascending: the printed `forming`.
    pub fn forming(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.links.iter().filter(|link| link.level.is_none()).map(|link| link.id)
    }

    /// The lowest neighbour: where to send what is for the leader. None for the leader and for a node alone.
    pub fn next_hop(&self) -> Option<NodeId> {
        let lowest = self.neighbours().min()?;
        (self.height.leader.lid != self.height.id).then_some(lowest.id)
    }

    fn insert(&mut self, id: NodeId) -> Result<(), Link> {
        match self.links.binary_search_by_key(&id, |link| link.id) {
            Ok(_) => Ok(()),
            Err(at) => self.links.insert(at, Link::forming(id)),
        }
    }

    /// Remembers a neighbour's height; false where there is no link to it.
    fn learn(&mut self, height: Height) -> bool {
        let Some(link) = self.links.iter_mut().find(|link| link.id == height.id) else { return false };
        *link = Link { id: height.id, level: Some(height.level), delta: height.delta, leader: height.leader };
        true
    }

    fn is_sink(&self) -> bool {
        let own = self.height;
        own.leader.lid != own.id && self.neighbours().all(|w| w.leader == own.leader && own < w)
    }

    fn elect_self(&mut self, cx: &mut Cx<'_, Self>) {
        self.height = Height::elected(self.height.id, self.clock.time());
        cx.note(Event::ElectedSelf);
    }

    fn start_search(&mut self, cx: &mut Cx<'_, Self>) {
        self.height.level = RefLevel { tau: self.clock.time(), oid: self.height.id, reflected: false };
        self.height.delta = 0;
        cx.note(Event::Searching);
    }

    fn reflect(&mut self, level: RefLevel, cx: &mut Cx<'_, Self>) {
        self.height.level = RefLevel { reflected: true, ..level };
        self.height.delta = 0;
        cx.note(Event::Reflected);
    }

    fn propagate(&mut self, largest: RefLevel, cx: &mut Cx<'_, Self>) {
        let lowest = self.neighbours().filter(|w| w.level == largest).map(|w| w.delta).min();
        self.height.level = largest;
        self.height.delta = lowest.unwrap_or(0).saturating_sub(1);
        cx.note(Event::Propagated);
    }

    /// What a node without a way down does about it.
    fn react_as_sink(&mut self, cx: &mut Cx<'_, Self>) {
        let Some(largest) = self.neighbours().map(|w| w.level).max() else { return };
        if self.neighbours().any(|w| w.level != largest) {
            self.propagate(largest, cx);
        } else if largest.tau > 0 && !largest.reflected {
            self.reflect(largest, cx);
        } else if largest.tau > 0 && largest.oid == self.height.id {
            self.elect_self(cx);
        } else {
            self.start_search(cx);
        }
    }

    fn react_to_other_leader(&mut self, peer: Height, cx: &mut Cx<'_, Self>) {
        let own = &mut self.height;
        if peer.leader >= own.leader {
            cx.note(Event::Replied(peer.id));
            self.send(Dest::One(peer.id), cx);
        } else if self.rules == HeightRules::Radio && peer.leader.lid == own.id {
            self.elect_self(cx);
        } else {
            own.level = peer.level;
            own.delta = peer.delta.saturating_add(1);
            own.leader = peer.leader;
            cx.note(Event::Adopted(peer.id));
        }
    }

    fn send(&self, to: Dest, cx: &mut Cx<'_, Self>) {
        let Height { level, delta, leader, .. } = self.height;
        cx.send(to, Update { stamp: self.clock.time(), level, delta, leader });
    }
}

impl<const N: usize> Protocol for HeightElection<N> {
    type Msg = Update;
    type Timer = NoTimer;

    /// A node that starts leads itself; its links tell it the rest.
    fn on_start(&mut self, _cx: &mut Cx<'_, Self>) {}

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.clock.advance(cx.now, None);
        if self.insert(peer).is_err() {
            // The engine refuses links beyond the same capacity; a table smaller than the engine's is a wrong set-up.
            cx.note(Event::Ignored(peer));
            return;
        }
        self.send(Dest::One(peer), cx);
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.clock.advance(cx.now, None);
        let mut was_neighbour = false;
        if let Ok(at) = self.links.binary_search_by_key(&peer, |link| link.id) {
            was_neighbour = self.links.remove(at).level.is_some();
        }
        if self.rules == HeightRules::Radio && !was_neighbour {
            return;
        }
        if self.neighbours().next().is_none() {
            self.elect_self(cx);
            self.send(Dest::All, cx);
        } else if self.is_sink() {
            self.start_search(cx);
            self.send(Dest::All, cx);
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Update, cx: &mut Cx<'_, Self>) {
        self.clock.advance(cx.now, Some(msg.stamp));
        let peer = msg.height(from);
        if !self.learn(peer) {
            cx.note(Event::Ignored(from));
            return;
        }
        let before = self.height;
        if peer.leader != before.leader {
            self.react_to_other_leader(peer, cx);
        } else if self.is_sink() {
            self.react_as_sink(cx);
        }
        if self.height != before {
            self.send(Dest::All, cx);
        }
    }

    fn on_stranger(&mut self, from: NodeId, msg: Update, cx: &mut Cx<'_, Self>) {
        self.clock.advance(cx.now, Some(msg.stamp));
        cx.note(Event::Ignored(from));
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        // Links tell this algorithm what has failed; only a request from outside starts an election.
        if signal == Signal::Elect {
            self.clock.advance(cx.now, None);
            self.elect_self(cx);
            self.send(Dest::All, cx);
        }
    }

    fn leader(&self) -> Option<NodeId> {
        Some(self.height.leader.lid)
    }
}
