//! The Bully algorithm, with rejoin.
//!
//! Source: Garcia-Molina (1982), from the election notes. Model: every node has a link to every other, a live node answers
//! within the answer time, ids are comparable. A link that is up may lead to a node that has just died: sending there costs
//! a message and gets nothing.
//!
//! ```text
//!            lost / started                     no OK in time, or nobody higher
//!  Following ──────────────► Asking ─────────────────────────────────────────► Coordinator
//!      ▲    ▲                  │ OK                                                │
//!      │    └── COORDINATOR ── Waiting ── no COORDINATOR in time ──► Asking        │
//!      └──────────────────────────────────────────────── COORDINATOR of a higher ──┘
//! ```
//! An ELECTION of a lower node is answered with OK at once; one's own election follows a take-over delay later, so that
//! the answer is on the air first. COORDINATOR goes to the lower nodes: every live node is lower, and the dead leader is
//! not. A node that (re)starts holds an election, which for the highest means announcing itself: the bully.
//!
//! On a ring whose living members are known, an election asks the three highest of them instead of all higher ones, and whoever
//! follows the highest node alive holds none of its own: n messages and not n², which no channel carries from thirty on.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::notice::Event;
use crate::outbox::Dest;
use crate::peers::{PeerIndex, PeerSet};
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::time::Duration;
use crate::timer::TimerKey;
use crate::types::{NodeId, Outcome};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum BullyMsg {
    /// Is anybody higher alive?
    Election,
    /// I am, and I take over.
    Ok,
    /// I am the leader.
    Coordinator,
}

impl Message for BullyMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Election => "election",
            Self::Ok => "ok",
            Self::Coordinator => "coordinator",
        }
    }
}

/// The timers of Bully and Modified Bully.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BullyTimer {
    /// Answers to my election are due.
    Answer,
    /// My own election is due, after I answered a lower node.
    TakeOver,
    /// The announcement of whoever took over is due.
    Announcement,
}

impl TimerKey for BullyTimer {
    const ALL: &'static [Self] = &[Self::Answer, Self::TakeOver, Self::Announcement];

    fn index(self) -> usize {
        self as usize
    }
}

/// How long a bully waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BullyConfig {
    /// Within this time a live node has answered.
    pub answer: Duration,
    /// Between answering a lower node and holding one's own election.
    pub take_over: Duration,
    /// Within this time whoever took over has announced itself.
    pub announcement: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Following,
    Asking,
    Waiting,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    config: BullyConfig,
    state: State,
    /// Whether an own election is due after the take-over delay.
    taking_over: bool,
    /// Whether the peers are the living members of a ring, as a keeper of the ring knows them.
    knows_living: bool,
    leader: Option<NodeId>,
}

/// The leader that others follow: as good as its announcement, where it is the highest node alive.
pub(super) fn learned<P: Protocol>(own: Outcome, told: Outcome, cx: &Cx<'_, P>) -> Option<NodeId> {
    told.leader.filter(|&leader| own.is_behind(told) && leader > cx.id && cx.peers.last() == Some(&leader))
}

/// Of living members only the highest are asked: one of them will answer, and each that is asked asks in turn.
const ASKED_MAX: usize = 3;

impl Bully {
    /// A node that knows no leader.
    pub fn new(config: BullyConfig) -> Self {
        Self { config, state: State::Following, taking_over: false, knows_living: false, leader: None }
    }

    /// The same node where the peers are the living members of a ring.
    pub fn knowing_the_living(self, knows_living: bool) -> Self {
        Self { knows_living, ..self }
    }

    /// Whether this node follows the highest node alive.
    fn follows_highest(&self, cx: &Cx<'_, Self>) -> bool {
        self.leader > Some(cx.id) && self.leader == cx.peers.last().copied()
    }

