//! The Ring algorithm: ELECTION collects the live members, COORDINATOR tells everybody.
//!
//! Source: Tanenbaum (1995), from the election notes (docs/sources.md). Model: every node knows the ring's order and sends
//! to the nearest successor whose link is up, so dead successors are skipped; FIFO channels.
//!
//! ```text
//!  Idle ──begin──► Collecting ──own ELECTION back──► Announcing ──own COORDINATOR back──► Idle
//!    └── others' ELECTION: add oneself, pass on; others' COORDINATOR: follow, pass on ──────┘
//! ```
//! The member list is a bitmap of ring positions: the same information, small enough for a frame. Simultaneous elections
//! are harmless, each is removed by its originator. What the source leaves open: a message whose originator has died would
//! circle forever, so each carries the hops it may still make; an originator whose message does not come back in time
//! begins again.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::circle::{Age, RingTimer, turn};
use crate::members::{Members, RingOrder};
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::time::Duration;
use crate::types::{NodeId, Outcome, Term};

/// A message of the Ring algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RingMsg {
    pub round: Round,
    pub term: Term,
    /// Who sent it out and will remove it.
    pub origin: NodeId,
    /// The members it has met.
    pub members: Members,
    /// Hops it may still make, this one included.
    pub hops: u8,
}

/// The two rounds of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Round {
    /// Who is there?
    Election,
    /// These are, and the highest of them leads.
    Coordinator,
}

impl Message for RingMsg {
    fn kind(&self) -> &'static str {
        match self.round {
            Round::Election => "election",
            Round::Coordinator => "coordinator",
        }
    }
}

/// One node of the Ring algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    order: RingOrder,
    patience: Duration,
    term: Term,
    /// Whether an election of this node's own is on its way.
    waiting: bool,
    members: Members,
    leader: Option<NodeId>,
    /// The election that gave this leader.
    elected: Term,
}

impl Ring {
    /// A member of a ring. An election of its own that has not come back after `patience` is begun again; zero means
    /// never.
    pub fn new(order: RingOrder, patience: Duration) -> Self {
        Self {
            order,
            patience,
            term: Term(0),
            waiting: false,
            members: Members::default(),
            leader: None,
            elected: Term(0),
        }
    }

    /// The members that the last election found.
    pub fn members(&self) -> Members {
        self.members
    }

    fn begin(&mut self, cx: &mut Cx<'_, Self>) {
        // A node that is not on the ring has no say.
        let Some(position) = self.order.position(cx.id) else { return };
        cx.note(Event::Started);
        self.term = self.term.next();
        self.leader = None;
        let hops = u8::try_from(self.order.ids().len()).unwrap_or(u8::MAX);
        let members = Members::of(position);
        let msg = RingMsg { round: Round::Election, term: self.term, origin: cx.id, members, hops };
        if self.pass_on(msg, cx) {
            self.wait(cx);
        } else {
            self.follow(members, cx);
        }
    }

    /// Begins in its turn, because changes of the ring come in swarms and one election is enough for all of them; at once where
    /// it has no patience.
    fn begin_soon(&mut self, cx: &mut Cx<'_, Self>) {
        if self.patience.is_zero() {
            self.begin(cx);
        } else {
            cx.set_timer(RingTimer::Begin, turn(cx));
        }
    }

    /// Whether this node follows a leader that is alive, and nobody who is alive is higher. Never on a ring that is as
    /// published, where every change is an election.
    fn is_content(&self, cx: &Cx<'_, Self>) -> bool {
        let highest = cx.peers.last().copied().max(Some(cx.id));
        !self.patience.is_zero() && !self.waiting && self.leader.is_some() && self.leader == highest
    }

    /// Others tell how their election ended. To a node whose own election is on its way, what came before that is no news: it
    /// would begin again with every hello, and never see an end.
    fn learn(&mut self, told: Outcome, cx: &mut Cx<'_, Self>) {
        let known = if self.waiting { Outcome { term: self.term, leader: None } } else { self.outcome() };
        let Some(leader) = told.leader.filter(|_| known.is_behind(told)) else { return };
        if self.term.ahead_of(told.term).is_none_or(|ahead| ahead < 0) {
            self.term = told.term;
        }
        if leader == cx.id {
            // They follow this node for what it won before it restarted: it asks again.
            self.begin(cx);
        } else if cx.is_up(leader) {
            (self.leader, self.elected, self.waiting) = (Some(leader), told.term, false);
            cx.stop_timer(RingTimer::Begin);
            cx.stop_timer(RingTimer::Patience);
            if cx.id > leader {
                self.begin_soon(cx);
            }
        }
    }

