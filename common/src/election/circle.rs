//! What the ring algorithms share: their neighbours, the number of the election, and how long to wait for its end.
//!
//! The rules every ring algorithm follows with it:
//! - each message carries its election's [`Term`]; a higher one is joined, a lower one is stale;
//! - a stale message is answered with the current leader where there is one, so that a node that was away catches up;
//! - a node that takes part in an election begins the next one when there is no leader within the patience;
//! - when the ring changes, everybody concerned would begin at once. The node with the highest id among those it knows of
//!   begins first, the next ones a moment later each, and none at all that has joined an election since: any set of
//!   starters is right, and one of them is cheapest.

use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Protocol, Signal};
use crate::time::Duration;
use crate::timer::TimerKey;
use crate::types::{NodeId, Outcome, RingPlace, Side, Term};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RingTimer {
    /// The election has given no leader for too long.
    Patience,
    /// The time an algorithm computes with has come: Timer-based's, or with the others that at which a message should have come round.
    Decide,
    /// Start an election, unless another node has.
    Begin,
}

/// How long the node with the highest id waits before it begins. From the third on, each waits this much longer than the one
/// before.
const STAGGER: Duration = Duration::from_millis(30);

/// The second waits longer by this many times [`STAGGER`] for every sixteen members: until a wave of the first has passed.
const STAGGER_SECOND: u32 = 5;
const STAGGER_RING: u32 = 16;

/// From this many higher nodes on all begin together: the election of a higher one will have reached them before.
const STAGGER_MAX: u32 = 12;

/// The same after the loss of a leader, which nobody but its neighbours knows of.
const STAGGER_LOST: u32 = 2;

/// How long a message may take to go round and come home before it is sent again: this, and as much more for each other member.
const HOME: Duration = Duration::from_millis(150);
const HOME_HOP: Duration = Duration::from_millis(16);

/// Each time it waits twice as long, up to this many doublings.
const HOME_DOUBLINGS_MAX: u8 = 3;

/// How long a message takes from member to member where they are several radio hops apart.
const ROUND_HOP: Duration = Duration::from_millis(50);

/// How many living members are higher than this node.
pub fn higher<P: Protocol>(cx: &Cx<'_, P>) -> usize {
    cx.peers.iter().filter(|&&peer| peer > cx.id).count()
}

/// How long a node waits for its turn to begin.
pub fn turn<P: Protocol>(cx: &Cx<'_, P>) -> Duration {
    let higher = u32::try_from(higher(cx)).unwrap_or(STAGGER_MAX);
    let members = u32::try_from(cx.peers.len()).unwrap_or(u32::MAX).saturating_add(1);
    let second = STAGGER_SECOND * members.div_ceil(STAGGER_RING);
    STAGGER.times(if higher == 0 { 1 } else { second + higher.min(STAGGER_MAX) })
}

/// The same after the loss of a leader.
fn turn_lost<P: Protocol>(cx: &mut Cx<'_, P>) -> Duration {
    let higher = u32::try_from(higher(cx)).unwrap_or(STAGGER_LOST);
    let spread = u32::try_from(STAGGER.as_micros()).unwrap_or(u32::MAX);
    STAGGER.times(1 + higher.min(STAGGER_LOST)) + Duration::from_micros(u64::from(cx.rng.below(spread)))
}

/// Begins an election, unless the one that is under way has given a leader by the time it has gone round.
pub fn begin_late<P: Protocol<Timer = RingTimer>>(cx: &mut Cx<'_, P>) {
    let members = u32::try_from(cx.peers.len()).unwrap_or(u32::MAX);
    cx.set_timer(RingTimer::Begin, turn(cx) + ROUND_HOP.times(members));
}

/// Waits for a message that goes round to come home, which was `sent` again so often.
pub fn await_home<P: Protocol<Timer = RingTimer>>(sent: u8, cx: &mut Cx<'_, P>) {
    let hops = u32::try_from(cx.peers.len()).unwrap_or(u32::MAX);
    let doublings = u32::from(sent.min(HOME_DOUBLINGS_MAX));
    cx.set_timer(RingTimer::Decide, (HOME + HOME_HOP.times(hops)).times(1 << doublings));
}

impl TimerKey for RingTimer {
    const ALL: &'static [Self] = &[Self::Patience, Self::Decide, Self::Begin];

    fn index(self) -> usize {
        self as usize
    }
}

/// How a ring algorithm is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RingConfig {
    pub place: RingPlace,
    /// How long an election may take before it is started again; zero means forever.
    pub patience: Duration,
}

