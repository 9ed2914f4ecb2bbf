//! Abraham, Dolev and Halpern's fair election on a unidirectional ring.
//!
//! Source: a comparison row of Biswas et al. (2021), who print N² + 2N and (3N² + 3N)/2 messages and 3N steps and never
//! define it. Our reading follows the idea of the paper they cite (Abraham, Dolev and Halpern 2013): everybody's value
//! circulates the whole ring, the sum of all values picks the leader, so no single node can steer the choice, and the
//! leader is then announced once around.
//!
//! Model: one FIFO channel to the right neighbour, unique ids; n is found out on the way.
//!
//! A node sends its own value before it passes on any other, so the k-th value that arrives set out k nodes to the
//! left; a node knows all n of them when its own comes back. The leader is the node `sum mod n` nodes to the right of the
//! smallest id. Memory does not grow with the ring.
//!
//! ```text
//!  Idle ──begin, or a value──► Collecting ──own value back──► Waiting ──announcement──► Following
//!                                                    └──────── chosen: announce ──────► Leader
//! ```

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::circle::{Age, Circle, RingAlgorithm, RingConfig, RingTimer};
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::types::{NodeId, Side, Term};

/// A message of this election.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AbrahamMsg {
    /// A node's value on its way around.
    Value {
        term: Term,
        /// Whose value it is.
        id: NodeId,
        /// What that node drew.
        value: u32,
    },
    /// The announcement of the leader.
    Leader(Term, NodeId),
}

impl Message for AbrahamMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Value { .. } => "value",
            Self::Leader(..) => "leader",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Collected {
    sum: u32,
    count: u32,
    smallest: NodeId,
    /// How many nodes to the left the smallest id is.
    distance: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Abraham {
    circle: Circle,
    collected: Option<Collected>,
    leader: Option<NodeId>,
}

impl Abraham {
    pub fn new(config: RingConfig) -> Self {
        Self { circle: Circle::new(config), collected: None, leader: None }
    }

    fn join(&mut self, term: Term, cx: &mut Cx<'_, Self>) {
        self.circle.term = term;
        self.leader = None;
        self.circle.wait(cx);
        let value = cx.rng.next_u32();
        self.collected = Some(Collected { sum: value, count: 1, smallest: cx.id, distance: 0 });
        if !self.circle.place.is_alone(cx.id) {
            self.circle.send(Side::Right, AbrahamMsg::Value { term, id: cx.id, value }, cx);
        }
    }

    fn on_value(&mut self, id: NodeId, value: u32, cx: &mut Cx<'_, Self>) {
        let Some(collected) = &mut self.collected else { return };
        if id == cx.id {
            // n ≥ 2 here, so the remainder is defined.
            let chosen = collected.sum.checked_rem(collected.count) == Some(collected.distance);
            if chosen && self.leader.is_none() {
                self.win(cx);
                self.circle.send(Side::Right, AbrahamMsg::Leader(self.circle.term, cx.id), cx);
            }
            return;
        }
        if self.leader.is_some() {
            // Every value of this election passed before its announcement; whose this is, nobody knows.
            return;
        }
        if id < collected.smallest {
            collected.smallest = id;
            collected.distance = collected.count;
        }
        collected.sum = collected.sum.wrapping_add(value);
        collected.count = collected.count.saturating_add(1);
        self.circle.send(Side::Right, AbrahamMsg::Value { term: self.circle.term, id, value }, cx);
    }

    fn win(&mut self, cx: &mut Cx<'_, Self>) {
        self.leader = Some(cx.id);
        cx.note(Event::ElectedSelf);
        self.circle.settle(cx);
    }
}

impl RingAlgorithm for Abraham {
    fn circle(&mut self) -> &mut Circle {
        &mut self.circle
    }

    fn is_decided(&self) -> bool {
        self.leader.is_some()
    }

    fn begin(&mut self, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Started);
        self.join(self.circle.term.next(), cx);
        if self.circle.place.is_alone(cx.id) {
            self.win(cx);
        }
    }
}

impl Protocol for Abraham {
    type Msg = AbrahamMsg;
    type Timer = RingTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.begin(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: AbrahamMsg, cx: &mut Cx<'_, Self>) {
        let (AbrahamMsg::Value { term, id, .. } | AbrahamMsg::Leader(term, id)) = msg;
        match self.circle.age(term, self.is_decided()) {
            Age::Stale => {
                cx.note(Event::Stale);
                if let Some(leader) = self.leader {
                    cx.send(Dest::One(from), AbrahamMsg::Leader(self.circle.term, leader));
                }
                return;
            }
            // A value that this node drew before it restarted: the count would not come out, so it asks again.
            Age::News if id == cx.id => {
                self.circle.term = term;
                self.begin(cx);
                return;
            }
            Age::News => self.join(term, cx),
            Age::Current => {}
        }
        match msg {
            AbrahamMsg::Value { value, .. } => self.on_value(id, value, cx),
            AbrahamMsg::Leader(..) if self.leader.is_none() => {
                self.leader = Some(id);
                self.circle.settle(cx);
                self.circle.send(Side::Right, AbrahamMsg::Leader(term, id), cx);
            }
            AbrahamMsg::Leader(..) => {}
        }
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.lose_member(peer, cx);
    }

    fn on_timer(&mut self, timer: RingTimer, cx: &mut Cx<'_, Self>) {
        self.time_out(timer, cx);
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        self.heed(signal, cx);
    }

    fn leader(&self) -> Option<NodeId> {
        self.leader
    }
}
