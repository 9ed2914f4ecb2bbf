//! FRLLE: the node with the smallest failure rate and load leads a bidirectional ring.
//!
//! Source: Biswas et al. (2021), corrected: the `else` missing before line 37 of Algorithm 2; `Frem` cleared on every first
//! receipt; `Ein` and the failed leader set when initiating; the best coefficient starts as one's own and is reset
//! between elections; coefficients are frozen during one; `Ttd` accumulates when a message is created again.
//!
//! Model: crash and recovery, FIFO channels to both neighbours, a least delay per hop that is known. The smallest
//! coefficient wins, the larger id if they are equal.
//!
//! ```text
//!                     the leader is lost, or a better coefficient than the message's
//!  Idle ──────────────────────────────────────────────────────► Electing (tokens both ways)
//!   │ a message: pass on the better token                           │
//!   │◄──────────── the same token from both sides, or a declaration ┴──► Decided
//!   └◄──────────── this node or another has heard the old leader ──────► Recovered
//! ```
//!
//! The source leaves five gaps. [`FrlleRules::Hardened`] closes them:
//! 1. *Race.* A declaration and a recovery of one election can both be under way. A declaration is final: once decided,
//!    a node takes no recovery, and a declaration overrides one. A declaration is passed on by every undecided node in
//!    both directions, so it reaches all; and with coefficients frozen only one node can be declared in one election.
//! 2. *Loss.* A node that takes part and hears no outcome within its patience begins the election of the next term.
//! 3. *Reset.* Messages carry their term. A higher one wipes what is left of the election before; a lower one is answered
//!    with the outcome, so that a restarted node, or one whose state was corrupted, is brought back into line.
//! 4. *Merge.* Two rings that become one have two leaders, and neither is lost. Both follow one of them, and whoever may be fitter
//!    than that one begins an election (`lasting.rs`). On a ring that is as published, whoever gets another neighbour does.
//! 5. *Change.* Coefficients change, and the source elects only when a leader is lost. A leader that has become much less fit
//!    than it was when elected begins an election, and so does a node that has become much fitter than the leader was then.
//!    By how much is [`Coefficient::MARGIN`], so that leadership does not follow every flutter of the load.

mod ballot;
mod lasting;

use ballot::Ballot;

use super::circle::{Age, Circle, RingAlgorithm, RingConfig, RingTimer, await_home, begin_late};
pub use super::frlle_message::{FrlleBody, FrlleMsg};
use crate::coefficient::Coefficient;
use crate::notice::Event;
use crate::protocol::{Cx, Protocol, Signal};
use crate::time::{Duration, Instant};
use crate::types::{NodeId, Outcome, RingPlace, Side, Term};

/// Whether the gaps of the source are closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FrlleRules {
    /// As published and corrected: one election, no losses.
    Published,
    /// With the five rules above.
    #[default]
    Hardened,
}

/// How a node of FRLLE is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrlleConfig {
    /// The neighbours and the patience.
    pub ring: RingConfig,
    /// The least time a message takes per hop, processing included.
    pub hop: Duration,
    /// How unfit this node is.
    pub coefficient: Coefficient,
    pub rules: FrlleRules,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frlle {
    circle: Circle,
    rules: FrlleRules,
    hop: u32,
    /// The coefficient as it is now; an election uses the one it began with, which is the ballot's first best.
    coefficient: Coefficient,
    /// The coefficient that this election uses.
    frozen: Coefficient,
    leader: Option<NodeId>,
    /// `Lrt`: when the leader was last heard.
    heard_at: Option<Instant>,
    ballot: Ballot,
}

impl Frlle {
    /// This node's neighbours, as it knows them.
    pub fn place(&self) -> RingPlace {
        self.circle.place
    }

    /// A node that follows `leader`.
    pub fn new(id: NodeId, config: FrlleConfig, leader: Option<NodeId>) -> Self {
        Self {
            circle: Circle::new(config.ring),
            rules: config.rules,
            hop: u32::try_from(config.hop.as_micros()).unwrap_or(u32::MAX),
            coefficient: config.coefficient,
            frozen: config.coefficient,
            leader,
            heard_at: None,
            ballot: Ballot::new(id, config.coefficient, leader),
        }
    }

    /// Whether two equal messages that arrive at the same time may be taken as one: not when one of them calls for a
    /// recovery.
    pub fn may_pair(&self, msg: &FrlleMsg, twin: &FrlleMsg, now: Instant) -> bool {
        msg.is_twin_of(twin) && !self.knows_recovery(msg, now) && !self.knows_recovery(twin, now)
    }

    /// Two equal messages that arrive at the same time, one from each side, taken as one: there is nobody left to pass
    /// them on to. Only a synchronous ring can show this; the source counts its best case with it.
    pub fn on_pair(&mut self, msg: FrlleMsg, cx: &mut Cx<'_, Self>) {
        match msg.body {
            FrlleBody::Election { .. } if self.ballot.decided => {}
            FrlleBody::Election { creator, coefficient, .. } if !self.beats(coefficient, creator) => {
                self.ballot.best = coefficient;
                self.ballot.best_id = creator;
                self.ballot.untouched = false;
                self.declare(creator, cx);
            }
            FrlleBody::Election { .. } => self.handle(msg, cx),
            FrlleBody::Declared(leader) => {
                self.accept_declaration(leader, cx);
            }
            FrlleBody::Recovered(leader) => {
                self.accept_recovery(leader, cx);
            }
        }
    }