    /// Sends a message to the nearest successor with an up link; false if there is none.
    fn pass_on(&self, msg: RingMsg, cx: &mut Cx<'_, Self>) -> bool {
        let successor = self.order.after(cx.id).find(|&member| cx.is_up(member));
        if let Some(successor) = successor {
            cx.send(Dest::One(successor), msg);
        }
        successor.is_some()
    }

    fn wait(&mut self, cx: &mut Cx<'_, Self>) {
        self.waiting = true;
        if !self.patience.is_zero() {
            cx.set_timer(RingTimer::Patience, self.patience);
        }
    }

    /// Leaves it to another node's later election to find a leader, for as long as its own would have had.
    fn join(&mut self, term: Term, cx: &mut Cx<'_, Self>) {
        self.term = term;
        if !self.patience.is_zero() {
            self.waiting = false;
            cx.stop_timer(RingTimer::Begin);
            cx.set_timer(RingTimer::Patience, self.patience);
        }
    }

    fn follow(&mut self, members: Members, cx: &mut Cx<'_, Self>) {
        let leader = self.order.highest(members);
        if leader == Some(cx.id) && self.leader != leader {
            cx.note(Event::ElectedSelf);
        }
        self.members = members;
        self.leader = leader;
        self.elected = self.term;
    }

    fn on_own(&mut self, msg: RingMsg, cx: &mut Cx<'_, Self>) {
        // One of an earlier life or of an election given up since; removing it is all there is to do.
        if !self.waiting || msg.term != self.term {
            return;
        }
        self.follow(msg.members, cx);
        match msg.round {
            Round::Election => {
                let hops = u8::try_from(self.order.ids().len()).unwrap_or(u8::MAX);
                if !self.pass_on(RingMsg { round: Round::Coordinator, hops, ..msg }, cx) {
                    self.waiting = false;
                }
            }
            Round::Coordinator => {
                self.waiting = false;
                cx.stop_timer(RingTimer::Patience);
            }
        }
    }
}

