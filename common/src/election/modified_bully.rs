//! Modified Bully of Mamun, Masum and Mustafa (2004).
//!
//! Source: a comparison row of Biswas et al. (2021), who print its costs without defining it. Our reading: the detector
//! asks all higher nodes, collects their answers, tells the highest of them that it is elected, and that one announces
//! itself. The higher nodes hold no elections of their own, which is the modification.
//!
//! Model: as for Bully. Losing the chosen node between its answer and its announcement starts the detector again. A node
//! that leads already answers an election with COORDINATOR: a grant would be nothing new to it, and the detector, who may
//! have returned from elsewhere, would wait for an announcement that never comes.
//!
//! ```text
//!  Following ──lost──► Asking ──answers collected──► Granted ──COORDINATOR──► Following
//!                        │ none                         │ no COORDINATOR in time: Asking again
//!                        └──► Coordinator ◄── GRANT ── Following
//! ```

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::bully::{BullyConfig, BullyTimer, learned};
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::types::NodeId;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ModifiedBullyMsg {
    /// Is anybody higher alive?
    Election,
    /// I am.
    Ok,
    /// You are the highest that answered: lead.
    Grant,
    /// I am the leader.
    Coordinator,
}

impl Message for ModifiedBullyMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Election => "election",
            Self::Ok => "ok",
            Self::Grant => "grant",
            Self::Coordinator => "coordinator",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Following,
    Asking,
    Granted,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModifiedBully {
    config: BullyConfig,
    state: State,
    /// The highest node that has answered this election.
    highest: Option<NodeId>,
    leader: Option<NodeId>,
}

impl ModifiedBully {
    /// A node that knows no leader. The take-over delay of the configuration is not used.
    pub fn new(config: BullyConfig) -> Self {
        Self { config, state: State::Following, highest: None, leader: None }
    }

    fn hold_election(&mut self, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Started);
        if cx.peers.last().is_some_and(|&highest| highest > cx.id) {
            self.state = State::Asking;
            self.highest = None;
            self.leader = None;
            cx.send(Dest::Higher, ModifiedBullyMsg::Election);
            cx.set_timer(BullyTimer::Answer, self.config.answer);
        } else {
            self.announce(cx);
        }
    }

    fn announce(&mut self, cx: &mut Cx<'_, Self>) {
        self.follow(cx.id, cx);
        cx.note(Event::ElectedSelf);
        cx.send(Dest::Lower, ModifiedBullyMsg::Coordinator);
    }

    fn follow(&mut self, leader: NodeId, cx: &mut Cx<'_, Self>) {
        self.leader = Some(leader);
        self.state = State::Following;
        cx.stop_timer(BullyTimer::Answer);
        cx.stop_timer(BullyTimer::Announcement);
    }
}

impl Protocol for ModifiedBully {
    type Msg = ModifiedBullyMsg;
    type Timer = BullyTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.hold_election(cx);
    }

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        if self.leader == Some(cx.id) {
            if peer < cx.id {
                cx.send(Dest::One(peer), ModifiedBullyMsg::Coordinator);
            } else {
                self.hold_election(cx);
            }
        }
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        if self.leader == Some(peer) || (self.state == State::Granted && self.highest == Some(peer)) {
            self.hold_election(cx);
        } else if self.state == State::Asking && self.highest == Some(peer) {
            // The node kept only the highest answer, so it asks again.
            self.hold_election(cx);
        }
    }

    fn on_message(&mut self, from: NodeId, msg: ModifiedBullyMsg, cx: &mut Cx<'_, Self>) {
        match msg {
            ModifiedBullyMsg::Election if self.leader == Some(cx.id) => {
                cx.send(Dest::One(from), ModifiedBullyMsg::Coordinator);
            }
            ModifiedBullyMsg::Election => cx.send(Dest::One(from), ModifiedBullyMsg::Ok),
            ModifiedBullyMsg::Ok if self.state == State::Asking => self.highest = self.highest.max(Some(from)),
            ModifiedBullyMsg::Ok => {}
            // Several detectors grant the same node; it announces itself once, and links keep order.
            ModifiedBullyMsg::Grant if self.leader == Some(cx.id) => {}
            ModifiedBullyMsg::Grant => self.announce(cx),
            ModifiedBullyMsg::Coordinator if from > cx.id => self.follow(from, cx),
            ModifiedBullyMsg::Coordinator => self.hold_election(cx),
        }
    }

    fn on_timer(&mut self, timer: BullyTimer, cx: &mut Cx<'_, Self>) {
        match (timer, self.highest) {
            (BullyTimer::Answer, Some(highest)) => {
                self.state = State::Granted;
                cx.send(Dest::One(highest), ModifiedBullyMsg::Grant);
                cx.set_timer(BullyTimer::Announcement, self.config.announcement);
            }
            (BullyTimer::Answer, None) => self.announce(cx),
            (BullyTimer::Announcement | BullyTimer::TakeOver, _) => {
                cx.note(Event::Retried);
                self.hold_election(cx);
            }
        }
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        match signal {
            Signal::LeaderLost if self.state != State::Following => {}
            Signal::LeaderLost | Signal::Elect | Signal::Disturbed => self.hold_election(cx),
            // A keeper of the ring tells, so the peers are its living members.
            Signal::Outcome(told) => {
                if let Some(leader) = learned(self.outcome(), told, cx) {
                    self.follow(leader, cx);
                }
            }
            Signal::LeaderHeard
            | Signal::Ring(_)
            | Signal::Fitness(_)
            | Signal::Rank(_)
            | Signal::Succeed(_)
            | Signal::Resend
            | Signal::StepDown
            | Signal::Audit => {}
        }
    }

    fn leader(&self) -> Option<NodeId> {
        self.leader
    }
}