    fn hardened(&self) -> bool {
        self.rules == FrlleRules::Hardened
    }

    fn outcome_known(&self) -> bool {
        self.ballot.decided || self.ballot.recovery_creator || self.ballot.recovery_seen
    }

    /// Wipes the ballot for an election; the coefficient is frozen as it is now.
    fn join(&mut self, term: Term, failed: Option<NodeId>, cx: &mut Cx<'_, Self>) {
        self.circle.term = term;
        self.frozen = self.coefficient;
        self.ballot = Ballot::new(cx.id, self.frozen, failed);
        self.circle.wait(cx);
    }

    /// `create`: this node stands, in both directions.
    fn stand(&mut self, delay: u32, cx: &mut Cx<'_, Self>) {
        self.ballot.best = self.frozen;
        self.ballot.best_id = cx.id;
        self.send_best(Side::Right, delay, cx);
        self.send_best(Side::Left, delay, cx);
        if self.circle.is_patient() {
            await_home(1, cx);
        }
    }

    /// Sends the token of the best candidate known.
    fn send_best(&self, toward: Side, delay: u32, cx: &mut Cx<'_, Self>) {
        let Ballot { best, best_id, failed, .. } = self.ballot;
        self.send(toward, FrlleBody::Election { creator: best_id, failed, delay, coefficient: best }, cx);
    }

    fn send(&self, toward: Side, body: FrlleBody, cx: &mut Cx<'_, Self>) {
        self.circle.send(toward, FrlleMsg { term: self.circle.term, toward, body }, cx);
    }

    /// Whether the best candidate seen here is better than this one.
    fn beats(&self, coefficient: Coefficient, creator: NodeId) -> bool {
        let Ballot { best, best_id, .. } = self.ballot;
        best < coefficient || (best == coefficient && best_id > creator)
    }

    /// The recovery condition (definition 7): the leader was heard here after the election began.
    fn knows_recovery(&self, msg: &FrlleMsg, now: Instant) -> bool {
        let FrlleBody::Election { delay, .. } = msg.body else { return false };
        // The election began at the latest this long ago; before time zero is before anything that was heard.
        let delay = Duration::from_micros(u64::from(delay));
        self.heard_at.is_some_and(|heard| now < heard + delay)
    }

    fn handle(&mut self, msg: FrlleMsg, cx: &mut Cx<'_, Self>) {
        let toward = msg.toward;
        match msg.body {
            FrlleBody::Election { failed, .. } if self.may_recover(failed) && self.knows_recovery(&msg, cx.now) => {
                self.ballot.recovery_creator = true;
                self.recover(failed, Event::HeardAlive, cx);
                self.send(toward.opposite(), FrlleBody::Recovered(failed), cx);
            }
            FrlleBody::Election { creator, failed, delay, coefficient } => {
                self.on_election(creator, failed, delay, coefficient, toward, cx);
            }
            FrlleBody::Recovered(leader) => {
                if self.accept_recovery(leader, cx) {
                    self.send(toward, msg.body, cx);
                }
            }
            FrlleBody::Declared(leader) => {
                if self.accept_declaration(leader, cx) {
                    self.send(toward, msg.body, cx);
                }
            }
        }
    }

    /// Rule 1: what is decided stays decided. And where nobody was lost, nobody can be found again: that would be an outcome
    /// without a leader, and no reason for another election.
    fn may_recover(&self, leader: Option<NodeId>) -> bool {
        !self.hardened() || (!self.ballot.decided && leader.is_some())
    }

    fn on_election(
        &mut self,
        creator: NodeId,
        failed: Option<NodeId>,
        delay: u32,
        coefficient: Coefficient,
        toward: Side,
        cx: &mut Cx<'_, Self>,
    ) {
        if self.ballot.decided {
            return;
        }
        let first = core::mem::replace(&mut self.ballot.untouched, false);
        let delay = delay.saturating_add(self.hop);
        if self.beats(coefficient, creator) {
            let is_first = first && !self.ballot.initiator;
            if is_first {
                self.ballot.failed = failed;
            }
            if self.circle.is_patient() {
                self.take_over(is_first, delay, toward, cx);
            } else if is_first {
                self.stand(delay, cx);
            }
        } else if self.ballot.best_id == creator {
            // What comes the same way was sent again: only two that come from both sides, or one that is home, have passed everybody.
            if !self.circle.is_patient() || creator == cx.id || self.ballot.went != Some(toward) {
                self.declare(creator, cx);
            } else if delay <= self.delay_max(cx) {
                self.send_best(toward, delay, cx);
            }
        } else {
            self.ballot.best = coefficient;
            self.ballot.best_id = creator;
            self.ballot.went = Some(toward);
            self.send(toward, FrlleBody::Election { creator, failed, delay, coefficient }, cx);
        }
    }