    /// Whom an election asks.
    fn asked(&self, cx: &Cx<'_, Self>) -> Dest {
        if !self.knows_living {
            return Dest::Higher;
        }
        let higher = cx.peers.iter().enumerate().rev().take_while(|&(_, &peer)| peer > cx.id);
        let mut highest = PeerSet::EMPTY;
        higher.take(ASKED_MAX).for_each(|(index, _)| highest.insert(PeerIndex(index)));
        Dest::Peers(highest)
    }

    fn hold_election(&mut self, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Started);
        if cx.peers.last().is_some_and(|&highest| highest > cx.id) {
            self.state = State::Asking;
            self.leader = None;
            cx.send(self.asked(cx), BullyMsg::Election);
            cx.set_timer(BullyTimer::Answer, self.config.answer);
        } else {
            self.announce(cx);
        }
    }

    fn announce(&mut self, cx: &mut Cx<'_, Self>) {
        self.follow(cx.id, cx);
        cx.note(Event::ElectedSelf);
        cx.send(Dest::Lower, BullyMsg::Coordinator);
    }

    fn follow(&mut self, leader: NodeId, cx: &mut Cx<'_, Self>) {
        self.leader = Some(leader);
        self.state = State::Following;
        self.taking_over = false;
        for timer in BullyTimer::ALL {
            cx.stop_timer(*timer);
        }
    }
}

impl Protocol for Bully {
    type Msg = BullyMsg;
    type Timer = BullyTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.hold_election(cx);
    }

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        if self.leader == Some(cx.id) {
            if peer < cx.id {
                cx.send(Dest::One(peer), BullyMsg::Coordinator);
            } else {
                // Somebody higher has appeared. If it is alive it takes over.
                self.hold_election(cx);
            }
        }
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        if self.leader == Some(peer) {
            self.hold_election(cx);
        }
    }

    fn on_message(&mut self, from: NodeId, msg: BullyMsg, cx: &mut Cx<'_, Self>) {
        match msg {
            BullyMsg::Election => {
                cx.send(Dest::One(from), BullyMsg::Ok);
                // Whoever follows the highest node alive leaves it to that one, which is asked as well.
                let is_left = self.knows_living && self.follows_highest(cx);
                if self.state == State::Following && !self.taking_over && !is_left {
                    self.taking_over = true;
                    cx.set_timer(BullyTimer::TakeOver, self.config.take_over);
                }
            }
            BullyMsg::Ok if self.state == State::Asking => {
                self.state = State::Waiting;
                cx.stop_timer(BullyTimer::Answer);
                cx.set_timer(BullyTimer::Announcement, self.config.announcement);
            }
            BullyMsg::Ok => {}
            BullyMsg::Coordinator if from > cx.id => self.follow(from, cx),
            // A lower node believes that it leads: it has not heard of this one.
            BullyMsg::Coordinator => self.hold_election(cx),
        }
    }

    fn on_timer(&mut self, timer: BullyTimer, cx: &mut Cx<'_, Self>) {
        match timer {
            // A node that is known to be alive and gives no answer is slow, not dead. Announcing this one would make two leaders.
            BullyTimer::Answer if self.knows_living && cx.peers.last().is_some_and(|&highest| highest > cx.id) => {
                cx.note(Event::Retried);
                self.hold_election(cx);
            }
            BullyTimer::Answer => self.announce(cx),
            BullyTimer::TakeOver => {
                self.taking_over = false;
                self.hold_election(cx);
            }
            BullyTimer::Announcement => {
                cx.note(Event::Retried);
                self.hold_election(cx);
            }
        }
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        match signal {
            // A node that asks, waits or is about to take over has a timer that notices a loss.
            Signal::LeaderLost | Signal::Disturbed if self.state != State::Following || self.taking_over => {}
            // Whoever follows the highest node alive has missed nothing that matters.
            Signal::Disturbed if self.follows_highest(cx) => {}
            Signal::LeaderLost | Signal::Elect | Signal::Disturbed => self.hold_election(cx),
            Signal::Outcome(told) if self.knows_living => {
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
            | Signal::Audit
            | Signal::Outcome(_) => {}
        }
    }

    fn leader(&self) -> Option<NodeId> {
        self.leader
    }
}