/// The shared part of a ring algorithm's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Circle {
    pub place: RingPlace,
    /// The election this node is in or has last been in.
    pub term: Term,
    patience: Duration,
}

/// How a message's term compares with one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// Of an election that is over.
    Stale,
    /// Of this election.
    Current,
    /// Of an election not yet joined.
    News,
}

impl Age {
    /// The age of a message of `term` at a node in its `own` term. Terms that are too far apart to compare come of a lie or a
    /// flipped bit. Whoever has a leader keeps to it and says so; whoever has none joins. So the two ends of such a gap come
    /// together, and one message with a wild number moves nobody who has a leader.
    pub fn of(term: Term, own: Term, is_decided: bool) -> Self {
        match term.ahead_of(own) {
            Some(0) => Self::Current,
            Some(ahead) if ahead > 0 => Self::News,
            None if !is_decided => Self::News,
            _ => Self::Stale,
        }
    }
}

impl Circle {
    /// A place on a ring before any election.
    pub fn new(config: RingConfig) -> Self {
        Self { place: config.place, term: Term(0), patience: config.patience }
    }

    /// Compares a message's term with one's own, as a node that knows the leader of its term or does not.
    pub fn age(&self, term: Term, is_decided: bool) -> Age {
        Age::of(term, self.term, is_decided)
    }

    /// Sends a message to the neighbour on one side. Where that link is down it sends nothing and reports that: the keeper of
    /// the ring will give this node another neighbour, and with it another election.
    pub fn send<P: Protocol>(&self, side: Side, msg: P::Msg, cx: &mut Cx<'_, P>) {
        let neighbour = self.place.neighbour(side);
        if cx.is_up(neighbour) {
            cx.send(Dest::One(neighbour), msg);
        } else {
            cx.note(Event::Unsent(neighbour));
        }
    }

    /// Stops waiting to begin an election, and starts waiting for the end of one. A random quarter is added, so that not
    /// everybody loses patience at once.
    pub fn wait<P: Protocol<Timer = RingTimer>>(&self, cx: &mut Cx<'_, P>) {
        if !self.patience.is_zero() {
            let quarter = u32::try_from(self.patience.as_micros() / 4).unwrap_or(u32::MAX);
            let extra = Duration::from_micros(u64::from(cx.rng.below(quarter)));
            cx.set_timer(RingTimer::Patience, self.patience + extra);
            cx.stop_timer(RingTimer::Begin);
        }
    }

    /// Whether this algorithm is never left without an end: on a ring that is as published it may be.
    pub fn is_patient(&self) -> bool {
        !self.patience.is_zero()
    }

    /// Stops waiting, for the end of the election and to begin another: there is a leader. Whoever was passed over, and is higher
    /// or much fitter, begins again itself.
    pub fn settle<P: Protocol<Timer = RingTimer>>(&self, cx: &mut Cx<'_, P>) {
        if !self.patience.is_zero() {
            cx.stop_timer(RingTimer::Patience);
            cx.stop_timer(RingTimer::Begin);
        }
    }
}

/// How the ring algorithms handle everything but messages.
pub trait RingAlgorithm: Protocol<Timer = RingTimer> {
    /// The shared part of the state.
    fn circle(&mut self) -> &mut Circle;

    /// Whether this node knows the leader of its term.
    fn is_decided(&self) -> bool;

