//! HS: Hirschberg and Sinclair's election on a bidirectional ring in O(n log n) messages.
//!
//! Source: Hirschberg and Sinclair (1980), from the HS notes (docs/sources.md), corrected: their token
//! `<uid, hops, direction>` needs one more bit, outbound or returning. One's own uid means *phase won* when it returns and
//! *leader* when it is still outbound.
//!
//! Model: FIFO channels to both neighbours, unique comparable uids; neither synchrony nor the number of nodes is known.
//! The message count is the same under every schedule.
//!
//! ```text
//!            begin / own smaller probe seen             own probe circled the ring
//!  Passive ────────────────────────────────► Candidate ───────────────────────────► Leader
//!     ▲                                        │    ▲                                  │
//!     │ a larger uid's announcement            └────┘ both probes back: next phase     │
//!     └────────────────────────────────────────────────────────────────────────────────┘ a new term
//! ```
//! A candidate whose probe met a larger uid stays where it is and relays: nothing of its own will come back. A node
//! that is woken by a larger probe only relays; one that is woken by a smaller probe swallows it and stands itself.
//!
//! The phases are there because all begin at once and nobody knows who will win: they keep those that will not from going far.
//! On a ring whose living members are known ([`HsRules::Known`]) the largest begins first and the others later, if at all. So
//! every candidate sends one probe all the way round, which is the last phase without those before it. That of the largest
//! takes n messages instead of 4n and more; that of another is swallowed by the next larger one, which stands itself, as in
//! any phase: 2n at most until the largest has gone round, where phases would wake everybody.

use core::fmt::Debug;
use core::hash::Hash;

use postcard::experimental::max_size::MaxSize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::circle::{Age, Circle, RingAlgorithm, RingConfig, RingTimer};
use crate::limits::RING_MAX;
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::types::{NodeId, Outcome, RingPlace, Side, Term};

/// What HS compares. Boards use their [`NodeId`]; a simulation of a million nodes needs more of them.
pub trait Uid: Copy + Debug + Ord + Hash + Serialize + DeserializeOwned + MaxSize {
    /// The node of this uid, where uids are node ids.
    fn node(self) -> Option<NodeId>;

    /// The uid of a node.
    fn of(node: NodeId) -> Option<Self>;
}

impl Uid for NodeId {
    fn node(self) -> Option<NodeId> {
        Some(self)
    }

    fn of(node: NodeId) -> Option<Self> {
        Some(node)
    }
}

impl Uid for u32 {
    fn node(self) -> Option<NodeId> {
        u16::try_from(self).ok().map(NodeId)
    }

    fn of(node: NodeId) -> Option<Self> {
        Some(node.0.into())
    }
}

/// What a candidate knows of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HsRules {
    /// Nothing, as published: every candidate begins with the first phase.
    Published,
    /// The peers are the living members of the ring, and the largest begins first: a candidate begins with the last phase.
    Known,
}

/// The phase whose probes go round any ring of boards.
const ROUND: u8 = 7;

const _: () = assert!(1 << ROUND >= RING_MAX);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum HsMsg<U> {
    /// A probe on its way out.
    Out {
        term: Term,
        /// Whose probe it is.
        uid: U,
        /// The phase it belongs to.
        phase: u8,
        /// Hops it may still make, this one included.
        hops: u32,
        /// Where it is going.
        toward: Side,
    },
    /// A probe that went its whole way and returns.
    Back {
        term: Term,
        /// Whose probe it is.
        uid: U,
        /// The phase it belongs to.
        phase: u8,
        /// Where it is going.
        toward: Side,
    },
    /// The announcement of the leader: once around to the right, or from both sides until it meets itself.
    Leader { term: Term, uid: U },
}

impl<U: Uid> Message for HsMsg<U> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Out { .. } => "out",
            Self::Back { .. } => "back",
            Self::Leader { .. } => "leader",
        }
    }

    fn phase(&self) -> u8 {
        match self {
            Self::Out { phase, .. } | Self::Back { phase, .. } => *phase,
            Self::Leader { .. } => 0,
        }
    }

    fn lane(&self) -> u8 {
        match self {
            Self::Out { toward, .. } | Self::Back { toward, .. } => toward.lane(),
            Self::Leader { .. } => Side::Right.lane(),
        }
    }
}

