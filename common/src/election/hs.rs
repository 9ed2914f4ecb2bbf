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
//! a candidate sends probes that may go all the way round, which is the last phase without those before it, and sends them to
//! both sides at once. Whoever relays both knows that everybody has seen them, between the two of them, and announces their
//! sender: n messages and as long as half the ring takes, instead of 4n and more. A hop at which one probe is held up costs no
//! more than the other's way there. Whoever is to begin and knows of somebody larger leaves it to the largest: it sends its
//! probe straight to that one, which swallows it and stands, as it would if the probe had come round. A node that another's
//! probe wakes does the same, where it knows of several larger ones.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::circle::{Age, Circle, RingAlgorithm, RingConfig, RingTimer, await_home};
pub use super::uid::Uid;
use crate::limits::RING_MAX;
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::types::{NodeId, Outcome, RingPlace, Side, Term};

/// What a candidate knows of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HsRules {
    /// Nothing, as published: every candidate begins with the first phase.
    Published,
    /// The peers are the living members of the ring, and the largest begins first: a candidate begins with the last phase, and
    /// wins it where its two probes meet.
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
    /// Probes of this phase that have come back; in the last phase, how often they were sent again. Without a phase, how often
    /// this node has left the election to a larger one.
    returned: u8,
    /// The largest uid whose probe was relayed in each direction, by its lane, and its phase.
    relayed: [Option<(U, u8)>; 2],
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
        let circle = Circle::new(config);
        Self { circle, uid, rules, phase: None, returned: 0, relayed: [None; 2], leader: None, is_hearsay: false }
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
        self.returned = 0;
        self.relayed = [None; 2];
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
            self.enter_phase(0, cx);
        }
    }

    /// The largest that is believed alive, if it is larger than this node. The leader that is to be replaced does not count.
    fn favourite(&self, replaced: Option<U>, cx: &Cx<'_, Self>) -> Option<NodeId> {
        let own = self.uid.node().filter(|_| self.rules == HsRules::Known)?;
        let replaced = replaced.and_then(Uid::node);
        cx.peers.iter().copied().filter(|&peer| peer > own && Some(peer) != replaced).max()
    }

    /// Leaves it to a larger node to stand. If nothing is heard of its probes in time, this node stands itself.
    fn call(&mut self, favourite: NodeId, cx: &mut Cx<'_, Self>) {
        self.returned = 1;
        let toward = if favourite == self.circle.place.right { Side::Right } else { Side::Left };
        let probe = HsMsg::Out { term: self.circle.term, uid: self.uid, phase: ROUND, hops: 1 << ROUND, toward };
        cx.send(Dest::One(favourite), probe);
        // Its probes set out when the call has come there, which may take several radio hops.
        await_home(1, cx);
    }

    /// A smaller node's probe has ended here: this node stands, or somebody larger does. The largest that it knows of may be the
    /// leader whose loss this election is for.
    fn wake(&mut self, cx: &mut Cx<'_, Self>) {
        match self.favourite(None, cx).filter(|_| self.above(cx) > 1) {
            Some(favourite) if self.returned == 0 => self.call(favourite, cx),
            Some(_) => {}
            None => self.stand(cx),
        }
    }

    /// Sends probes that may go all the way round. If nothing is heard of them in time, others follow, much later where somebody
    /// larger is believed alive.
    fn go_round(&mut self, sent: u8, cx: &mut Cx<'_, Self>) {
        self.enter_phase(ROUND.saturating_add(sent), cx);
        (self.phase, self.returned) = (Some(ROUND), sent);
        let doublings = sent.saturating_add(if self.above(cx) == 0 { 0 } else { 2 });
        await_home(doublings, cx);
    }

    /// Whether probes of this phase come home from the other side. None of them is sent back.
    fn goes_round(&self, phase: u8) -> bool {
        self.rules == HsRules::Known && phase >= ROUND
    }

    /// How many larger nodes are believed alive.
    fn above(&self, cx: &Cx<'_, Self>) -> usize {
        let own = self.uid.node();
        cx.peers.iter().filter(|&&peer| own.is_none_or(|own| own < peer)).count()
    }

    /// The largest uid whose probe has been here in this election.
    fn largest(&self) -> Option<U> {
        let [right, left] = self.relayed;
        right.max(left).map(|(uid, _)| uid)
    }

    /// Whether a probe of this direction has been here before, and was not sent again since: it has turned round where there was no
    /// way on, and would go in circles.
    fn is_repeated(&self, uid: U, phase: u8, toward: Side) -> bool {
        let [right, left] = self.relayed;
        let before = if toward == Side::Right { right } else { left };
        self.goes_round(phase) && before.is_some_and(|(other, last)| other == uid && phase <= last)
    }

    /// Notes that a probe goes on from here. Whether it has been everywhere: one of the same uid has come the other way, or it is
    /// home but for one hop.
    fn meets(&mut self, uid: U, phase: u8, toward: Side) -> bool {
        let [right, left] = &mut self.relayed;
        let (this, other) = if toward == Side::Right { (right, left) } else { (left, right) };
        *this = (*this).max(Some((uid, phase)));
        let is_met = other.is_some_and(|(other, _)| other == uid);
        let is_home = uid.node() == Some(self.circle.place.neighbour(toward));
        self.rules == HsRules::Known && (is_met || is_home)
    }

    /// Tells both sides of the leader: from both ends at once it takes half the time, and a lost one is made good by the other.
    fn announce(&self, sides: &[Side], uid: U, cx: &mut Cx<'_, Self>) {
        for &side in sides {
            self.circle.send(side, HsMsg::Leader { term: self.circle.term, uid }, cx);
        }
    }

    fn enter_phase(&mut self, phase: u8, cx: &mut Cx<'_, Self>) {
        self.phase = Some(phase);
        self.returned = 0;
        // Past 2³¹ hops a probe has circled any ring there can be.
        let hops = 1_u32.checked_shl(u32::from(phase)).unwrap_or(u32::MAX);
        let hops = if self.goes_round(phase) { 1 << ROUND } else { hops };
        for toward in Side::BOTH {
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
            // Its twin arrives from the other side and finds the election over. A probe that comes home although several larger
            // ones are believed alive has turned round where there was no way on.
            let is_round = self.rules == HsRules::Published || self.above(cx) <= 1;
            if self.leader.is_none() && is_round {
                self.win(cx);
                let sides = if self.rules == HsRules::Known { &Side::BOTH[..] } else { &[Side::Right] };
                self.announce(sides, uid, cx);
            }
        } else if self.rules == HsRules::Known && Some(uid) < self.largest() {
            // It could not win, and nor could this node.
        } else if uid < self.uid {
            if self.phase.is_none() && self.leader.is_none() {
                self.wake(cx);
            }
        } else if self.leader.is_some_and(|leader| uid > leader) {
            // Nobody larger than the leader took part in this election: there is nobody whom it would come home to.
        } else if self.leader == Some(uid) && self.rules == HsRules::Known {
            // Whoever sent this on does not know yet.
            self.announce(&[toward.opposite()], uid, cx);
        } else if self.is_repeated(uid, phase, toward) {
            // The other one of the two has yet to come, or it will be sent again.
        } else if self.meets(uid, phase, toward) {
            self.leader = Some(uid);
            self.circle.settle(cx);
            self.announce(&Side::BOTH, uid, cx);
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
                self.enter_phase(phase.saturating_add(1), cx);
            }
        }
    }

    fn on_leader(&mut self, from: NodeId, uid: U, cx: &mut Cx<'_, Self>) {
        // Whoever knows the leader from others passes the announcement on all the same, once: not everybody hears others.
        let is_passed = core::mem::take(&mut self.is_hearsay) && self.leader == Some(uid);
        let was_missed = self.rules == HsRules::Known && uid < self.uid;
        let is_news = self.leader.is_none() || is_passed;
        if is_news && was_missed && self.circle.place.is_alone(cx.id) {
            // There is nobody to tell, and no reason to wait.
            self.begin(cx);
        } else if is_news {
            if uid == self.uid {
                self.win(cx);
            }
            self.leader = Some(uid);
            self.circle.settle(cx);
            let goes_left = self.rules == HsRules::Known && from == self.circle.place.right;
            self.announce(if goes_left { &[Side::Left] } else { &[Side::Right] }, uid, cx);
            if was_missed {
                // The election went past this node.
                self.begin_soon(cx);
            }
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
        let replaced = self.leader;
        self.join(self.circle.term.next(), cx);
        match self.favourite(replaced, cx).filter(|_| !self.circle.place.is_alone(cx.id)) {
            Some(favourite) => self.call(favourite, cx),
            None => self.stand(cx),
        }
    }

    fn say_again(&mut self, before: RingPlace, cx: &mut Cx<'_, Self>) -> bool {
        let place = self.circle.place;
        if self.rules == HsRules::Published || place.is_alone(cx.id) || before.is_alone(cx.id) {
            return false;
        }
        let own = self.phase.map(|_| (self.uid, ROUND.saturating_add(self.returned)));
        for (toward, relayed) in Side::BOTH.into_iter().zip(self.relayed) {
            let is_new = place.neighbour(toward) != before.neighbour(toward);
            if let Some((uid, phase)) = relayed.max(own).filter(|_| is_new) {
                let (term, hops) = (self.circle.term, 1 << ROUND);
                self.circle.send(toward, HsMsg::Out { term, uid, phase, hops, toward }, cx);
            }
        }
        true
    }

    fn is_attended(&self, cx: &Cx<'_, Self>) -> bool {
        let larger = self.largest().filter(|&largest| largest > self.uid);
        let is_standing = match larger {
            Some(larger) => larger.node().is_some_and(|node| cx.is_up(node)),
            None => self.phase.is_some(),
        };
        self.rules == HsRules::Known && is_standing
    }

    fn send_again(&mut self, cx: &mut Cx<'_, Self>) {
        if self.phase.is_some() && self.largest() <= Some(self.uid) {
            self.go_round(self.returned.saturating_add(1), cx);
        }
    }

    fn win_by_word(&mut self, term: Term, cx: &mut Cx<'_, Self>) -> bool {
        // Its probes met elsewhere.
        let is_standing = self.rules == HsRules::Known && self.phase.is_some() && term == self.circle.term;
        if is_standing {
            self.win(cx);
            self.is_hearsay = true;
        }
        is_standing
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
                let (HsMsg::Out { uid, .. } | HsMsg::Back { uid, .. } | HsMsg::Leader { uid, .. }) = msg;
                if uid == self.uid {
                    // From before this node restarted: what it had won is forgotten, so it asks again.
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
        if timer == RingTimer::Decide && self.leader.is_none() {
            if self.phase == Some(ROUND) {
                self.go_round(self.returned.saturating_add(1), cx);
            } else if self.returned > 0 && self.largest() < Some(self.uid) {
                self.stand(cx);
            }
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

#[cfg(test)]
mod tests;
