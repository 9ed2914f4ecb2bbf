//! LCR: Le Lann, Chang and Roberts' election on a unidirectional ring.
//!
//! Source: Chang and Roberts (1979), as compared by Biswas et al. (2021). Model: one FIFO channel to the right neighbour,
//! unique comparable ids.
//!
//! Every candidate sends its id to the right. A larger id is passed on, a smaller one swallowed (and whoever swallows
//! one without having stood yet stands itself), one's own means leader; the leader announces itself once around.
//! An id that does not come home in time is sent again if no larger node is known: that makes up for a loss sooner than
//! everybody's patience does.
//! Exact counts: 2n when the maximum alone starts, (n² + 3n)/2 when all start in descending order.
//!
//! ```text
//!  Idle ──begin, or a smaller id──► Standing ──own id──► Leader
//!    └──────── a larger id: pass it on ───┴── announcement: Following
//! ```

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::circle::{Age, Circle, RingAlgorithm, RingConfig, RingTimer, await_home, higher};
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::types::{NodeId, Outcome, RingPlace, Side, Term};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LcrMsg {
    Candidate(Term, NodeId),
    /// The announcement of the leader.
    Leader(Term, NodeId),
}

impl Message for LcrMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Candidate(..) => "candidate",
            Self::Leader(..) => "leader",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lcr {
    circle: Circle,
    /// Whether this node's own id is on its way.
    standing: bool,
    /// How often it was sent again.
    sent: u8,
    /// The leader is known from others, and the announcement may still come.
    is_hearsay: bool,
    leader: Option<NodeId>,
}

impl Lcr {
    /// This node's neighbours, as it knows them.
    pub fn place(&self) -> RingPlace {
        self.circle.place
    }

    pub fn new(config: RingConfig) -> Self {
        Self { circle: Circle::new(config), standing: false, sent: 0, is_hearsay: false, leader: None }
    }

    fn join(&mut self, term: Term, cx: &mut Cx<'_, Self>) {
        self.circle.term = term;
        self.standing = false;
        self.is_hearsay = false;
        self.leader = None;
        self.circle.wait(cx);
    }

    fn stand(&mut self, cx: &mut Cx<'_, Self>) {
        self.standing = true;
        cx.note(Event::Started);
        if self.circle.place.is_alone(cx.id) {
            self.win(cx);
        } else {
            self.go_round(0, cx);
        }
    }

    /// Sends this node's id round.
    fn go_round(&mut self, sent: u8, cx: &mut Cx<'_, Self>) {
        self.sent = sent;
        self.circle.send(Side::Right, LcrMsg::Candidate(self.circle.term, cx.id), cx);
        if self.circle.is_patient() && higher(cx) == 0 {
            await_home(sent, cx);
        }
    }

    fn win(&mut self, cx: &mut Cx<'_, Self>) {
        self.leader = Some(cx.id);
        cx.note(Event::ElectedSelf);
        self.circle.settle(cx);
    }

    fn on_candidate(&mut self, id: NodeId, cx: &mut Cx<'_, Self>) {
        let term = self.circle.term;
        if id > cx.id {
            // No node with a larger id than the leader took part in this election: such an id would circulate for ever.
            if self.leader.is_none_or(|leader| id <= leader) {
                self.circle.send(Side::Right, LcrMsg::Candidate(term, id), cx);
            }
        } else if id < cx.id {
            if !self.standing && self.leader.is_none() {
                self.stand(cx);
            }
        } else if self.leader.is_none() {
            self.win(cx);
            self.circle.send(Side::Right, LcrMsg::Leader(term, id), cx);
        }
    }
}

impl RingAlgorithm for Lcr {
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

    fn say_again(&mut self, before: RingPlace, cx: &mut Cx<'_, Self>) -> bool {
        let is_joined = !self.circle.place.is_alone(cx.id) && !before.is_alone(cx.id);
        if is_joined && self.circle.place.right != before.right && self.is_attended(cx) {
            self.send_again(cx);
        }
        is_joined && self.circle.is_patient()
    }

    fn is_attended(&self, cx: &Cx<'_, Self>) -> bool {
        self.standing && self.circle.is_patient() && higher(cx) == 0
    }

    fn send_again(&mut self, cx: &mut Cx<'_, Self>) {
        self.go_round(self.sent.saturating_add(1), cx);
    }

    fn adopt(&mut self, term: Term, leader: NodeId, cx: &mut Cx<'_, Self>) {
        self.join(term, cx);
        self.leader = Some(leader);
        self.is_hearsay = true;
        self.circle.settle(cx);
    }
}