impl<U> HsMsg<U> {
    fn term(&self) -> Term {
        match self {
            Self::Out { term, .. } | Self::Back { term, .. } | Self::Leader { term, .. } => *term,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hs<U = NodeId> {
    circle: Circle,
    uid: U,
    rules: HsRules,
    /// The phase this candidate is in; none while it only relays.
    phase: Option<u8>,
    /// Probes of this phase that have come back; in the last phase, how often the probe was sent again.
    returned: u8,
    leader: Option<U>,
    /// The leader is known from others, and the announcement may still come.
    is_hearsay: bool,
}

impl<U: Uid> Hs<U> {
    /// This node's neighbours, as it knows them.
    pub fn place(&self) -> RingPlace {
        self.circle.place
    }

    pub fn new(uid: U, config: RingConfig) -> Self {
        let rules = HsRules::Published;
        Self { circle: Circle::new(config), uid, rules, phase: None, returned: 0, leader: None, is_hearsay: false }
    }

    /// The same node under these rules.
    pub fn with_rules(self, rules: HsRules) -> Self {
        Self { rules, ..self }
    }

    /// The uid that was elected.
    pub fn winner(&self) -> Option<U> {
        self.leader
    }

    fn join(&mut self, term: Term, cx: &mut Cx<'_, Self>) {
        self.circle.term = term;
        self.phase = None;
        self.leader = None;
        self.is_hearsay = false;
        self.circle.wait(cx);
    }

    fn stand(&mut self, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Started);
        if self.circle.place.is_alone(cx.id) {
            self.win(cx);
        } else if self.rules == HsRules::Known {
            self.go_round(0, cx);
        } else {
            self.enter_phase(0, &Side::BOTH, cx);
        }
    }

    /// Sends a probe all the way round. It comes back from the other side, so one is enough; if it does not come in time, another
    /// follows, much later where somebody larger is believed alive.
    fn go_round(&mut self, sent: u8, cx: &mut Cx<'_, Self>) {
        self.enter_phase(ROUND, &[Side::Right], cx);
        self.returned = sent;
        let doublings = sent.saturating_add(if self.expects_to_win(cx) { 0 } else { 2 });
        self.circle.await_home(doublings, cx);
    }

    /// Whether probes of this phase come home from the other side. None of them is sent back.
    fn goes_round(&self, phase: u8) -> bool {
        self.rules == HsRules::Known && phase >= ROUND
    }

    fn expects_to_win(&self, cx: &Cx<'_, Self>) -> bool {
        let own = self.uid.node();
        cx.peers.iter().all(|&peer| own.is_some_and(|own| own > peer))
    }

    fn enter_phase(&mut self, phase: u8, sides: &[Side], cx: &mut Cx<'_, Self>) {
        self.phase = Some(phase);
        self.returned = 0;
        // Past 2³¹ hops a probe has circled any ring there can be.
        let hops = 1_u32.checked_shl(u32::from(phase)).unwrap_or(u32::MAX);
        for &toward in sides {
            let probe = HsMsg::Out { term: self.circle.term, uid: self.uid, phase, hops, toward };
            self.circle.send(toward, probe, cx);
        }
    }

    fn win(&mut self, cx: &mut Cx<'_, Self>) {
        self.leader = Some(self.uid);
        cx.note(Event::ElectedSelf);
        self.circle.settle(cx);
    }

    fn on_out(&mut self, uid: U, phase: u8, hops: u32, toward: Side, cx: &mut Cx<'_, Self>) {
        let term = self.circle.term;
        if uid == self.uid {
            // Its twin arrives from the other side and finds the election over.
            if self.leader.is_none() {
                self.win(cx);
                // From both ends at once it takes half the time, and a lost one is made good by the other.
                let sides = if self.rules == HsRules::Known { &Side::BOTH[..] } else { &[Side::Right] };
                for &side in sides {
                    self.circle.send(side, HsMsg::Leader { term, uid }, cx);
                }
            }
        } else if uid < self.uid {
            if self.phase.is_none() && self.leader.is_none() {
                self.stand(cx);
            }
        } else if self.leader.is_some_and(|leader| uid > leader) {
            // Nobody larger than the leader took part in this election: there is nobody whom it would come home to.
        } else if hops > 1 {
            let hops = if self.rules == HsRules::Known { hops.min(1 << ROUND) } else { hops };
            self.circle.send(toward, HsMsg::Out { term, uid, phase, hops: hops - 1, toward }, cx);
        } else {
            let toward = toward.opposite();
            self.circle.send(toward, HsMsg::Back { term, uid, phase, toward }, cx);
        }
    }

    fn on_back(&mut self, uid: U, phase: u8, toward: Side, cx: &mut Cx<'_, Self>) {
        if uid != self.uid {
            self.circle.send(toward, HsMsg::Back { term: self.circle.term, uid, phase, toward }, cx);
        } else if self.phase == Some(phase) && !self.goes_round(phase) {
            self.returned = self.returned.saturating_add(1);
            if self.returned == 2 {
                cx.note(Event::PhaseWon(phase));
                self.enter_phase(phase.saturating_add(1), &Side::BOTH, cx);
            }
        }
    }

    fn on_leader(&mut self, from: NodeId, uid: U, cx: &mut Cx<'_, Self>) {
        // Whoever knows the leader from others passes the announcement on all the same, once: not everybody hears others.
        let is_passed = core::mem::take(&mut self.is_hearsay) && self.leader == Some(uid);
        if self.leader.is_none() || is_passed {
            self.leader = Some(uid);
            self.circle.settle(cx);
            let goes_left = self.rules == HsRules::Known && from == self.circle.place.right;
            let side = if goes_left { Side::Left } else { Side::Right };
            self.circle.send(side, HsMsg::Leader { term: self.circle.term, uid }, cx);
        }
    }
}

impl<U: Uid> RingAlgorithm for Hs<U> {
    fn circle(&mut self) -> &mut Circle {
        &mut self.circle
    }

    fn is_decided(&self) -> bool {
        self.leader.is_some()
    }

    fn begin(&mut self, cx: &mut Cx<'_, Self>) {
        self.join(self.circle.term.next(), cx);
        self.stand(cx);
    }

    fn adopt(&mut self, term: Term, leader: NodeId, cx: &mut Cx<'_, Self>) {
        let Some(uid) = U::of(leader) else { return };
        self.join(term, cx);
        self.leader = Some(uid);
        self.is_hearsay = true;
        self.circle.settle(cx);
    }
}

impl<U: Uid> Protocol for Hs<U> {
    type Msg = HsMsg<U>;
    type Timer = RingTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.begin(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: HsMsg<U>, cx: &mut Cx<'_, Self>) {
        match self.circle.age(msg.term(), self.is_decided()) {
            Age::Stale => {
                cx.note(Event::Stale);
                if let Some(uid) = self.leader {
                    let news = HsMsg::Leader { term: self.circle.term, uid };
                    cx.send(Dest::One(from), news);
                }
                return;
            }
            Age::News => {
                self.join(msg.term(), cx);
                if matches!(msg, HsMsg::Out { uid, .. } | HsMsg::Back { uid, .. } if uid == self.uid) {
                    // A probe from before this node restarted: what it had won is forgotten, so it asks again.
                    self.begin(cx);
                    return;
                }
            }
            Age::Current => {}
        }
        match msg {
            HsMsg::Out { uid, phase, hops, toward, .. } => self.on_out(uid, phase, hops, toward, cx),
            HsMsg::Back { uid, phase, toward, .. } => self.on_back(uid, phase, toward, cx),
            HsMsg::Leader { uid, .. } => self.on_leader(from, uid, cx),
        }
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.lose_member(peer, cx);
    }

    fn on_timer(&mut self, timer: RingTimer, cx: &mut Cx<'_, Self>) {
        if timer == RingTimer::Decide && self.phase == Some(ROUND) && self.leader.is_none() {
            self.go_round(self.returned.saturating_add(1), cx);
        }
        self.time_out(timer, cx);
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        self.heed(signal, cx);
    }

    fn leader(&self) -> Option<NodeId> {
        self.leader.and_then(Uid::node)
    }

    fn outcome(&self) -> Outcome {
        Outcome { term: self.circle.term, leader: self.leader() }
    }
}