    /// Begins the election of the next term.
    fn begin(&mut self, cx: &mut Cx<'_, Self>);

    /// Follows the leader that an election of this term gave to others.
    fn adopt(&mut self, _term: Term, _leader: NodeId, _cx: &mut Cx<'_, Self>) {}

    /// The neighbours are others than they were before, in the middle of an election: tells the new ones what the old ones were
    /// told. True where that is enough for the election to go on.
    fn say_again(&mut self, _before: RingPlace, _cx: &mut Cx<'_, Self>) -> bool {
        false
    }

    /// Whether somebody stands in this election who sends again what does not come home. Then it goes on, whatever was lost or has
    /// changed: another one would throw away how far it has come, and where an election takes longer than the ring stands still
    /// none would ever end.
    fn is_attended(&self, _cx: &Cx<'_, Self>) -> bool {
        false
    }

    /// Sends again what this node has sent round, if it is the one to do so.
    fn send_again(&mut self, _cx: &mut Cx<'_, Self>) {}

    /// Others follow this node for an election of this term. True where it stands in it, and so takes their word for it.
    fn win_by_word(&mut self, _term: Term, _cx: &mut Cx<'_, Self>) -> bool {
        false
    }

    /// Whether the highest id wins. Otherwise nobody knows before the election who would.
    fn goes_by_id(&self) -> bool {
        true
    }

    /// Answers a signal.
    fn heed(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        let in_election = !self.is_decided() && self.circle().term != Term(0);
        match signal {
            // A node that is in an election already need not begin another.
            Signal::LeaderLost if in_election => {}
            Signal::LeaderLost | Signal::Elect => self.begin(cx),
            // Who knows the end of its election has lost nothing, and tells it to those that have.
            Signal::Disturbed if self.has_leader(cx) => {}
            Signal::Disturbed if in_election && self.is_attended(cx) => self.send_again(cx),
            Signal::Disturbed if in_election => self.begin_next(cx),
            Signal::Disturbed => self.begin_soon(cx),
            Signal::Ring(place) => {
                let before = core::mem::replace(&mut self.circle().place, place);
                if in_election && self.say_again(before, cx) {
                    if !self.is_attended(cx) {
                        self.begin_next(cx);
                    }
                } else if !self.is_content(cx) {
                    self.begin_soon(cx);
                }
            }
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

    /// What was lost may not have mattered: the highest begins another election soon, the rest only where no round has come by
    /// since.
    fn begin_next(&mut self, cx: &mut Cx<'_, Self>) {
        if higher(cx) > 0 {
            begin_late(cx);
        } else {
            self.begin_soon(cx);
        }
    }

    /// Whether this node knows the leader of its term, that leader is alive, and others will learn of it. Never on a ring that is
    /// as published, where every change is an election.
    fn has_leader(&mut self, cx: &Cx<'_, Self>) -> bool {
        let is_alive = self.leader().is_some_and(|leader| leader == cx.id || cx.is_up(leader));
        let is_told = self.outcome() == Outcome { term: self.circle().term, leader: self.leader() };
        is_told && is_alive && !self.circle().patience.is_zero()
    }

    /// Whether another election could not change anything: nobody alive would win against the leader.
    fn is_content(&mut self, cx: &Cx<'_, Self>) -> bool {
        let highest = cx.peers.last().copied().max(Some(cx.id));
        self.goes_by_id() && self.has_leader(cx) && self.leader() >= highest
    }

    /// Others tell how their election ended.
    fn learn(&mut self, told: Outcome, cx: &mut Cx<'_, Self>) {
        let is_alone = self.circle().place.is_alone(cx.id);
        let is_news = told.term != Term(0) && !is_alone && self.outcome().is_behind(told);
        let Some(leader) = told.leader.filter(|_| is_news) else { return };
        if leader == cx.id && self.win_by_word(told.term, cx) {
            // The announcement is still on its way here.
        } else if leader == cx.id {
            // They follow this node for what it won before it restarted: it asks again.
            self.circle().term = told.term;
            self.begin(cx);
        } else if cx.is_up(leader) {
            self.adopt(told.term, leader, cx);
            if self.goes_by_id() && cx.id > leader {
                self.begin_soon(cx);
            }
        }
    }

    /// Begins the next election in a moment, or at once where the node has no patience or is alone.
    fn begin_soon(&mut self, cx: &mut Cx<'_, Self>) {
        let circle = self.circle();
        if circle.patience.is_zero() || circle.place.is_alone(cx.id) {
            self.begin(cx);
            return;
        }
        let has_lost = self.leader().is_some_and(|leader| leader != cx.id && !cx.is_up(leader));
        let wait = if has_lost { turn_lost(cx) } else { turn(cx) };
        cx.set_timer(RingTimer::Begin, wait);
    }

    /// A member of the ring is gone: where it was the leader, another is needed. Few know that yet, and the highest may not be
    /// among them.
    fn lose_member(&mut self, member: NodeId, cx: &mut Cx<'_, Self>) {
        if self.leader() == Some(member) && !self.circle().patience.is_zero() {
            if self.circle().place.is_alone(cx.id) {
                self.begin(cx);
                return;
            }
            let wait = turn_lost(cx);
            cx.set_timer(RingTimer::Begin, wait);
        }
    }

    /// A timer of the circle has run out.
    fn time_out(&mut self, timer: RingTimer, cx: &mut Cx<'_, Self>) {
        match timer {
            // What it was to begin for may have been settled meanwhile.
            RingTimer::Begin if self.is_content(cx) || !self.is_decided() && self.is_attended(cx) => {}
            RingTimer::Begin => self.begin(cx),
            RingTimer::Decide => {}
            RingTimer::Patience => self.lose_patience(cx),
        }
    }

    /// Begins again when an election has given no leader in time.
    fn lose_patience(&mut self, cx: &mut Cx<'_, Self>) {
        if !self.is_decided() {
            cx.note(Event::Retried);
            self.begin(cx);
        }
    }
}
