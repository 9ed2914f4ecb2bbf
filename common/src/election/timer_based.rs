//! Timer-based: LCR without an announcement, for nodes that know how many they are and how long a hop takes.
//!
//! Source: a comparison row of Biswas et al. (2021), who print its costs (N and N(N+1)/2 messages, N steps) and never
//! define it. Our reading gives exactly those costs: candidates' ids travel to the right, larger ones are passed on,
//! smaller ones swallowed; N hops after the best id set out everybody has seen it, and everybody decides.
//!
//! Model: synchronous (a hop takes at most `hop`), n known. When a node that is not the maximum starts alone, some
//! nodes decide for it first and correct themselves when the better id arrives. A node that hears of its own candidature
//! in an election that it does not know has restarted, and begins the next one.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::circle::{Age, Circle, RingAlgorithm, RingConfig, RingTimer};
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::time::Duration;
use crate::types::{NodeId, Outcome, Side, Term};

/// The message of Timer-based: a candidate's id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TimerMsg {
    pub term: Term,
    pub id: NodeId,
    /// Hops it has made, this one included; it tells how old the candidature is.
    pub hops: u16,
}

impl Message for TimerMsg {
    fn kind(&self) -> &'static str {
        "candidate"
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimerBased {
    circle: Circle,
    nodes: u16,
    hop: Duration,
    best: Option<NodeId>,
    leader: Option<NodeId>,
}

impl TimerBased {
    /// A node at this place on a ring of `nodes`, where a hop takes at most `hop`.
    pub fn new(config: RingConfig, nodes: u16, hop: Duration) -> Self {
        Self { circle: Circle::new(config), nodes, hop, best: None, leader: None }
    }

    /// As [`Circle::age`]. Of two that stand in terms too far apart to compare, the one in the lower term joins, or they would
    /// change places for ever; whoever has decided has said so with the whole way behind its message.
    fn age(&self, msg: &TimerMsg) -> Age {
        let is_apart = msg.term.ahead_of(self.circle.term).is_none();
        if is_apart && msg.term < self.circle.term && msg.hops < self.nodes {
            return Age::Stale;
        }
        self.circle.age(msg.term, self.is_decided())
    }

    fn join(&mut self, term: Term) {
        self.circle.term = term;
        self.best = None;
        self.leader = None;
    }

    /// Passes on the best candidate so far, and waits until everybody must have seen it.
    fn favour(&mut self, id: NodeId, hops: u16, cx: &mut Cx<'_, Self>) {
        self.best = Some(id);
        self.leader = None;
        let rest = u32::from(self.nodes.saturating_sub(hops));
        cx.set_timer(RingTimer::Decide, self.hop.times(rest));
        let msg = TimerMsg { term: self.circle.term, id, hops: hops.saturating_add(1) };
        self.circle.send(Side::Right, msg, cx);
    }

    fn stand(&mut self, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Started);
        self.favour(cx.id, 0, cx);
    }
}

impl RingAlgorithm for TimerBased {
    fn circle(&mut self) -> &mut Circle {
        &mut self.circle
    }

    fn is_decided(&self) -> bool {
        self.leader.is_some()
    }

    fn adopt(&mut self, term: Term, leader: NodeId, _cx: &mut Cx<'_, Self>) {
        self.join(term);
        self.best = Some(leader);
        self.leader = Some(leader);
    }

    fn begin(&mut self, cx: &mut Cx<'_, Self>) {
        self.join(self.circle.term.next());
        if self.circle.place.is_alone(cx.id) {
            // A timer of the election before may still fire; it then finds the same.
            self.best = Some(cx.id);
            self.leader = Some(cx.id);
            cx.note(Event::ElectedSelf);
        } else {
            self.stand(cx);
        }
    }
}

impl Protocol for TimerBased {
    type Msg = TimerMsg;
    type Timer = RingTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.begin(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: TimerMsg, cx: &mut Cx<'_, Self>) {
        match self.age(&msg) {
            Age::Stale => {
                cx.note(Event::Stale);
                if let Some(id) = self.best {
                    // The whole way is behind it: the receiver may decide at once.
                    cx.send(Dest::One(from), TimerMsg { term: self.circle.term, id, hops: self.nodes });
                }
                return;
            }
            // It stood before it restarted, and would wait for a timer that is gone: it stands again.
            Age::News if msg.id == cx.id => {
                self.circle.term = msg.term;
                self.begin(cx);
                return;
            }
            Age::News => self.join(msg.term),
            Age::Current => {}
        }
        if msg.id == cx.id {
            // It has been all around; the timer says the same.
        } else if Some(msg.id) > self.best && msg.id > cx.id {
            self.favour(msg.id, msg.hops, cx);
        } else if self.best.is_none() {
            self.stand(cx);
        }
    }

    fn on_timer(&mut self, timer: RingTimer, cx: &mut Cx<'_, Self>) {
        match timer {
            RingTimer::Patience => {}
            RingTimer::Begin => self.begin(cx),
            RingTimer::Decide => {
                self.leader = self.best;
                if self.leader == Some(cx.id) {
                    cx.note(Event::ElectedSelf);
                }
            }
        }
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        match signal {
            // This algorithm has no patience: nothing else would end an election of which a part was lost. One after the other,
            // since two that begin at once in terms too far apart to compare would only change places.
            Signal::Disturbed | Signal::LeaderLost => self.begin_soon(cx),
            // Whoever stands decides last: the others have decided for it, and its timer will say the same.
            Signal::Outcome(told) if told == (Outcome { term: self.circle.term, leader: Some(cx.id) }) => {}
            Signal::Ring(place) => {
                self.circle.place = place;
                self.begin(cx);
            }
            _ => self.heed(signal, cx),
        }
    }

    fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    // Nothing announces the leader: where members have decided in terms too far apart to compare, only this tells them.
    fn outcome(&self) -> Outcome {
        Outcome { term: self.circle.term, leader: self.leader }
    }
}