impl Protocol for Lcr {
    type Msg = LcrMsg;
    type Timer = RingTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.begin(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: LcrMsg, cx: &mut Cx<'_, Self>) {
        let (LcrMsg::Candidate(term, id) | LcrMsg::Leader(term, id)) = msg;
        match self.circle.age(term, self.is_decided()) {
            Age::Stale => {
                cx.note(Event::Stale);
                if let Some(leader) = self.leader {
                    cx.send(Dest::One(from), LcrMsg::Leader(self.circle.term, leader));
                }
                return;
            }
            Age::News => self.join(term, cx),
            Age::Current => {}
        }
        match msg {
            LcrMsg::Candidate(..) => self.on_candidate(id, cx),
            // Whoever knows the leader from others passes the announcement on all the same, once.
            LcrMsg::Leader(..) if self.leader.is_none() || (self.is_hearsay && self.leader == Some(id)) => {
                self.is_hearsay = false;
                self.leader = Some(id);
                self.circle.settle(cx);
                self.circle.send(Side::Right, LcrMsg::Leader(term, id), cx);
                if id < cx.id && self.circle.is_patient() {
                    // The election went past this node.
                    self.begin_soon(cx);
                }
            }
            LcrMsg::Leader(..) => {}
        }
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.lose_member(peer, cx);
    }

    fn on_timer(&mut self, timer: RingTimer, cx: &mut Cx<'_, Self>) {
        if timer == RingTimer::Decide && self.standing && self.leader.is_none() {
            self.go_round(self.sent.saturating_add(1), cx);
        }
        self.time_out(timer, cx);
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        self.heed(signal, cx);
    }

    fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    fn outcome(&self) -> Outcome {
        Outcome { term: self.circle.term, leader: self.leader }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lcr, LcrMsg, RingConfig};
    use crate::engine::Engine;
    use crate::protocol::Signal;
    use crate::time::{Duration, Instant};
    use crate::types::{NodeId, RingPlace};

    /// The messages of a node with this id beside 1 and 9 within this time, none of which arrives.
    fn sent_by(id: NodeId, until: Instant) -> usize {
        let place = RingPlace { left: id, right: id };
        let config = RingConfig { place, patience: Duration::from_millis(60_000) };
        let mut node = Engine::<Lcr, 4>::new(id, 1, Lcr::new(config));
        node.handle_start(Instant::ZERO);
        for peer in [1, 9] {
            assert_eq!(node.handle_link_up(Instant::ZERO, NodeId(peer)), Ok(()));
        }
        node.handle_signal(Instant::ZERO, Signal::Ring(RingPlace { left: NodeId(1), right: NodeId(9) }));
        node.handle_signal(Instant::ZERO, Signal::Elect);
        let mut sent = 0;
        loop {
            while let Some((_, message)) = node.poll_group() {
                assert!(matches!(message, LcrMsg::Candidate(_, candidate) if candidate == id));
                sent += 1;
            }
            let Some(due) = node.poll_timeout().filter(|&due| due <= until) else { return sent };
            node.handle_timeout(due);
        }
    }

    #[test]
    fn the_largest_sends_its_id_again_where_it_does_not_come_home_and_others_leave_it_to_that_one() {
        let until = Instant::from_millis(3_000);
        assert!((3..8).contains(&sent_by(NodeId(12), until)), "{}", sent_by(NodeId(12), until));
        assert_eq!(sent_by(NodeId(5), until), 1);
    }

    #[test]
    fn whom_an_election_has_passed_over_begins_another() {
        let [low, id, high] = [1, 5, 9].map(NodeId);
        let place = RingPlace { left: low, right: high };
        let config = RingConfig { place, patience: Duration::from_millis(60_000) };
        let mut node = Engine::<Lcr, 4>::new(id, 1, Lcr::new(config));
        node.handle_start(Instant::ZERO);
        for peer in [low, high] {
            assert_eq!(node.handle_link_up(Instant::ZERO, peer), Ok(()));
        }
        let term = node.protocol().circle.term.next();
        node.handle_decoded(Instant::ZERO, low, LcrMsg::Leader(term, low));
        while node.poll_group().is_some() {}
        node.handle_timeout(Instant::from_millis(1_000));
        assert!(matches!(node.poll_group(), Some((_, LcrMsg::Candidate(later, who))) if later > term && who == id));
    }
}
