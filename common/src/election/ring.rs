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
//! begins again. The highest sends it again before that: somebody lower may be followed meanwhile.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::circle::{Age, RingTimer, await_home, begin_late, higher, turn};
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
    /// How often its message was sent again.
    sent: u8,
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
            sent: 0,
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

    /// Whether this node follows a leader that is alive. Never on a ring that is as published.
    fn has_leader(&self, cx: &Cx<'_, Self>) -> bool {
        let is_alive = self.leader.is_some_and(|leader| leader == cx.id || cx.is_up(leader));
        !self.patience.is_zero() && !self.waiting && is_alive
    }

    /// Whether an election is under way that will be begun again if it has no end.
    fn is_in_election(&self) -> bool {
        !self.patience.is_zero() && self.leader.is_none() && self.term != Term(0)
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
            self.await_own(0, cx);
        }
    }

    /// Waits for a message of this node's own that was `sent` again so often. Where somebody higher is alive, that one's election
    /// is as good.
    fn await_own(&mut self, sent: u8, cx: &mut Cx<'_, Self>) {
        self.sent = sent;
        if higher(cx) == 0 {
            await_home(sent, cx);
        }
    }

    /// Sends this node's message again: it, or one that was passed on, has been lost.
    fn say_again(&mut self, cx: &mut Cx<'_, Self>) {
        let Some(position) = self.order.position(cx.id).filter(|_| self.waiting) else { return };
        let (round, members) = match self.leader {
            None => (Round::Election, Members::of(position)),
            Some(_) => (Round::Coordinator, self.members),
        };
        let hops = u8::try_from(self.order.ids().len()).unwrap_or(u8::MAX);
        self.pass_on(RingMsg { round, term: self.term, origin: cx.id, members, hops }, cx);
        self.await_own(self.sent.saturating_add(1), cx);
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
                self.waiting = self.pass_on(RingMsg { round: Round::Coordinator, hops, ..msg }, cx);
                if self.waiting && !self.patience.is_zero() {
                    self.await_own(0, cx);
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
        let is_successor = self.order.after(cx.id).find(|&member| member == peer || cx.is_up(member)) == Some(peer);
        if self.leader == Some(peer) || self.waiting && self.patience.is_zero() {
            // The leader is gone, or perhaps a message of one's own.
            // Whoever has no leader joins any election, however far apart their numbers are.
            self.leader = self.leader.filter(|&leader| leader != peer || self.patience.is_zero());
            self.begin_soon(cx);
        } else if is_successor {
            // With it, perhaps a message of one's own. The next one can have it as well.
            self.say_again(cx);
        }
    }

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        // A member has come (back) that the last election did not meet. On a ring of boards it begins one itself where it is higher
        // than the leader, and otherwise another would change nothing.
        let position = self.order.position(peer);
        let is_new = position.is_some_and(|at| !self.members.contains(at));
        if self.leader.is_some() && is_new && self.patience.is_zero() {
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
        match timer {
            RingTimer::Patience => cx.note(Event::Retried),
            RingTimer::Decide => return self.say_again(cx),
            RingTimer::Begin => {}
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
            // Who knows the end of its election has lost nothing, and tells it to those that have.
            Signal::Disturbed if self.has_leader(cx) => {}
            // What was lost may not have mattered, and the election goes on.
            Signal::Ring(_) | Signal::Disturbed if self.is_in_election() && higher(cx) > 0 => begin_late(cx),
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

    /// A node of a ring of boards among these, with an election of its own on its way, and what it has sent by then.
    fn standing(id: u16, others: [u16; 3]) -> Engine<Ring, 4> {
        let ids = others.map(NodeId);
        let order = RingOrder::new(&[ids[0], NodeId(id), ids[1], ids[2]]).unwrap();
        let mut node = Engine::<Ring, 4>::new(NodeId(id), 1, Ring::new(order, Duration::from_millis(60_000)));
        node.handle_start(Instant::ZERO);
        for peer in ids {
            assert_eq!(node.handle_link_up(Instant::ZERO, peer), Ok(()));
        }
        node.handle_signal(Instant::ZERO, Signal::Elect);
        node
    }

    /// To whom it sends an election of which term until then.
    fn sent(node: &mut Engine<Ring, 4>, until: Instant) -> std::vec::Vec<(NodeId, Term)> {
        let mut sent = std::vec::Vec::new();
        loop {
            while let Some((to, message)) = node.poll_group() {
                sent.extend(to.iter().map(|&to| (to, message.term)));
            }
            let Some(due) = node.poll_timeout().filter(|&due| due <= until) else { return sent };
            node.handle_timeout(due);
        }
    }

    #[test]
    fn the_highest_sends_its_election_again_and_others_leave_it_to_that_one() {
        let until = Instant::from_millis(3_000);
        let mut highest = standing(9, [1, 2, 3]);
        let again = sent(&mut highest, until);
        assert!((3..8).contains(&again.len()) && again.iter().all(|&one| one == (NodeId(2), again[0].1)), "{again:?}");
        assert_eq!(sent(&mut standing(5, [1, 2, 9]), until).len(), 1);
    }

    #[test]
    fn an_election_on_its_way_is_not_begun_again_for_members_that_come_and_go() {
        let mut node = standing(5, [1, 2, 9]);
        let now = Instant::from_millis(1);
        let [(_, term)] = sent(&mut node, now)[..] else { panic!("one election") };
        node.handle_link_down(now, NodeId(1));
        assert_eq!(node.handle_link_up(now, NodeId(1)), Ok(()));
        node.handle_signal(now, Signal::Disturbed);
        assert_eq!(sent(&mut node, Instant::from_millis(150)), []);
        // With the one that it was given to it may be lost: the next one has the same.
        node.handle_link_down(Instant::from_millis(150), NodeId(2));
        assert_eq!(sent(&mut node, Instant::from_millis(160)), [(NodeId(9), term)]);
    }
}