    fn declare(&mut self, leader: NodeId, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Declared(leader));
        self.accept_declaration(leader, cx);
        self.send(Side::Right, FrlleBody::Declared(leader), cx);
        self.send(Side::Left, FrlleBody::Declared(leader), cx);
    }

    /// True when it was news.
    fn accept_declaration(&mut self, leader: NodeId, cx: &mut Cx<'_, Self>) -> bool {
        if self.ballot.decided {
            // Whoever knows the leader from others passes the declaration on all the same, once.
            return core::mem::take(&mut self.ballot.hearsay) && self.leader == Some(leader);
        }
        self.ballot.decided = true;
        let has_led = self.leader.replace(leader) == Some(cx.id);
        cx.note(if leader == cx.id { Event::ElectedSelf } else { Event::Followed(leader) });
        self.circle.settle(cx);
        // Coefficients may have changed while they were frozen. Who led until now asks first; others only where it has not.
        if self.hardened() && self.may_change(cx) {
            if has_led || leader == cx.id || !self.circle.is_patient() {
                self.begin_soon(cx);
            } else {
                begin_late(cx);
            }
        }
        true
    }

    /// True when it was news.
    fn accept_recovery(&mut self, leader: Option<NodeId>, cx: &mut Cx<'_, Self>) -> bool {
        if self.ballot.recovery_creator || self.ballot.recovery_seen || !self.may_recover(leader) {
            return false;
        }
        self.ballot.recovery_seen = true;
        self.recover(leader, Event::Recovered, cx);
        true
    }

    fn recover(&mut self, leader: Option<NodeId>, how: fn(NodeId) -> Event, cx: &mut Cx<'_, Self>) {
        self.leader = leader;
        if let Some(leader) = leader {
            cx.note(how(leader));
        }
        self.circle.settle(cx);
    }

    /// `detect` as published: once per run, and only by a node that nothing has reached yet.
    fn detect_published(&mut self, cx: &mut Cx<'_, Self>) {
        let Ballot { initiator, untouched, .. } = self.ballot;
        if untouched && !initiator && !self.outcome_known() {
            cx.note(Event::Started);
            self.ballot.initiator = true;
            self.ballot.failed = self.leader;
            self.stand(self.hop, cx);
        }
    }

    /// Rule 3: answers a message of an election that is over with how it ended.
    fn answer_stale(&mut self, msg: FrlleMsg, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Stale);
        let back = msg.toward.opposite();
        match self.leader {
            Some(leader) if self.ballot.decided => self.send(back, FrlleBody::Declared(leader), cx),
            leader if self.outcome_known() => self.send(back, FrlleBody::Recovered(leader), cx),
            _ => {}
        }
    }

    /// As published: elects only where there is no leader.
    fn take_place_published(&mut self, place: RingPlace, cx: &mut Cx<'_, Self>) {
        self.circle.place = place;
        if self.leader.is_none() {
            self.begin(cx);
        }
    }
}

impl Protocol for Frlle {
    type Msg = FrlleMsg;
    type Timer = RingTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if self.leader.is_none() {
            self.begin(cx);
        }
    }

    fn on_message(&mut self, _from: NodeId, msg: FrlleMsg, cx: &mut Cx<'_, Self>) {
        if self.hardened() {
            match self.circle.age(msg.term, self.is_decided()) {
                Age::Stale => return self.answer_stale(msg, cx),
                Age::News if matches!(msg.body, FrlleBody::Declared(_)) => self.join_late(msg.term, cx),
                Age::News => self.join(msg.term, self.leader, cx),
                Age::Current => {}
            }
        }
        self.handle(msg, cx);
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        if self.is_decided() {
            self.lose_member(peer, cx);
            if peer == self.ballot.best_id {
                self.reconsider(cx);
            }
        } else if self.hardened() && self.circle.is_patient() && peer == self.ballot.best_id {
            // Whoever was to win cannot.
            begin_late(cx);
        }
    }

    fn on_timer(&mut self, timer: RingTimer, cx: &mut Cx<'_, Self>) {
        if timer == RingTimer::Decide {
            self.stand_again(cx);
        } else {
            self.time_out(timer, cx);
        }
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        match signal {
            Signal::LeaderHeard => self.heard_at = Some(cx.now),
            Signal::Fitness(coefficient) => {
                self.coefficient = coefficient;
                self.reconsider(cx);
            }
            Signal::LeaderLost if !self.hardened() => self.detect_published(cx),
            Signal::Ring(place) if !self.hardened() => self.take_place_published(place, cx),
            Signal::Ring(_)
            | Signal::LeaderLost
            | Signal::Elect
            | Signal::Disturbed
            | Signal::Rank(_)
            | Signal::Succeed(_)
            | Signal::Resend
            | Signal::Outcome(_) => self.heed(signal, cx),
            Signal::Audit | Signal::StepDown => {}
        }
    }

    /// While an election runs the old leader is kept: the source's `L_Id` changes only with an outcome.
    fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    fn outcome(&self) -> Outcome {
        Outcome { term: self.circle.term, leader: self.leader.filter(|_| self.outcome_known()) }
    }
}

#[cfg(test)]
mod tests;
