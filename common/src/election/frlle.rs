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
//! 4. *Merge.* Two rings that become one have two leaders, and neither is lost. Whoever gets another neighbour begins an
//!    election, as in the other ring algorithms.
//! 5. *Change.* Coefficients change, and the source elects only when a leader is lost. A leader that has become much less fit
//!    than it was when elected begins an election, and so does a node that has become much fitter than the leader was then.
//!    By how much is [`Coefficient::MARGIN`], so that leadership does not follow every flutter of the load.

use super::circle::{Age, Circle, RingAlgorithm, RingConfig, RingTimer};
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

/// What one election has left at a node. It is wiped when another begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "these are the source's own flags, and independent of each other")]
struct Ballot {
    /// `Ein`: this node began it.
    initiator: bool,
    /// `Frem`: no election message has come yet.
    untouched: bool,
    /// `M_Lc` and `N_Id_Mlc`: the best candidate seen.
    best: Coefficient,
    best_id: NodeId,
    /// A new leader is known.
    decided: bool,
    /// It is known from others, and the declaration may still come.
    hearsay: bool,
    /// This node has found out that the old leader is alive.
    recovery_creator: bool,
    /// This node has been told so.
    recovery_seen: bool,
    /// Which leader is believed lost.
    failed: Option<NodeId>,
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
            ballot: Ballot {
                initiator: false,
                untouched: true,
                best: config.coefficient,
                best_id: id,
                decided: false,
                hearsay: false,
                recovery_creator: false,
                recovery_seen: false,
                failed: leader,
            },
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
        self.ballot = Ballot {
            initiator: false,
            untouched: true,
            best: self.frozen,
            best_id: cx.id,
            decided: false,
            hearsay: false,
            recovery_creator: false,
            recovery_seen: false,
            failed,
        };
        self.circle.wait(cx);
    }

    /// `create`: this node stands, in both directions.
    fn stand(&mut self, delay: u32, cx: &mut Cx<'_, Self>) {
        self.ballot.best = self.frozen;
        self.ballot.best_id = cx.id;
        let body = FrlleBody::Election { creator: cx.id, failed: self.ballot.failed, delay, coefficient: self.frozen };
        self.send(Side::Right, body, cx);
        self.send(Side::Left, body, cx);
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
            if first && !self.ballot.initiator {
                self.ballot.failed = failed;
                self.stand(delay, cx);
            }
        } else if self.ballot.best_id == creator {
            self.declare(creator, cx);
        } else {
            self.ballot.best = coefficient;
            self.ballot.best_id = creator;
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
        self.leader = Some(leader);
        cx.note(if leader == cx.id { Event::ElectedSelf } else { Event::Followed(leader) });
        self.circle.settle(cx);
        // Coefficients may have changed while they were frozen.
        self.reconsider(cx);
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

    /// Rule 5: begins an election where the coefficients have changed so much that another may win it. Whoever was only told
    /// the outcome does not know how fit the leader was, and asks if it is much fitter than it was when it was told.
    fn reconsider(&mut self, cx: &mut Cx<'_, Self>) {
        if !self.hardened() || !self.ballot.decided || self.circle.place.is_alone(cx.id) {
            return;
        }
        let Ballot { best, best_id, .. } = self.ballot;
        let matters = if self.leader == Some(cx.id) {
            self.frozen.is_much_fitter_than(self.coefficient)
        } else {
            let measure = if self.leader == Some(best_id) { best } else { self.frozen };
            self.coefficient.is_much_fitter_than(measure)
        };
        if matters {
            self.begin_soon(cx);
        }
    }

    fn take_place(&mut self, place: RingPlace, cx: &mut Cx<'_, Self>) {
        let before = core::mem::replace(&mut self.circle.place, place);
        // Where members have only left, nobody can be fitter than the leader who was not before.
        let is_same = |side: Side| place.neighbour(side) == before.neighbour(side);
        let has_left = |side: Side| !cx.is_up(before.neighbour(side)) && before.neighbour(side) != cx.id;
        let is_needless = Side::BOTH.into_iter().all(|side| is_same(side) || has_left(side)) && self.has_leader(cx);
        if self.hardened() {
            if !is_needless {
                self.begin_soon(cx);
            }
        } else if self.leader.is_none() {
            self.begin(cx);
        }
    }
}

impl RingAlgorithm for Frlle {
    fn circle(&mut self) -> &mut Circle {
        &mut self.circle
    }

    fn is_decided(&self) -> bool {
        self.outcome_known() || (self.circle.term == Term(0) && self.leader.is_some())
    }

    fn begin(&mut self, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Started);
        let failed = self.leader;
        self.join(self.circle.term.next(), failed, cx);
        if self.circle.place.is_alone(cx.id) {
            self.accept_declaration(cx.id, cx);
        } else {
            self.ballot.initiator = true;
            self.stand(self.hop, cx);
        }
    }

    fn adopt(&mut self, term: Term, leader: NodeId, cx: &mut Cx<'_, Self>) {
        self.join(term, self.leader, cx);
        self.accept_declaration(leader, cx);
        self.ballot.hearsay = true;
    }

    fn goes_by_id(&self) -> bool {
        false
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
                Age::News => self.join(msg.term, self.leader, cx),
                Age::Current => {}
            }
        }
        self.handle(msg, cx);
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.lose_member(peer, cx);
    }

    fn on_timer(&mut self, timer: RingTimer, cx: &mut Cx<'_, Self>) {
        self.time_out(timer, cx);
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        match signal {
            Signal::LeaderHeard => self.heard_at = Some(cx.now),
            Signal::Fitness(coefficient) => {
                self.coefficient = coefficient;
                self.reconsider(cx);
            }
            Signal::LeaderLost if !self.hardened() => self.detect_published(cx),
            Signal::Ring(place) => self.take_place(place, cx),
            Signal::LeaderLost
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