impl Protocol for Ring {
    type Msg = RingMsg;
    type Timer = RingTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.begin(cx);
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        // The leader is gone, or with the successor perhaps a message of one's own.
        if self.leader == Some(peer) || self.waiting {
            // Whoever has no leader joins any election, however far apart their numbers are.
            self.leader = self.leader.filter(|&leader| leader != peer || self.patience.is_zero());
            self.begin_soon(cx);
        }
    }

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        // A member has come (back) that the last election did not meet.
        let position = self.order.position(peer);
        let is_new = position.is_some_and(|at| !self.members.contains(at));
        if self.leader.is_some() && is_new && !self.is_content(cx) {
            self.begin_soon(cx);
        }
    }

    fn on_message(&mut self, _from: NodeId, msg: RingMsg, cx: &mut Cx<'_, Self>) {
        if msg.origin == cx.id {
            self.on_own(msg, cx);
            return;
        }
        if Age::of(msg.term, self.term, self.leader.is_some()) == Age::Stale {
            // The sender was away. Its next election has a term above this one's.
            cx.note(Event::Stale);
            if !self.waiting && msg.term.is_out_of_earshot(self.term) {
                // Hellos do not tell the sender that it is behind, or cannot know: whoever is in an election joins the other's.
                self.begin(cx);
            } else if !self.waiting && !self.is_content(cx) {
                self.begin_soon(cx);
            }
            return;
        }
        if msg.term != self.term {
            self.join(msg.term, cx);
        }
        let Some(position) = self.order.position(cx.id) else { return };
        let members = match msg.round {
            Round::Election => msg.members.with(position),
            Round::Coordinator => {
                self.follow(msg.members, cx);
                if !self.patience.is_zero() && self.leader < Some(cx.id) {
                    // That election has missed this node, or somebody lies: it would have won.
                    self.begin_soon(cx);
                }
                msg.members
            }
        };
        if msg.hops > 1 {
            self.pass_on(RingMsg { members, hops: msg.hops - 1, ..msg }, cx);
        }
    }

    fn on_timer(&mut self, timer: RingTimer, cx: &mut Cx<'_, Self>) {
        if timer == RingTimer::Patience {
            cx.note(Event::Retried);
        }
        // What it was to begin for may have been settled meanwhile.
        if self.patience.is_zero() || !self.is_content(cx) {
            self.begin(cx);
        }
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        match signal {
            Signal::LeaderLost if self.waiting => {}
            Signal::LeaderLost | Signal::Elect => self.begin(cx),
            Signal::Ring(_) | Signal::Disturbed if self.is_content(cx) => {}
            Signal::Ring(_) | Signal::Disturbed => self.begin_soon(cx),
            Signal::Outcome(outcome) => self.learn(outcome, cx),
            Signal::LeaderHeard
            | Signal::Fitness(_)
            | Signal::Rank(_)
            | Signal::Succeed(_)
            | Signal::Resend
            | Signal::Audit
            | Signal::StepDown => {}
        }
    }

    fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    fn outcome(&self) -> Outcome {
        Outcome { term: self.elected, leader: self.leader }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ring, RingMsg, RingOrder, Round};
    use crate::engine::Engine;
    use crate::limits::MESSAGE_MAX;
    use crate::members::Members;
    use crate::notice::{Event, Notice};
    use crate::protocol::{Protocol, Signal};
    use crate::time::{Duration, Instant};
    use crate::types::{NodeId, Outcome, Term};

    #[test]
    fn who_is_too_far_behind_for_hellos_to_tell_is_brought_along() {
        let order = RingOrder::new(&[1, 3].map(NodeId)).unwrap();
        for (behind, is_told) in [(1, false), (0x7FFF, false), (0x8000, true), (0x0002_0001, true)] {
            let mut node = Engine::<Ring, 4>::new(NodeId(3), 1, Ring::new(order.clone(), Duration::from_millis(5_000)));
            node.handle_start(Instant::ZERO);
            assert_eq!(node.handle_link_up(Instant::ZERO, NodeId(1)), Ok(()));
            let members = Members::of(order.position(NodeId(1)).unwrap()).with(order.position(NodeId(3)).unwrap());
            let leads = RingMsg { round: Round::Coordinator, term: Term(1 << 20), origin: NodeId(1), members, hops: 1 };
            node.handle_decoded(Instant::ZERO, NodeId(1), leads);
            assert_eq!(node.protocol().leader(), Some(NodeId(3)));
            let asks = RingMsg { round: Round::Election, term: Term((1 << 20) - behind), hops: 2, ..leads };
            while node.poll_transmit(&mut [0; MESSAGE_MAX]).is_some() {}
            node.handle_decoded(Instant::ZERO, NodeId(1), asks);
            assert_eq!(node.poll_transmit(&mut [0; MESSAGE_MAX]).is_some(), is_told, "{behind:#x} behind");
        }
    }

    #[test]
    fn an_election_on_its_way_is_not_begun_again_by_news_of_the_one_before() {
        let order = RingOrder::new(&[1, 2, 3].map(NodeId)).unwrap();
        let mut node = Engine::<Ring, 4>::new(NodeId(3), 1, Ring::new(order, Duration::from_millis(5_000)));
        node.handle_start(Instant::ZERO);
        for peer in [1, 2] {
            assert_eq!(node.handle_link_up(Instant::ZERO, NodeId(peer)), Ok(()));
        }
        node.handle_signal(Instant::ZERO, Signal::Elect);
        let before = Outcome { term: node.protocol().term, leader: Some(NodeId(3)) };
        node.handle_signal(Instant::ZERO, Signal::Elect);
        let begun = |node: &mut Engine<Ring, 4>| {
            core::iter::from_fn(|| node.poll_notice()).filter(|&notice| notice == Notice::Event(Event::Started)).count()
        };
        begun(&mut node);
        node.handle_signal(Instant::from_millis(1), Signal::Outcome(before));
        assert_eq!(begun(&mut node), 0);
        let later = Outcome { term: before.term.next().next(), leader: Some(NodeId(3)) };
        node.handle_signal(Instant::from_millis(2), Signal::Outcome(later));
        assert_eq!((begun(&mut node), node.protocol().leader()), (1, None), "what it won before it restarted");
    }
}
